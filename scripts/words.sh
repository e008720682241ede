#!/usr/bin/env bash
# words.sh - no word of the old vocabulary is left in code, comments and documents:
# docs/internals/words.md has today's, names only files that there are, and has each word in one row.
# Nor are there phrases of which CONTRIBUTING.md says that they are not written.
#
#   scripts/words.sh               prints what it finds, and fails
#   scripts/words.sh --self-test   plants a word of each pattern in a file, and a second row of a word,
#                                  which have to be found
set -euo pipefail
cd "$(dirname "$0")/.."

# A line is a pattern (extended regular expression, case ignored), a word that it matches, and files
# where such a word is plain English or another thing's name. Tabs are between them.
list() {
	cat <<-'LIST'
		parcel|adrift	parcels	-
		\b(coroi_)?lanes?\b|[a-z]Lane\b|\bLane[A-Z]	lane	csrc/explore/states.c
		\bgifts?\b|_gift	gift	-
		\bmail(s|ed|er|ers)?\b|_mail\b|mail_next	mailed	models
		\b(ext|ext:32) tokens?\b|coroi_ext_|COROI_S_|BeginExt|EndExt	coroi_ext_begin	-
		coroi_token\b|coroi_bare|coroi_parcel	coroi_bare	-
		\bstarv(e|es|ed|ing)\b|_starve|starved	starves	csrc/kernel/deque.h,options.go
		\b(dozes?|reckons?)\b	dozes	-
		\bcarriers?\b|\bsightings?\b	sighting	-
		\boffice\b|idleRunners|\*runner\b	office	-
		\bcling(s|ing)?\b|COROI_PROMISED	clings	-
		\bmovers?\b	mover	*_test.go,csrc/test
		pour_locked	pour_locked	-
		\bwaitable\b|\bsleepers\.Get\b	waitable	-
		\bdense_slots\b|WithDenseSlots|DenseSlots	WithDenseSlots	-
		coro\.(New)?Latch\b|ErrNegativeLatch	ErrNegativeLatch	-
		\bErrMode\b|\bStartIn\b|\bGoIn\b|\bSpawnContext\b|\bWithStealBatch\b	StartIn	-
		\bWithStackCache\b|\bWithoutMembarrier\b	WithStackCache	-
		\bof (which|whom)\b	of which	CONTRIBUTING.md,bench,examples,csrc/test,csrc/explore,*_test.go,scripts
		\b(has|have) ((the|its|an?) [a-z]+|it|them|f) (called|told|made|done|started|run|woken|sent|freed|given|written)\b	has f called	CONTRIBUTING.md,bench,examples,csrc/test,*_test.go,*.py
		\b(has|have) the [a-z]+( stack)? (call|run|look|give|act|go on|end) [a-z]	have the native stack call it	bench,examples,*_test.go
		\b(has|have) ((the|an?|its) [a-z]+|it|them|[a-z]) (wait|go on|begin|end|come|cancel|steal)\b[ .,]	has it end when	CONTRIBUTING.md,bench,examples,csrc/test,csrc/explore,*_test.go
	LIST
}

failed=0
fail() { printf 'words.sh: %s\n' "$*" >&2; failed=1; }

# search PATTERN ALLOWED - the lines with the pattern, but for the files ALLOWED (-: none).
search() {
	local but=(':!scripts/words.sh' ':!CHANGELOG.md' ':!*.sum')
	local file
	set -f # the names of files are patterns for git
	for file in ${2//,/ }; do
		[[ $file == - ]] || but+=(":!$file")
	done
	git grep -nIiE --untracked "$1" -- . "${but[@]}" || true
}

# twice FILE - the words that have two rows in the glossary FILE, without "to", articles and what is in
# parentheses; a word and its plural are one.
twice() {
	awk -F'|' '/^## Labels/ { exit } /^\| [^-]/ && $2 != " word " {
		n = split(tolower($2), w, ",")
		split("", row)
		for (i = 1; i <= n; i++) {
			gsub(/\([^)]*\)|`/, "", w[i])
			gsub(/^ +| +$/, "", w[i])
			sub(/^to /, "", w[i])
			if (length(w[i]) > 4) sub(/s$/, "", w[i])
			row[w[i]]
		}
		for (x in row) if (seen[x]++) print x
	}' "$1"
}

if [[ ${1:-} == --self-test ]]; then
	planted=docs/planted.md
	trap 'rm -f "$planted"' EXIT
	while IFS=$'\t' read -r pattern word allowed; do
		echo "$word" >"$planted"
		search "$pattern" "$allowed" | grep -q "^$planted:" || fail "$word is not found by $pattern"
	done < <(list)
	sed '0,/^| fault |/s//| slice, workers |/' docs/internals/words.md >"$planted"
	[[ $(twice "$planted") == worker ]] || fail "a second row of a word is not found"
	exit $failed
fi

while IFS=$'\t' read -r pattern word allowed; do
	found=$(search "$pattern" "$allowed" | head -n 10)
	[[ -z $found ]] || fail "$pattern"$'\n'"$found"
done < <(list)

while read -r word; do
	fail "docs/internals/words.md has two rows for $word: give one meaning another word"
done < <(twice docs/internals/words.md)

# The glossary names files that exist, by their path in csrc or in the root.
while read -r file; do
	[[ -e $file || -e csrc/$file ]] || fail "docs/internals/words.md names $file, which is not there"
done < <(grep -oE '`[A-Za-z0-9_./-]+\.(h|c|go|md|patch|pml|S|py|sh)`' docs/internals/words.md |
	tr -d '`' | sort -u)
exit $failed
