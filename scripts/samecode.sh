#!/usr/bin/env bash
# samecode.sh OLD NEW [SED] - is the machine code of two checkouts' cores the same?
#
# OLD and NEW are directories of checkouts in which `make -C csrc/test test-bin` has run. Every object of the core is
# disassembled without addresses and compared by content. SED, a script for `sed -E`, maps OLD's names to NEW's.
# Prints each object of OLD that has no equal in NEW, and fails if there is one.
set -euo pipefail

old=$1 new=$2 map=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# disassemble DIRECTORY SCRIPT INTO - one file an object, named by the hash of its code.
disassemble() {
	mkdir -p "$3"
	find "$1/build/ctest/plain" -name '*.o' ! -path '*/t_*' ! -name 'test.c.o' ! -name 'fifo.c.o' ! -name 'gostand.c.o' |
		while read -r object; do
			objdump -dr --no-addresses --no-show-raw-insn "$object" | grep -v 'file format' |
				sed -E "$2" >"$work/code"
			printf '%s\n' "$object" >>"$3/$(sha256sum <"$work/code" | cut -d' ' -f1)"
		done
}

disassemble "$old" "$map" "$work/old"
disassemble "$new" "" "$work/new"
status=0
for hash in "$work"/old/*; do
	[[ -e $work/new/${hash##*/} ]] && continue
	status=1
	echo "no equal of $(cat "$hash")"
done
((status)) || echo "the code of all objects is the same"
exit $status
