#!/usr/bin/env bash
# shape.sh - the size of what a reader of the core, and of package coro, has to hold in the head:
#
#   scripts/shape.sh              prints it, with the ceilings
#   scripts/shape.sh --check      prints what is above its ceiling, and fails
#   scripts/shape.sh --self-test  counts the names of a package that is planted
#
# A change that lifts a ceiling says why, in the place of "-".
set -euo pipefail
cd "$(dirname "$0")/../csrc"

ceilings="
own     69     forks  members of struct coroi_worker; a struct in it is one
inner   101    forks  members of the structs in it
names   105    buffers  names that kernel/kernel.h lists for the other rooms
alone    16     lent-memory  names of it that csrc/actor alone uses, besides the start of tasks
tuning  99     forks  tuning constants in policy.h of kernel, border and actor
strays  0      -  tuning constants elsewhere in these
core    28100  streams, buffers  lines of the core, without comments and blank lines
actor   3600   lent-memory, buffers  those of csrc/actor
long    5      -  functions of the core with more than 50 lines
words   195    lent-memory  words in docs/internals/words.md
api     275    buffers, streams  exported names of package coro: types, functions, methods, variables, constants
csrc    3      -  lines of go doc -short ./csrc
root    93     buffers, streams, limits  Go files in the root
"

core=(base/*.[chS] kernel/*.[ch] border/*.[ch] buffer/*.[ch] sync/*.[ch] dispatch/*.[ch] io/*.[ch] actor/*.[ch] include/*.h)
tuned='^#define +[A-Z0-9_]+_(NS|US|LEAST|EVERY|TURNS|RELAX) '
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# lines FILE... - the number of lines that are neither comment nor blank.
lines() {
	perl -0777 -pe 's{/\*.*?\*/|//[^\n]*}{}gs' "$@" | grep -c '[^[:space:]]'
}

# exported FILE... - the number of exported names that Go files declare, gofmt'ed and no tests: types,
# functions, methods of exported types, variables and constants.
exported() {
	awk '
		FNR == 1 { group = 0 }
		/^func [A-Z]/ || /^func \(([a-z][A-Za-z0-9_]* )?\*?[A-Z][A-Za-z0-9_]*(\[[^]]*\])?\) [A-Z]/ { n++ }
		/^(const|var|type) [A-Z]/ { n++ }
		/^(const|var|type) \($/ { group = 1; next }
		/^\)/ { group = 0 }
		group && /^\t[A-Z]/ { sub(/ *=.*/, ""); n += split($0, names, ",") }
		END { print n + 0 }' "$@"
}

if [[ ${1:-} == --self-test ]]; then
	cat >"$work/planted.go" <<'GO'
package planted

const One = 1

const (
	Two, Three = 2, 3 // and no Four
	four       = 4
)

var (
	// Five: no Six.
	Five error
)

type (
	Six   int
	seven int
)

type Eight[T any] struct{ NoName T }

func Nine() {}

func (e *Eight[T]) Ten(x int) {}
func (s Six) Eleven()         {}
func (Six) Twelve()           {}
func (s seven) Thirteen()     {}
func (s Six) fourteen()       {}
func fifteen()                {}
GO
	# 1, 2, 3, 5, 6, 8, 9, 10, 11, 12
	counted=$(exported "$work/planted.go")
	((counted == 10)) && exit
	echo "shape.sh: $counted exported names are found, of 10 that are planted" >&2
	exit 1
fi

# members - "own inner" of struct coroi_worker, from what the compiler tells gdb.
members() {
	printf '#include "kernel/worker.h"\nstruct coroi_worker worker;\n' |
		gcc -std=gnu11 -D_GNU_SOURCE -g -I. -Iinclude -x c -c -o "$work/worker.o" -
	cat >"$work/members.py" <<-'PY'
		import gdb
		def members(of):
		    for f in of.fields():
		        inside = f.type.strip_typedefs()
		        if f.name:
		            yield inside
		        else:
		            yield from members(inside)
		own = list(members(gdb.lookup_type("struct coroi_worker")))
		structs = [t for t in own if t.code == gdb.TYPE_CODE_STRUCT]
		print(len(own), sum(len(list(members(t))) for t in structs))
	PY
	gdb -q -nx -batch -x "$work/members.py" "$work/worker.o"
}

declare -A now
read -r now[own] now[inner] < <(members)
now[names]=$(../scripts/rooms.sh --listed | wc -l)
now[alone]=$(../scripts/rooms.sh --own actor | wc -l)
now[tuning]=$(awk '/^#define COROI_/ && !/COROI_HAS_|_H$/' {kernel,border,actor}/policy.h | wc -l)
now[strays]=$(awk -v tuned="$tuned" '$0 ~ tuned && FILENAME !~ /policy.h/' {kernel,border,actor}/*.[ch] |
	wc -l)
now[core]=$(lines "${core[@]}")
now[actor]=$(lines actor/*.[ch])
now[long]=$(awk 'FNR == 1 { at = 0 } /^{$/ { at = FNR }
	/^}$/ && at { n += FNR - at - 1 > 50; at = 0 } END { print n + 0 }' "${core[@]}")
now[words]=$(sed "/^## Labels/,\$d" ../docs/internals/words.md | grep -cE "^\| [^-]")

now[api]=$(exported $(printf '%s\n' ../*.go | grep -v _test))
now[csrc]=$(cd .. && go doc -short ./csrc | grep -c . || true)
now[root]=$(ls ../*.go | wc -l)

failed=0
while read -r what most _ is; do
	[[ $what ]] || continue
	if [[ ${1:-} != --check ]]; then
		printf '%6d of %6d  %s\n' "${now[$what]}" "$most" "$is"
	elif ((now[$what] > most)); then
		echo "shape.sh: ${now[$what]} $is: at most $most. Make it smaller, or lift the" \
			"ceiling with a reason" >&2
		failed=1
	fi
done <<<"$ceilings"
exit $failed
