#!/usr/bin/env bash
# coverage.sh DIRECTORY LEAST - the lines of the core that the tests have run, of the objects in DIRECTORY. Fails if they
# are less than LEAST percent. Lists the lines that were not run. Of the lines that were, it lists the error branches that
# were not taken, without those of branches.txt; and the entries of branches.txt that fit no such line.
#
# An error branch belongs to a line that names an error, or is followed by one that does, or by a return of NULL or false.
set -euo pipefail

cd "$(dirname "$0")"
gcov --stdout -b -c "$1"/*.gcno 2>/dev/null | awk -v least="$2" '
	function trimmed(s) {
		gsub(/^[ \t]+|[ \t]+$/, "", s)
		return s
	}
	# branches.txt: file, the beginning of a line, why; between them tabs
	BEGIN {
		while ((getline entry < "branches.txt") > 0)
			if (entry !~ /^#/ && split(entry, word, "\t") == 3)
				allowed[++allowances] = word[1] ":" word[2]
	}
	function is_allowed(key,    i, s) {
		s = file[key] ":" trimmed(text[key])
		for (i = 1; i <= allowances; i++)
			if (index(s, allowed[i]) == 1)
				return needed[i] = 1
		return 0
	}
	function is_error(name, line,    i, s) {
		for (i = 0; i < 5; i++) {
			s = source[name ":" line + i]
			if (s ~ /CORO_E[A-Z]/ || (i < 2 && s ~ /return (NULL|false);/))
				return 1
			if (i && s ~ /;$/)
				break
		}
		return 0
	}
	# count:line:text, and before each file -:0:Source:path
	match($0, /^ *-: *0:Source:/) {
		path = substr($0, RLENGTH + 1)
		core = path ~ /\.\.\/\.\.\/(base|kernel|sync|dispatch|io)\/[a-z_]*\.[ch]$/
		name = substr(path, 7)
		next
	}
	core && /^branch/ {
		taken[key, branches++] += $3 == "taken" ? $4 : 0
		if (branches > most[key])
			most[key] = branches
	}
	core && match($0, /^ *[-0-9#=]+\*?: *[0-9]+:/) {
		split($0, field, ":")
		key = name ":" field[2] + 0 # once for each object that has an inline function in it
		branches = 0
		s = $0
		sub(/^[^:]*: *[0-9]*:/, "", s)
		source[key] = s
		if (field[1] ~ /^ *-$/)
			next
		if (!(key in text)) {
			order[++count] = key
			file[key] = name
			number[key] = field[2] + 0
			text[key] = s
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
				continue
			}
			never = 0
			for (b = 0; b < most[key]; b++)
				never += !taken[key, b]
			ways += most[key]
			not_taken += never
			if (!never || !is_error(file[key], number[key]))
				continue
			if (is_allowed(key))
				excused++
			else
				errors = errors "  " key ":" text[key] "\n"
		}
		for (name in all) {
			lines += all[name]
			bad += missed[name]
			printf "%6.1f %%  %4d of %4d  %s\n", 100 * (all[name] - missed[name]) / all[name],
				all[name] - missed[name], all[name], name | "sort -k6"
		}
		close("sort -k6")
		printf "%6.1f %%  %4d of %4d  in all\n", 100 * (lines - bad) / lines, lines - bad, lines
		if (ways)
			printf "%6.1f %%  %4d of %4d  branches of these\n", 100 * (ways - not_taken) / ways, ways - not_taken, ways
		if (list)
			printf "not run:\n%s", list
		printf "error branches not taken, without %d lines of branches.txt:%s\n%s", excused, errors ? "" : " none", errors
		for (i = 1; i <= allowances; i++)
			if (!(i in needed))
				printf "branches.txt, taken or no such line: %s\n", allowed[i]
		if (!lines || 100 * (lines - bad) / lines < least) {
			print "less than " least " %" > "/dev/stderr"
			exit 1
		}
	}'
