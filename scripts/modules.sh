#!/usr/bin/env bash
# modules.sh [DIR] - the folders of the modules of the tree DIR that users may install, besides the
# root: all but bench and those below it, which nobody depends on. A new module is found by its
# go.mod. x comes before examples, since an example may use what is in x.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
git ls-files '*/go.mod' | sed 's|/go.mod$||' | grep -vE '^bench(/|$)' | sort -r
