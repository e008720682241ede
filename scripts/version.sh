#!/usr/bin/env bash
# version.sh [DIR] - the version of the tree DIR: that of CHANGELOG.md's first heading. Tags have it
# with a v before it.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
sed -nE '/^## /{s/^## ([0-9]+\.[0-9]+\.[0-9]+)( .*)?$/\1/p;q}' CHANGELOG.md | grep . || {
	echo "version.sh: CHANGELOG.md's first heading is no version, as in: ## 0.1.0 (2026-01-31)" >&2
	exit 1
}
