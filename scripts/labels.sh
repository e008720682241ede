#!/usr/bin/env bash
# labels.sh - each protocol's steps have a label of their own: three letters and a number, as SND1.
# docs/internals/words.md, "Labels of protocol steps", has the labels, each with the file that
# defines its steps.
#
#   - A label has one row. Its steps are numbered from 1, and each is defined once, in that file: at
#     the begin of an item of a comment, with two spaces behind it; in a page in bold letters.
#   - A mention anywhere, in code, models, mutants and pages, names a step that is defined.
#   - No step is named by a single letter and a digit.
#
#   scripts/labels.sh               prints what it finds, and fails
#   scripts/labels.sh --table       prints the labels with their numbers of steps
#   scripts/labels.sh --self-test   plants a fault of each kind, which has to be found
set -euo pipefail
cd "$(dirname "$0")/.."
words=${WORDS:-docs/internals/words.md}

failed=0
fail() { printf 'labels.sh: %s\n' "$*" >&2; failed=1; }

# grep_all PATTERN PATHS... - lines with the pattern, as "file:line:text".
grep_all() { git grep -nIP --untracked "$@" || true; }

texts=('*.c' '*.h' '*.S' '*.go' '*.pml' '*.patch' '*.md' 'models/run' ':!CHANGELOG.md' ':!bench' ':!examples')
code=('*.c' '*.h' '*.go' ':!bench' ':!examples' ':!models')

# rows - "label file" of each row of the table.
rows() {
	awk -F'|' '/^## /{on = /^## Labels of protocol steps/} on && $2 ~ /^ `[A-Z][A-Z][A-Z]` $/ {
		gsub(/[ `]/, "", $2); gsub(/[ `]/, "", $3); print $2, $3 }' "$words"
}

# definitions - "label number file" of each definition.
definitions() {
	grep_all '^\s*(\*|//)(\s.*)?\s[A-Z]{3}\d+  \S' -- "${code[@]}" |
		perl -ne 's/^([^:]+):\d+:// or next; $f = $1; /(?<![\w.])([A-Z]{3})(\d+)  \S/ and print "$1 $2 $f\n"'
	grep_all '^- \*\*[A-Z]{3}\d+\.\*\*' -- 'docs/internals/*.md' |
		perl -ne '/^([^:]+):\d+:- \*\*([A-Z]{3})(\d+)\./ and print "$2 $3 $1\n"'
}

check() {
	local label file number count path
	declare -A home=() steps=()
	while read -r label file; do
		[[ -z ${home[$label]:-} ]] || fail "$words has $label twice"
		path=
		for path in "csrc/$file" "$file" ''; do [[ -e $path ]] && break; done
		[[ -n $path ]] || fail "$words: $label is told in $file, which is not there"
		home[$label]=$path
	done < <(rows)
	((${#home[@]})) || fail "$words has no labels"
	while read -r label number file; do
		if [[ -z ${home[$label]:-} ]]; then
			fail "$file defines $label$number, and $words has no row for $label"
		elif [[ ${home[$label]} != "$file" ]]; then
			fail "$file defines $label$number, and so does ${home[$label]}"
		elif ((number != ${steps[$label]:-0} + 1)); then
			fail "$file: $label$number follows $label${steps[$label]:-0}"
		fi
		[[ ${home[$label]:-} != "$file" ]] || steps[$label]=$number
	done < <(definitions)
	for label in "${!home[@]}"; do
		[[ -n ${steps[$label]:-} ]] || fail "${home[$label]} defines no step of $label"
	done
	if [[ ${1:-} == --table ]]; then
		for label in "${!home[@]}"; do
			echo "$label ${steps[$label]:-0} ${home[$label]}"
		done | sort
	fi
	# One pass over all mentions: those of a step that is not defined.
	local known=
	for label in "${!steps[@]}"; do known+=" $label=${steps[$label]}"; done
	while read -r file; do
		fail "$file"
	done < <(grep_all '(?<![\w.])[A-Z]{3}\d{1,2}(?!\w)' -- "${texts[@]}" | KNOWN=$known perl -ne '
		BEGIN { %n = map { split /=/ } split " ", $ENV{KNOWN} }
		s/^([^:]+:\d+):// or next; $at = $1;
		while (/(?<![\w.])([A-Z]{3})(\d{1,2})(?!\w)/g) {
			print "$at: $1$2 is no step\n" unless "$1$2" eq "AMD64" || $2 >= 1 && $2 <= ($n{$1} // 0);
		}')
	while read -r file; do
		fail "a step without a label: $file"
	done < <(grep_all '(?<![\w.\\-])[A-Z][1-9](?![\w.])' -- "${texts[@]}" ':!*_test.go' |
		perl -ne '/^[^:]+:\d+:\s*(?:I8|U8)\s/ or print')
}

if [[ ${1:-} == --self-test ]]; then
	planted=scripts/planted.h
	list=$(mktemp)
	trap 'rm -f "$planted" "$list"' EXIT
	first=$(rows | { read -r label _; echo "$label"; })
	# plant TEXT FOUND - with TEXT in a file, the check has to say FOUND.
	plant() {
		echo "$1" >"$planted"
		grep -qF "$2" <<<"$( (check) 2>&1)" || fail "not found: $1"
		rm -f "$planted"
	}
	plant " *   ${first}1  defined twice" "$planted defines ${first}1, and so does"
	plant " *   ZZZ1  of no row" "$words has no row for ZZZ"
	plant "/* ${first}99 */" "${first}99 is no step"
	plant "/* ZZZ1 */" "ZZZ1 is no step"
	plant "/* Z1 of $planted */" "a step without a label"
	row=$(grep -m1 "^| \`$first\`" "$words")
	{ cat "$words"; echo '## Labels of protocol steps'; echo "$row"; } >"$list"
	grep -q "has $first twice" <<<"$( (words=$list check) 2>&1)" ||
		fail "a row that is there twice is not found"
	{ cat "$words"; echo '## Labels of protocol steps'; echo '| `ZZZ` | `kernel/none.h` | none |'; } >"$list"
	grep -q 'which is not there' <<<"$( (words=$list check) 2>&1)" ||
		fail "a file that is not there is not found"
	exit $failed
fi
check "${1:-}"
exit $failed
