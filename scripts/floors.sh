#!/usr/bin/env bash
# floors.sh - which files of the C core call each other in a circle, and which rooms call up:
#
#   scripts/floors.sh              prints, for each room, its largest circle of files, and what is
#                                  wrong
#   scripts/floors.sh --arrows     prints the arrows in those circles, and what they name
#   scripts/floors.sh --check      prints what is wrong, and fails
#   scripts/floors.sh --self-test  plants a fault of each kind in a copy, and looks for it
#
# A file is a stem: x.c and x.h together. It calls another one if it names a function that the other
# one defines, be it in a call, as a value, or in a table. Comments and strings do not count. A call
# through a table names no function, and so is no arrow: that is what tables are for. What is wrong:
#
#   1. a room's largest circle has more files than its limit
#   2. a room calls one that is not below it (scripts/rooms.sh says which are)
#   3. a header of the kernel names something that the headers of the border declare
set -euo pipefail
cd "$(dirname "$0")/.."

# The most files in a circle, by room. In the kernel two are fork and door: an owner that serves a
# thief in its door gives it a fork.
limits="base 2 kernel 15 border 2 sync 2 io 2 actor 2 dispatch 1"

# floors ROOT [arrows] - the table of the core in ROOT/csrc; what is wrong begins with "wrong:".
floors() {
	perl - "$1/csrc" "$limits" "$(scripts/rooms.sh --below)" "${2:-}" <<'PERL'
use strict;
my ($root, $limits, $below, $arrows) = @ARGV;
my %limit = split ' ', $limits;
my (%below, @rooms);
for (split /\n/, $below) {
	my ($room, @others) = split;
	push @rooms, $room;
	$below{$room}{$_} = 1 for $room, @others;
}

# code of a file - without comments, strings, and lines of the preprocessor; what macros stand for
# is left at its end. And the names of the macros.
sub code {
	local (@ARGV, $/) = shift;
	local $_ = <>;
	s{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'}{ }gs;
	my (@macros, @bodies);
	while (s{^[ \t]*#[ \t]*((?:[^\n]*\\\n)*[^\n]*)}{}m) {
		my ($name, $body) = $1 =~ /^define\s+(\w+)(.*)/s or next;
		push @macros, $name;
		push @bodies, $body if $body =~ /^\(/; # a function's
	}
	return ($_, "@bodies", @macros);
}

# split_code - what of the code is outside of all braces, where each pair of braces stays as {}; and
# what is inside of braces, or the value of a variable. So declarations name nothing.
sub split_code {
	my ($depth, $outer, $inner) = (0, '', '');
	for (split /([{}])/, shift) {
		$depth-- if $_ eq '}';
		($depth ? $inner : $outer) .= $_;
		$depth++ if $_ eq '{';
	}
	return ($outer, join ' ', $inner, $outer =~ /=\s*&?(\w+)\s*;/g);
}

my (%text, %defined_in, %stems, %border);
for my $room (@rooms) {
	for my $file (sort glob "$root/$room/*.[ch]") {
		my ($stem) = $file =~ m{([^/]+)\.[ch]$};
		my ($code, $bodies, @macros) = code($file);
		my ($outer, $inner) = split_code($code);
		$stems{$room}{$stem} = 1;
		$text{"$room/$stem"} .= "$inner $bodies";
		# a function: NAME(...) {}, in a .c file not static
		while ($outer =~ /([^;}]*?)\b(\w+)\s*(\((?:[^()]|(?3))*\))\s*\{\}/g) {
			my ($before, $name) = ($1, $2);
			next if $name eq '__attribute__' || ($file =~ /c$/ && $before =~ /\bstatic\b/);
			$defined_in{$name} //= "$room/$stem";
		}
		next unless $room eq 'border' && $file =~ /h$/;
		my @enums = $code =~ /\benum\b[^{;]*\{([^}]*)\}/g;
		my @tags = $code =~ /\b(?:struct|union|enum)\s+(\w+)\s*\{/g;
		my @functions = $outer =~ /\b(coroi_\w+)\s*\(/g;
		my @variables = $outer =~
			/\b(?:extern|COROI_THREAD_LOCAL)\b[^;()]*\b(coroi_\w+)\s*(?:\[[^]]*\])?;/g;
		$border{$_} = 1 for grep { /^coroi_/i && !/_H$/ } @macros, @tags, @functions, @variables,
			map { /\b(COROI_\w+)\b/g } @enums;
	}
}

my (%calls, @wrong);
for my $from (sort keys %text) {
	my ($room) = split m{/}, $from;
	# not the name of a type
	my %named = map { $_ => 1 }
		$text{$from} =~ /(?<!\bstruct )\b(\w+)\b(?!\s+\w|\s*\*+\s*\w)/g;
	for my $name (sort grep { exists $defined_in{$_} } keys %named) {
		my $to = $defined_in{$name};
		my ($other) = split m{/}, $to;
		push @wrong, "$from calls up: $name of $to" unless $below{$room}{$other};
		$calls{$from}{$to} .= " $name" if $room eq $other && $from ne $to;
	}
}

# circles of a room - its sets of files that reach each other (Tarjan), the largest first.
sub circles {
	my ($room, $n, %index, %low, @stack, %on, @found, $visit) = (shift, 0);
	$visit = sub {
		my $v = shift;
		$index{$v} = $low{$v} = ++$n;
		push @stack, $v;
		$on{$v} = 1;
		for my $w (sort keys %{$calls{$v}}) {
			$visit->($w) unless $index{$w};
			$low{$v} = $low{$w} if $on{$w} && $low{$w} < $low{$v};
		}
		return if $low{$v} != $index{$v};
		my @circle;
		do { push @circle, pop @stack; delete $on{$circle[-1]} } until $circle[-1] eq $v;
		push @found, [sort map { s{.*/}{}r } @circle];
	};
	for (sort keys %{$stems{$room}}) { $visit->("$room/$_") unless $index{"$room/$_"} }
	return sort { @$b <=> @$a } @found;
}

printf "%-9s %5s %6s %5s  %s\n", qw(room files circle limit members);
for my $room (@rooms) {
	my ($largest) = circles($room);
	$largest //= [];
	my $most = $limit{$room} // 1;
	printf "%-9s %5d %6d %5d  %s\n", $room, scalar keys %{$stems{$room}}, scalar @$largest, $most,
		@$largest > 1 ? "@$largest" : '-';
	for my $from ($arrows ? @$largest : ()) {
		for my $to (grep { $calls{"$room/$from"}{"$room/$_"} } @$largest) {
			print "  $from -> $to:", $calls{"$room/$from"}{"$room/$to"}, "\n";
		}
	}
	push @wrong, "a circle of " . @$largest . " files in $room, at most $most: @$largest"
		if @$largest > $most;
}
for my $file (sort glob "$root/kernel/*.h") {
	my ($code, @others) = code($file);
	my %named = map { $_ => 1 } "$code @others" =~ /\b(\w+)\b/g;
	push @wrong, "$file names the border's $_" =~ s{^\Q$root/}{}r
		for sort grep { $named{$_} } keys %border;
}
print "wrong: $_\n" for @wrong;
PERL
}

# plant FILE LINE - add the line to a file of the copy.
plant() {
	rm -rf "$copy"
	mkdir -p "$copy"
	cp -r csrc "$copy/csrc"
	echo "$2" >>"$copy/csrc/$1"
}

# finds WHAT - the fault that was planted last is found.
finds() {
	grep -qE "^wrong: $1" <<<"$(floors "$copy")" || {
		echo "floors.sh: does not find: $1" >&2
		exit 1
	}
}

case ${1:-} in
--check)
	wrong=$(floors . | sed -n 's/^wrong: /floors.sh: /p')
	[[ -z $wrong ]] || { echo "$wrong" >&2; exit 1; }
	;;
--self-test)
	copy=$(mktemp -d)
	trap 'rm -rf "$copy"' EXIT
	for room in base kernel io actor; do
		plant "$room/planted.c" ''
		for i in {1..40}; do
			echo "void coroi_planted$i(void) { coroi_planted$((i % 40 + 1))(); }" \
				>"$copy/csrc/$room/planted$i.c"
		done
		finds "a circle of 40 files in $room"
	done
	plant kernel/time.c 'static void *planted(void) { return coro_chan_send; }'
	finds 'kernel/time calls up: coro_chan_send of sync/chan'
	plant base/heap.c 'static void planted(void) { coro_yield(); }'
	finds 'base/heap calls up: coro_yield of kernel/wait'
	plant kernel/driver.h 'struct coroi_planted { struct coroi_lender *lender; };'
	finds "kernel/driver.h names the border's coroi_lender"
	plant kernel/driver.h '#define COROI_PLANTED(s) coroi_bell_ring(s)'
	finds "kernel/driver.h names the border's coroi_bell_ring"
	plant kernel/time.c '/* coro_chan_send() */ static const char *planted = "coro_yield()";'
	if grep -q '^wrong: .*time' <<<"$(floors "$copy")"; then
		echo "floors.sh: reads comments or strings" >&2
		exit 1
	fi
	;;
--arrows)
	floors . arrows
	;;
*)
	floors .
	;;
esac
