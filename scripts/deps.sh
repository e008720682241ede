#!/usr/bin/env bash
# deps.sh PACKAGE... - see to it that Debian packages are there: install those that are missing when we may, else say
# the one command that does.
set -euo pipefail

missing=()
for p in "$@"; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
((${#missing[@]})) || exit 0

command="apt-get install -y --no-install-recommends ${missing[*]}"
if [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
	echo "installing: ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive $command -qq >/dev/null
else
	echo "missing packages; install them with: sudo $command" >&2
	exit 1
fi
