#!/usr/bin/env bash
# rooms.sh - the rooms of the C core keep to themselves:
#
#   1. a file includes only "room/file.h" of its own room or of one below it, and "coro.h"; those of
#      io also "coro_io.h". io lies above sync, of which it includes sync/source.h alone
#   2. a room above includes nothing of the kernel but kernel/kernel.h, and nothing of the border but
#      border/border.h. The border alone includes all of the kernel: a thread that lends itself is a
#      worker
#   3. it uses no name of these two that the head of kernel.h, or of border.h, does not list; and
#      these lists have no name that none of them uses
#   4. it does not look into the kernel's structures (worker, record, scheduler)
#   5. each header's include guard is its own: of two with one guard, the second is not read
#   6. no room calls up: what an object of a room leaves undefined is defined in it or below it. The
#      table by which the kernel asks the border, coroi_hooks, is the exception
#
# Step 6 is left out where the objects are not built (make -C csrc/test test-bin).
set -euo pipefail
cd "$(dirname "$0")/../csrc"

# What each room may include, besides itself.
declare -A below=([base]="" [kernel]="base" [border]="base kernel"
	[buffer]="base kernel"
	[sync]="base kernel border buffer" [io]="base kernel border buffer sync" [actor]="base kernel border buffer sync" [dispatch]="base")
rooms="base kernel border buffer sync io actor dispatch"
# --below prints that, for floors.sh.
if [[ ${1:-} == --below ]]; then
	for room in $rooms; do echo "$room ${below[$room]}"; done
	exit
fi
failed=0
fail() { echo "rooms.sh: $*" >&2; failed=1; }

names() { grep -ohE '\b(coroi_[a-z0-9_]+|COROI_[A-Z0-9_]+)\b' "$@" | sort -u; }

# listed ROOM - the names that its ROOM.h lists, in its first comment. --listed prints those of the
# kernel, for shape.sh; and --own actor those that this room alone uses, without what it has of any
# room: to begin, commit, drop and spawn a task.
listed() {
	sed -n '1,/\*\//p' "$1/$1.h" | grep -oE '\b(coroi_[a-z0-9_]+|COROI_[A-Z0-9_]+)\b' | sort -u
}
if [[ ${1:-} == --listed ]]; then
	listed kernel
	exit
fi
above="buffer sync io actor" # the rooms that both lists are for
if [[ ${1:-} == --own ]]; then
	others=$(printf '%s/*.[ch] ' ${above/$2/})
	listed kernel | comm -12 - <(names "$2"/*.[ch]) | comm -23 - <(names $others) |
		grep -vxE 'coroi_task_(begin|commit|drop|spawn)'
	exit
fi
own_or_base=$(names base/*.h)

for room in $rooms; do
	for file in "$room"/*.[ch]; do
		while read -r header; do
			[[ $header == coro.h || $room/$header == io/coro_io.h || $room/$header == actor/coro_actor.h ]] && continue
			from=${header%%/*}
			if [[ $header != */* ]]; then
				fail "$file includes \"$header\": write \"room/file.h\""
			elif [[ $from != "$room" && " ${below[$room]} " != *" $from "* ]]; then
				fail "$file includes \"$header\", which is not below $room"
			elif [[ $from == sync && $room != sync && $header != sync/source.h ]]; then
				fail "$file includes \"$header\": include sync/source.h"
			elif [[ " $above " == *" $room "* && ($from == kernel || $from == border) &&
				$header != "$from/$from.h" ]]; then
				fail "$file includes \"$header\": include $from/$from.h"
			fi
		done < <(sed -nE 's/^#include "([^"]+)".*/\1/p' "$file")
	done
done

for below_them in kernel border; do
	allowed=$(listed $below_them)
	declared=$(names $below_them/*.h)
	[[ $below_them == kernel ]] || declared=$(comm -23 <(echo "$declared") <(names kernel/*.h))
	for room in $above; do
		own=$(names "$room"/*.h "$room"/*.c | comm -23 - <(echo "$declared"))
		while read -r name; do
			fail "$room uses $name, which $below_them.h does not list:" \
				"$(grep -lE "\b$name\b" "$room"/*.[ch] | tr '\n' ' ')"
		done < <(names "$room"/*.[ch] | comm -12 - <(echo "$declared") |
			comm -23 - <(echo "$allowed") | comm -23 - <(echo "$own_or_base") |
			comm -23 - <(echo "$own"))
	done
	while read -r name; do
		fail "$below_them.h lists $name, which no room uses"
	done < <(comm -23 <(echo "$allowed") <(names {buffer,sync,io,actor}/*.[ch]))
done

# 4: the room is compiled with other structures of the same names, which have no members. The
# kernel's inline functions keep the true ones. What they return is cast.
hidden=$(mktemp -d)
trap 'rm -rf "$hidden"' EXIT
structs="coroi_worker coroi_rec coro_scheduler"
{
	echo '#include "coro.h"'
	echo 'typedef struct true_coro_scheduler true_coro_scheduler;'
	printf '#define %s true_%s\n' $(printf '%s\n' $structs | sed 's/.*/& &/')
	printf '#include "%s"\n' {kernel/kernel,border/border}.h
	printf '#undef %s\n' $structs
	returns="struct (${structs// /|}) \*(coroi_\w+)\("
	sed -nE "s/.*$returns.*/#define \2(...) ((struct \1 *)\2(__VA_ARGS__))/p" {kernel,border,base}/*.h |
		sort -u
} >"$hidden/hidden.h"
# looks FILE - the errors of FILE compiled so.
looks() {
	LC_ALL=C "${CC:-gcc}" -fsyntax-only -w -Wno-incompatible-pointer-types -std=gnu11 -D_GNU_SOURCE \
		-I. -Iinclude -include "$hidden/hidden.h" "$1" 2>&1 | grep 'error:' || true
}
for planted in 'coroi_self()->id' 'coroi_current(coroi_self())->flags' \
	'coroi_scheduler_of(coroi_self())->flags'; do
	echo "int planted(void) { return $planted; }" >"$hidden/planted.c"
	[[ -n $(looks "$hidden/planted.c") ]] || fail "step 4 does not find $planted"
done
for room in $above; do
	for file in "$room"/*.c; do
		while read -r line; do
			fail "$line: only the kernel looks into its structures"
		done < <(looks "$file")
	done
done

# 5
while read -r guard; do
	fail "$guard guards two headers: $(grep -lw "#ifndef $guard" include/*.h */*.h | tr '\n' ' ')"
done < <(for room in $rooms include; do grep -hoE '^#ifndef COROI?_\w+_H$' "$room"/*.h; done |
	awk '{ print $2 }' | sort | uniq -d)

objects=../build/ctest/plain
if [[ -d $objects ]]; then
	for room in $rooms; do
		for lower in $room ${below[$room]}; do
			for source in "$lower"/*.[cS]; do
				# one that was added since the objects were built is not there
				nm "$objects/$(basename "$source").o" 2>/dev/null || true
			done
		done | awk -v room="$room" '
			NF == 3 { defined[$3] = 1 }
			NF == 2 && $2 ~ /^coro/ && $2 != "coroi_hooks" { wanted[$2] = 1 }
			END { for (n in wanted) if (!(n in defined)) print n }' |
			while read -r name; do echo "$room calls up: $name"; done
	done >"$objects/.up"
	while read -r line; do fail "$line"; done <"$objects/.up"
fi
exit $failed
