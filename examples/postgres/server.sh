#!/usr/bin/env bash
# server.sh start DIR - start a PostgreSQL server in DIR, which must be there. An empty DIR gets a new one. It listens
#                       at a Unix socket in DIR alone, and trusts all that can reach that.
# server.sh stop DIR  - stop it at once. DIR stays.
#
# PostgreSQL does not run as root: root starts the server as the user postgres, whose DIR becomes.
set -euo pipefail

bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
if [[ ! -x $bin/initdb ]]; then
	echo "server.sh: no PostgreSQL server: apt-get install -y --no-install-recommends postgresql" >&2
	exit 1
fi
dir=$2
as=()
if [[ $(id -u) == 0 ]]; then
	as=(runuser -u postgres --)
fi
cd "$dir"
case $1 in
start)
	((${#as[@]})) && chown postgres: "$dir"
	[[ -d $dir/data ]] ||
		"${as[@]}" "$bin/initdb" -D "$dir/data" -U postgres -A trust --locale=C -N >"$dir/initdb.log"
	"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -s -o "-k '$dir' -h '' \
		-c max_connections=1100 -c fsync=off -c shared_buffers=128MB" start
	;;
stop)
	"${as[@]}" "$bin/pg_ctl" -D "$dir/data" -m immediate -w -s stop
	;;
*)
	echo "server.sh: start or stop" >&2
	exit 2
	;;
esac
