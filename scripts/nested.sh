#!/usr/bin/env bash
# nested.sh - vet each module of the repository but the root and bench, which have targets of their
# own, and run its short tests: those of x under the race detector. A new module is found by its
# go.mod. go.work names all but those below bench (release-static.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
for file in $(git ls-files '*/go.mod'); do
	module=$(dirname "$file")
	[[ $module != bench ]] || continue
	echo "== $module"
	(
		[[ $module != bench/* ]] || export GOWORK=off
		go -C "$module" vet ./...
		race=()
		[[ $module != x/* ]] || race=(-race)
		go -C "$module" test -short "${race[@]}" -timeout 10m ./...
	)
done
