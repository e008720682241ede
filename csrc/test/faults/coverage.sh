#!/usr/bin/env bash
# coverage.sh DIRECTORY LEAST - lines of the core that the tests have run, of the objects in DIRECTORY; fails if they are less
# than LEAST percent. Lists the lines that were not run.
set -euo pipefail

cd "$(dirname "$0")"
gcov --stdout "$1"/*.gcno 2>/dev/null | awk -v least="$2" '
	# count:line:text, and before each file -:0:Source:path
	match($0, /^ *-: *0:Source:/) {
		path = substr($0, RLENGTH + 1)
		core = path ~ /^\.\.\/\.\.\/[a-z_]*\.[ch]$/
		name = substr(path, 7)
		next
	}
	core && match($0, /^ *[0-9#=]+\*?: *[0-9]+:/) {
		split($0, field, ":")
		key = name ":" field[2] + 0 # once for each object that has an inline function in it
		if (!(key in text)) {
			order[++count] = key
			file[key] = name
			text[key] = $0
			sub(/^[^:]*: *[0-9]*:/, "", text[key])
		}
		if (field[1] !~ /[#=]/)
			run[key] = 1
	}
	END {
		for (i = 1; i <= count; i++) {
			key = order[i]
			if (text[key] ~ /__builtin_unreachable/) # by its meaning
				continue
			all[file[key]]++
			if (!(key in run)) {
				missed[file[key]]++
				list = list "  " key ":" text[key] "\n"
			}
		}
		for (name in all) {
			lines += all[name]
			bad += missed[name]
			printf "%6.1f %%  %4d of %4d  %s\n", 100 * (all[name] - missed[name]) / all[name],
				all[name] - missed[name], all[name], name | "sort -k6"
		}
		close("sort -k6")
		printf "%6.1f %%  %4d of %4d  in all\n", 100 * (lines - bad) / lines, lines - bad, lines
		if (list)
			printf "not run:\n%s", list
		if (!lines || 100 * (lines - bad) / lines < least) {
			print "less than " least " %" > "/dev/stderr"
			exit 1
		}
	}'
