#!/usr/bin/env bash
# nested.sh - vet each module of the repository but those that go.work names, and run its short tests under the race
# detector. A new module is found by its go.mod.
set -euo pipefail
cd "$(dirname "$0")/.."
used=$(go work edit -json | sed -nE 's/.*"DiskPath": "(.*)".*/\1/p')
export GOWORK=off
for file in $(git ls-files '*/go.mod'); do
	module=$(dirname "$file")
	grep -qxF "./$module" <<<"$used" && continue
	echo "== $module"
	go -C "$module" vet ./...
	go -C "$module" test -short -race -timeout 10m ./...
done
