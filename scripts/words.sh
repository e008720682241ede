#!/usr/bin/env bash
# words.sh - no word of the old vocabulary is left in code, comments and documents: docs/internals/words.md has today's.
#
# docs/internals/words.md names only files that there are.
#
# A line of the list below is a pattern (extended regular expression, case ignored) and, after a tab, files where it is
# plain English or another thing's name.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
while IFS=$'\t' read -r pattern allowed; do
	[[ -z $pattern ]] && continue
	found=$(git grep -nIiE "$pattern" -- . ':!scripts/words.sh' ':!CHANGELOG.md' ':!*.sum' $(printf " :!%s" $allowed) || true)
	if [[ -n $found ]]; then
		printf 'words.sh: %s\n%s\n' "$pattern" "$(head -n 10 <<<"$found")" >&2
		failed=1
	fi
done <<'LIST'
parcel|adrift
\b(coroi_)?lanes?\b|[a-z]Lane\b|\bLane[A-Z]	csrc/explore/states.c
\bguests?\b|_guest|Guest[A-Z(]
\bgifts?\b|_gift
\bmail(s|ed|er|ers)?\b|_mail\b|mail_next
\b(ext|ext:32) tokens?\b|coroi_ext_|COROI_S_|BeginExt|EndExt
coroi_token|coroi_task|coroi_bare|coroi_place|coroi_mark|coroi_parcel
\bstarv(e|es|ed|ing)\b|_starve|starved	csrc/kernel/deque.h options.go
\blingers?\b|_linger
\b(naps?|dozes?|reckons?)\b
\bcarriers?\b|\bsightings?\b
\boffice\b|idleRunners|\*runner\b
\bcling(s|ing)?\b|COROI_PROMISED
\bmovers?\b
\bunopened\b|let_go|pour_locked
\bwaitable\b|\bsleepers\.Get\b
\bdense_slots\b|WithDenseSlots|DenseSlots
coro\.(New)?Latch\b|ErrNegativeLatch
\bErrMode\b|\bStartIn\b|\bGoIn\b|\bSpawnContext\b|\bWithStealBatch\b|\bWithStackCache\b|\bWithoutMembarrier\b
LIST
# The glossary names files that exist, by their path in csrc or in the root.
while read -r file; do
	if [[ ! -e $file && ! -e csrc/$file ]]; then
		echo "words.sh: docs/internals/words.md names $file, which is not there" >&2
		failed=1
	fi
done < <(grep -oE '`[A-Za-z0-9_./-]+\.(h|c|go|md|patch|pml|S|py|sh)`' docs/internals/words.md | tr -d '`' | sort -u)
exit $failed
