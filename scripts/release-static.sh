#!/usr/bin/env bash
# release-static.sh [DIR] - can users install the modules of the tree DIR at its version?
#
#   1. CHANGELOG.md's first heading is a version
#   2. the path of each module is that of its folder
#   3. no module has a replace: go ignores it in what others install
#   4. what a module requires of this repository has the version
#   5. no go.sum has a hash of this repository: it is not known before the tag
#   6. go.work names each module, so that it is developed with the tree's coro, and replaces coro of
#      the version by the tree, since the go command asks for it although it does not use it
#
# release-static.sh --self-test plants a fault of each kind, and demands that it is found.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
root=github.com/organzine/coro

# check DIR - prints each fault.
check() (
	cd "$1"
	version=v$("$scripts/version.sh" .) || return 0
	used=$(go work edit -json | sed -nE 's/.*"DiskPath": "(.*)".*/\1/p')
	grep -qxF "replace $root $version => ./" go.work ||
		echo "go.work: does not replace $root $version: go work edit -replace=$root@$version=./"
	for module in $("$scripts/modules.sh" .); do
		text=$(<"$module/go.mod")
		grep -qxF "module $root/$module" <<<"$text" ||
			echo "$module/go.mod: the module is not $root/$module"
		! grep -qE '^replace |=>' <<<"$text" ||
			echo "$module/go.mod: has a replace, which go ignores in a dependency: drop it for go.work"
		while read -r path required; do
			[[ $required == "$version" ]] ||
				echo "$module/go.mod: requires $path $required:" \
					"go mod edit -require=$path@$version $module/go.mod"
		done < <(grep -oE "$root(/[^ ]*)? v[^ ]+" <<<"$text" || true)
		grep -qE "$root v" <<<"$text" ||
			echo "$module/go.mod: does not require $root:" \
				"go mod edit -require=$root@$version $module/go.mod"
		! grep -qE "^$root[/ ]" "$module/go.sum" 2>/dev/null ||
			echo "$module/go.sum: has a hash of $root, which is not final before the tag: drop the line"
		grep -qxF "./$module" <<<"$used" ||
			echo "go.work: does not name $module: go work use ./$module"
	done
) 2>&1

# plants NAME WORD COMMAND - in a copy of the tree's module files, COMMAND plants the fault NAME,
# which check must name by WORD.
plants() {
	local found
	rm -rf "$copies/planted"
	cp -r "$copies/sound" "$copies/planted"
	(cd "$copies/planted" && eval "$3" && git add .)
	found=$(check "$copies/planted")
	if ! grep -qF "$2" <<<"$found"; then
		echo "release-static.sh: $1 is not found" >&2
		failed=1
	fi
}

if [[ ${1:-} == --self-test ]]; then
	failed=0
	copies=$(mktemp -d)
	trap 'rm -rf "$copies"' EXIT
	git init -q --template= "$copies/sound"
	(cd "$scripts/.." && git ls-files CHANGELOG.md go.work '*go.mod' '*go.sum' | xargs tar c) |
		tar x -C "$copies/sound"
	git -C "$copies/sound" add .
	plants "a heading without a version" "first heading is no version" \
		"sed -i '0,/^## .*/s//## Unreleased/' CHANGELOG.md"
	plants "another path" "the module is not $root/x/nats" "go mod edit -module=$root/nats x/nats/go.mod"
	plants "a replace" "x/nats/go.mod: has a replace" "go mod edit -replace=$root=../.. x/nats/go.mod"
	plants "a replace of another module" "x/nats/go.mod: has a replace" \
		"go mod edit -replace=github.com/nats-io/nats.go=../nats.go x/nats/go.mod"
	plants "a wrong version" "x/nats/go.mod: requires $root v0.0.9" "go mod edit -require=$root@v0.0.9 x/nats/go.mod"
	plants "a wrong version of a nested module" "requires $root/x/nats v0.0.9" \
		"go mod edit -require=$root/x/nats@v0.0.9 examples/sqlite/go.mod"
	plants "a new version that nothing requires" "requires $root v0.1.0" \
		"sed -i '0,/^## .*/s//## 99.0.0/' CHANGELOG.md"
	plants "a module without coro" "does not require" "go mod edit -droprequire=$root x/nats/go.mod"
	plants "a hash" "x/nats/go.sum: has a hash" "echo '$root v0.1.0/go.mod h1:x=' >>x/nats/go.sum"
	plants "a go.work of another version" "go.work: does not replace" "sed -i /^replace/d go.work"
	plants "a module that go.work does not name" "go.work: does not name x/other" \
		"mkdir x/other && echo 'module $root/x/other' >x/other/go.mod"
	exit $failed
fi

faults=$(check "${1:-$scripts/..}")
[[ -z $faults ]] || { sed 's/^/release-static.sh: /' <<<"$faults" >&2; exit 1; }
