#!/usr/bin/env bash
# release-check.sh - HEAD as its users will get it: a proxy of files serves each module at its
# version, and each is installed from there, in empty folders, with an empty module cache. Then go
# commands in a fresh clone must leave it as it was.
#
# release-check.sh --tags prints the tags of the version, in the order in which to push them.
set -euo pipefail
cd "$(dirname "$0")/.."
root=github.com/organzine/coro
version=v$(scripts/version.sh)
modules=$(scripts/modules.sh)
tree=$PWD

if [[ ${1:-} == --tags ]]; then
	echo "$version"
	printf "%s/$version\n" $modules
	exit
fi

scripts/release-static.sh
work=$(mktemp -d)
trap 'rm -rf "$work" "$tree/build/release-modules"' EXIT

# publish MODULE PATHSPEC... - put HEAD's folder of a module into the proxy; "." is the root.
publish() {
	local path=$root/$1 folder=HEAD:$1 at
	[[ $1 != . ]] || path=$root folder=HEAD
	at=$work/proxy/$path/@v
	mkdir -p "$at"
	echo "$version" >"$at/list"
	echo "{\"Version\":\"$version\",\"Time\":\"$(git log -1 --format=%cI)\"}" >"$at/$version.info"
	git show "HEAD:$1/go.mod" >"$at/$version.mod"
	local license=(--add-file=LICENSE)
	! git cat-file -e "HEAD:$1/LICENSE" 2>/dev/null || license=()
	git archive --format=zip --prefix="$path@$version/" -o "$at/$version.zip" "${license[@]}" \
		"$folder" -- "${@:2}"
}
publish . . $(git ls-files '*/go.mod' | sed 's|\(.*\)/go.mod|:!\1|')
for module in $modules; do publish "$module" .; done

# Modules of others come from the cache of this machine, if they are there. What is compiled with a
# -I of its own folder, as the core, is cached by that: so the module cache always has the same path.
export GOPROXY="file://$work/proxy,file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GONOSUMDB=$root GOFLAGS='-modcacherw -trimpath -buildvcs=false'
export GOMODCACHE=$tree/build/release-modules GOBIN=$work/bin GOWORK=off GOTOOLCHAIN=local
rm -rf "$GOMODCACHE"

# empty COMMAND - go to an empty folder, for a command.
empty() {
	echo "== $*"
	mkdir -p "$work/empty"
	cd "$(mktemp -d -p "$work/empty")"
}

# quiet COMMAND - what it says matters if it fails.
quiet() { "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }; }

# says LINE - must be the last line that was said.
says() { [[ $(tail -n 1 "$work/said") == "$1" ]] || { cat "$work/said" >&2; exit 1; }; }

# here MODULE - are the C libraries there that the module asks pkg-config for?
here() {
	local library lines
	lines=$(git -C "$tree" grep -hoE '^#cgo pkg-config: .*' "HEAD:$1" -- '*.go' || true)
	for library in $(cut -d: -f2 <<<"$lines" | sort -u); do
		pkg-config --exists "$library" && continue
		echo "-- skipped: $1: there is no $library here"
		return 1
	done
}

# A library is got and built, a program installed.
for module in . $modules; do
	path=$root/$module
	[[ $module != . ]] || path=$root
	[[ $module == . ]] || here "$module" || continue
	if [[ $module == examples/* ]]; then
		empty "go install $path@$version"
		quiet go install "$path@$version"
	else
		empty "go get $path@$version"
		quiet go mod init example.org/empty
		quiet go get "$path/...@$version"
		quiet go build "$path/..."
	fi
done
empty "go install $root/cmd/coro@$version"
quiet go install "$root/cmd/coro@$version"
empty "go run $root/examples/hello-c@$version"
quiet go run "$root/examples/hello-c@$version"
says "longest sequence up to 100000: from 77031, 350 steps"
empty "go get -tool $root/cmd/coro@$version, go tool coro init, go run ."
quiet go mod init example.org/empty
quiet go get -tool "$root/cmd/coro@$version"
quiet go tool coro init
quiet go run .
says "77031 comes to 1 in 350 steps"
quiet go test .

unset GOPROXY GONOSUMDB GOMODCACHE GOWORK
git init -q "$work/clone"
git -C "$tree" archive HEAD | tar x -C "$work/clone"
cd "$work/clone"
git add .
git -c user.name=release -c user.email=release@localhost commit -qm HEAD
for module in . $modules; do
	echo "== go commands in $module of a fresh clone"
	(
		cd "$module"
		go list -m all >/dev/null
		go list -test -deps ./... >/dev/null
		go doc . >/dev/null
	)
done
go build -o "$work/bin/" ./cmd/coro
go test -run '^$' ./internal/table >/dev/null
changed=$(git status --porcelain)
if [[ -n $changed ]]; then
	printf 'go commands change the tree; commit what they write:\n%s\n' "$changed" >&2
	git diff >&2
	exit 1
fi
echo "release-check: $version can be installed"
