#!/usr/bin/env bash
# llhttp.sh DIR - see to it that pkg-config finds llhttp, the parser of examples/httpd and bench/http, as "libllhttp".
#
# Debian 13 and later have a library, libllhttp-dev. Debian 12 has the C sources alone, in node-llhttp: they are
# compiled into DIR, in the parser's strict mode, and DIR gets a libllhttp.pc. So PKG_CONFIG_PATH must name DIR. Its
# variable "sources" names them, for a build with a sanitizer.
set -euo pipefail

dir=${1:?a folder for the library}
scripts=$(dirname "$0")

"$scripts/deps.sh" pkg-config
if ! pkg-config --exists libllhttp && apt-cache show libllhttp-dev >/dev/null 2>&1; then
	"$scripts/deps.sh" libllhttp-dev
fi
if pkg-config --exists libllhttp || [[ -e $dir/libllhttp.pc ]]; then
	exit 0
fi

"$scripts/deps.sh" gcc libc6-dev binutils node-llhttp
header=$(dpkg -L node-llhttp | grep '/llhttp\.h$')
sources=$(dpkg -L node-llhttp | grep '\.c$')
version=$(sed -nE 's/^#define LLHTTP_VERSION_(MAJOR|MINOR|PATCH) //p' "$header" | paste -sd.)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
(
	cd "$dir"
	# shellcheck disable=SC2086 # one word for each source
	gcc -O2 -fPIC -DLLHTTP_STRICT_MODE=1 -I"$(dirname "$header")" -c $sources
	ar rcs libllhttp.a ./*.o
)
cat >"$dir/libllhttp.pc" <<EOF
sources=$(paste -sd' ' <<<"$sources")
Name: libllhttp
Description: llhttp $version from node-llhttp, strict
Version: $version
Cflags: -I$(dirname "$header")
Libs: -L$dir -lllhttp
EOF
