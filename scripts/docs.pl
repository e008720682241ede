#!/usr/bin/env perl
# docs.pl - what the documents say of the code is so:
#
#   scripts/docs.pl              prints what is not, and fails
#   scripts/docs.pl --write      writes the tables of files in docs/internals/design.md
#   scripts/docs.pl --self-test  plants a fault of each kind in a copy, where it has to be found
#
# 1. design.md has a table for each room and each package, between the marks <!-- files: DIR --> and
#    <!-- end -->. It is made from the heads of the files: of a C file the sentence of "file.c - what
#    it is" (one that only says "see file.h" shares that one's row), of a Go file the first sentence
#    of its first comment after the package clause. <!-- packages --> has a row for each package that
#    has no table. A room has one, and so has what has 16 files.
# 2. A file with atomic operations tells its protocol in numbered steps at its head, or it is named in
#    memory-order.md (by its path, where another file has its name), or the first sentence of its head
#    names a file of its directory that does so.
# 3. Each line of limits.md under "Slow", "Unfair" and "Missing" ends with "Shown by" and the names of
#    tests (of Go, or of C by TEST) or rows of the benchmark (bench/EXPERIMENT/ROW: the row's name begins
#    so). Under "Missing" it may end with "By design." instead: at most so many do as stands below.
# 4. README.md, the pages of docs for users, and the text of package documentation have no price in ns
#    or us but in blocks that are filled in (<!-- figures: ... -->) and in code. A figure that is a
#    constant of the code names it, 20 us<!--COROI_CHAIN_NS*2-->, in Go package.name, and equals it.
#    benchmarks.md, measured.md and rent.md are records of what was measured, and left out.
# 5. A doc comment of the packages of the root module, which users import, has at most 40 lines, a screen: the rest is a page's.
# 6. A block of code behind <!-- from: FILE --> stands in that file, line by line.
use strict;
use warnings;
use File::Basename;
use File::Temp qw(tempdir);

my $home = dirname(__FILE__) . '/..';
chdir $home or die;
my $design = 'docs/internals/design.md';
my $order = 'docs/internals/memory-order.md';
my @found;
sub fail { push @found, join '', @_ }

sub text { my $file = shift; open my $in, '<', $file or die "$file: $!"; local $/; <$in> // '' }

sub put { my ($file, $text) = @_; open my $out, '>', $file or die "$file: $!"; print $out $text }

# files - what git has, or would add, of the patterns, and what is there still.
sub files {
	my $list = join ' ', map { "'$_'" } @_;
	grep { -f } split /\n/, `git ls-files --cached --others --exclude-standard -- $list`;
}

# sentence - the first one of a comment, as a cell of a table.
sub sentence {
	my $s = shift;
	$s =~ s/\n\s*\n.*//s;
	$s =~ s/\s+/ /g;
	$s =~ s/^ //;
	$s =~ s/[.:](?: [A-Z].*)?\s*$// unless $s =~ s/^(.*?)\. .*/$1/;
	$s =~ s/\[([^\]]*)\]/$1/g;
	$s =~ s/\|/\\|/g;
	return $s;
}

# c_head - of a C file, what stands after "name - " in its first comment.
sub c_head {
	my $file = shift;
	my $name = quotemeta basename $file;
	return undef unless text($file) =~ m{\A(?://go:build[^\n]*\n|\s)*/\*\s*(?:\* )?$name - (.*?)\*/}s;
	my $head = $1;
	$head =~ s/^ \* ?//mg;
	return sentence($head);
}

# go_comments - the comments at the margin of a Go file, without directives and what cgo reads.
sub go_comments {
	my $text = text(shift);
	$text =~ s{^//(go:|export )[^\n]*\n}{}mg;
	my @all;
	while ($text =~ m{((?:^//[^\n]*\n)+)(import "C")?|^/\*(.*?)\*/\n(import "C")?}gms) {
		my ($comment, $cgo) = ($1 // $3, $2 // $4);
		$comment =~ s{^// ?}{}mg;
		push @all, $comment unless $cgo || $comment =~ /^\s*#/;
	}
	return @all;
}

# go_head - the first sentence that is not of the package.
sub go_head {
	my @heads = grep { !/^(Package|Command) / } go_comments(shift);
	return undef unless @heads;
	$heads[0] =~ s/^\w+\.go - //;
	return sentence($heads[0]);
}

# package_head - what a package says of itself, for the head of its table.
sub package_head {
	my $dir = shift;
	for my $file (grep { dirname($_) eq $dir && !/_test\.go$/ } files("$dir/*.go")) {
		for (go_comments($file)) { return sentence($_) if /^(Package|Command) / }
	}
	return undef;
}

# table - of the files of a directory, those of tests left out.
sub table {
	my $dir = shift;
	my (%row, %with);
	for my $file (grep { dirname($_) eq $dir && /\.(c|h|S|go)$/ && !/_test\.go$|(^|\/)doc\.go$/ }
		files($dir eq '.' ? '*.go' : "$dir/*")) {
		my $name = basename $file;
		my $head = $file =~ /\.go$/ ? go_head($file) : c_head($file);
		if (!defined $head) {
			fail "$file: its first comment does not say what it is",
				$file =~ /\.go$/ ? '' : " (\"$name - what it is.\")";
		} elsif ($head =~ /^see (\w+\.h)\b/ && -f "$dir/$1") {
			push @{$with{$1}}, $name;
		} else {
			$row{$name} = $head;
		}
	}
	my $table = sprintf "| `%s` | %s |\n|---|---|\n", $dir eq '.' ? '*.go' : "$dir/",
		package_head($dir) // '';
	for my $name (sort keys %row) {
		$table .= sprintf "| %s | %s |\n", join(', ', map { "`$_`" } $name, sort @{$with{$name} // []}),
			$row{$name};
	}
	return $table;
}

# sources - the files of the module, by directory; tests, programs and other modules left out.
sub sources {
	my %in;
	push @{$in{dirname $_}}, $_ for grep {
		!/_test\.go$/ && !m{(^|/)testdata/|^(bench|examples|models|x)/|^csrc/(explore|test)/}
	} files('*.go', map { ("csrc/*.$_", "internal/core/*.$_") } qw(c h S));
	return %in;
}

# packages - a row for each package that has no table of its own.
sub packages {
	my (%own) = @_;
	my %in = sources();
	my $table = "| other packages | |\n|---|---|\n";
	for my $dir (grep { !$own{$_} } sort keys %in) {
		my $head = package_head($dir);
		defined $head or fail("$dir: no file says what the package is"), next;
		$table .= "| `$dir` | $head |\n";
	}
	return $table;
}

# tables - design.md with its tables as they are to be. A room has a table, and a package of many
# files.
sub tables {
	my $page = text($design);
	my %own = map { $_ => 1 } $page =~ /<!-- files: (\S+) -->/g;
	for my $dir (sort keys %own) { -d $dir or fail "$design has a table of $dir, which is not there" }
	my %in = sources();
	for my $dir (sort keys %in) {
		next if $own{$dir} || (@{$in{$dir}} < 16 && !($dir =~ m{^csrc/} && -f "$dir/doc.go"));
		fail "$design has no table of $dir: add the lines <!-- files: $dir --> and <!-- end -->";
	}
	$page =~ s{(<!-- files: (\S+) -->\n).*?(<!-- end -->)}{"$1\n" . (-d $2 ? table($2) : '') . "\n$3"}gse;
	$page =~ s{(<!-- packages -->\n).*?(<!-- end -->)}{"$1\n" . packages(%own) . "\n$2"}gse;
	return $page;
}

sub check_tables {
	my $page = tables();
	return if $page eq text($design);
	my %is = map { $_ => 1 } split /\n/, text($design);
	my @new = grep { !$is{$_} } split /\n/, $page;
	my %new = map { $_ => 1 } split /\n/, $page;
	my @old = grep { !$new{$_} } split /\n/, text($design);
	fail "$design: the tables of files are not those of the heads: run scripts/docs.pl --write\n",
		map { "$_\n" } map({ "\t- $_" } @old[0 .. ($#old < 4 ? $#old : 4)]),
		map({ "\t+ $_" } @new[0 .. ($#new < 4 ? $#new : 4)]);
}

# code - a file without its comments.
sub code {
	my $text = text(shift);
	$text =~ s{/\*.*?\*/}{}gs;
	$text =~ s{(^|\s)//[^\n]*}{$1}g;
	return $text;
}

sub check_order {
	my $page = text($order);
	my @with = grep { code($_) =~ /\bat_(load|store|bump|xchg|add|or|and|cas|fence)\w*\(|\b__atomic_|\batomic\.[A-Z]/ }
		grep { !/_test\.go$/ && !m{(^|/)testdata/|^(bench|examples|models)/|^csrc/(explore|test)/} }
		files('*.go', 'csrc/*.c', 'csrc/*.h');
	my %named;
	$named{basename $_}++ for @with;
	my $argued = sub {
		my $file = shift;
		my $name = ($named{basename $file} // 0) > 1 ? $file : basename $file;
		return 1 if $page =~ m{(?<![\w./])\Q$name\E\b} || $page =~ m{(?<![\w./])\Q$file\E\b};
		return -f $file && text($file) =~ m{^(?://| \*)[ \t]+[A-Z]{1,3}1[ \t]+\S}m;
	};
	for my $file (grep { !$argued->($_) } @with) {
		my $head = $file =~ /\.c$/ ? c_head($file) // '' : '';
		fail "$file: nothing says why its atomic operations are enough: tell the steps at its head, or ",
			"name it in $order" unless grep { $argued->(dirname($file) . "/$_") } $head =~ /(\w+\.[ch])\b/g;
	}
}

my $limits = 'docs/limits.md';
my $by_design = 9; # lines of limits.md; a new one has to be argued for

# names - of all tests, and of the experiments with the texts that their rows' names are made of.
sub names {
	my (%test, %row);
	for my $file (files('*_test.go')) { $test{$_} = 1 for text($file) =~ /^func ((?:Test|Example|Benchmark)\w+)\(/mg }
	for my $file (files('csrc/test/*.c')) { $test{$_} = 1 for text($file) =~ /^TEST\((\w+)/mg }
	my $in = 'bench/internal/experiments';
	for my $file (grep { !/_test\.go$/ } files("$in/*.go")) {
		my $text = text($file);
		my @names = $text =~ /^\t\tName:\s+"([\w-]+)",$/mg or next;
		my ($stem) = $file =~ /(\w+)\.go$/;
		my $texts = join "\n", map { code($_) =~ /"([^"\n]*)"/g } files("$in/${stem}*.go");
		$row{$_} = $texts for @names;
	}
	return (\%test, \%row);
}

sub check_limits {
	my ($test, $row) = names();
	my $designed = 0;
	my $section = '';
	for my $block (split /^(?=- |#|\S.*:$)/m, text($limits)) {
		$section = $1 if $block =~ /^## (.*)/;
		next unless $section =~ /^(Slow|Unfair|Missing)$/ && $block =~ /^- (.{1,40})/;
		my $line = $1;
		if ($block =~ /\bBy\s+design\.\s*$/) {
			$designed++;
			fail "$limits: \"$line\" is by design, which is for what is missing" unless $section eq 'Missing';
			next;
		}
		my ($shown) = $block =~ /Shown\s+by\s+([^.]*)\.\s*$/;
		fail "$limits: \"$line\" names no test that shows it (Shown by `TestX`.)" unless $shown;
		for my $name (($shown // '') =~ /`([^`]*)`/g) {
			my ($experiment, $of) = $name =~ m{^bench/([\w-]+)(?:/([\w-]+))?$};
			my $begins = quotemeta($of // '');
			next if $experiment ? ($row->{$experiment} // "\0") =~ /^$begins/m && $row->{$experiment}
				: $test->{$name};
			fail "$limits: there is no $name, which is to show \"$line\"";
		}
	}
	fail "$limits: $designed lines are by design, at most $by_design: write a test" if $designed > $by_design;
}

my $unit = '(?:ns|us|µs)\b';
my $figure = '[\d.,]*\d';
my %constant; # name => its values in ns, or plain numbers

# constants - those of C, and those of Go as package.name.
sub constants {
	%constant = ();
	for my $file (files('csrc/*/*.h')) {
		my $text = text($file);
		push @{$constant{$1}}, $2 while $text =~ /^#define (\w+)\s+(\d+)/mg;
	}
	for my $file (grep { !/_test\.go$/ } files('*.go')) {
		my $text = text($file);
		my ($package) = $text =~ /^package (\w+)/m or next;
		while ($text =~ /^(?:const |\t)(\w+)\s+= ([\d_]+)?(?: \* )?(?:time\.(Nano|Micro|Milli)?(?:s|S)econd)?(?: \/\/.*)?$/mg) {
			my ($name, $n, $unit) = ($1, $2 // 1, $3);
			$n =~ tr/_//d;
			push @{$constant{"$package.$name"}}, $n * ({Micro => 1e3, Milli => 1e6}->{$unit // ""} // 1);
		}
	}
}

# value - of a product or quotient of constants and numbers; undef: there is none.
sub values_of {
	my ($expression) = @_;
	my @is = (1);
	my $by = '*';
	for (split m{([*/])}, $expression) {
		if (m{^[*/]$}) { $by = $_; next }
		my @of = /^\d+$/ ? ($_) : @{$constant{$_} // []};
		@is = map { my $x = $_; map { $by eq '*' ? $x * $_ : $x / $_ } @of } @is;
	}
	return @is;
}

# check_prices_of - the text of a page, without code.
sub check_prices_of {
	my ($page, $text) = @_;
	while ($text =~ /((?:$figure to )?$figure)\s*($unit)(?:<!--([^>]*)-->)?/g) {
		my ($said, $in, $names) = ($1, $2, $3);
		if (!defined $names) {
			fail "$page: \"$said $in\" is a price, or a constant without its name: say \"about a cgo call\", ",
				"fill it in, or write $said $in<!--NAME-->";
			next;
		}
		my @said = map { s/,//gr * ($in eq 'ns' ? 1 : 1000) } split / to /, $said;
		for my $name (split ' ', $names) {
			my $n = shift @said // 0;
			grep { abs($_ - $n) < 1 } values_of($name) or fail "$page: \"$said $in\" is not $name";
		}
		fail "$page: \"$said $in\" has no name for each figure" if @said;
	}
}

sub check_prices {
	constants();
	for my $page ('README.md', grep { !m{/(benchmarks|measured|rent)\.md$} && dirname($_) eq 'docs' } files('docs/*.md')) {
		my $text = text($page);
		$text =~ s/<!-- figures:.*?<!-- end -->//gs;
		$text =~ s/^\s*```.*?^\s*```//gms;
		$text =~ s/`[^`]*`//g;
		check_prices_of($page, $text);
	}
	for my $file (grep { !/_test\.go$/ && !m{^(bench|examples|models|internal|csrc)/} } files('*.go')) {
		my ($doc) = grep { /^Package / } go_comments($file);
		check_prices_of($file, $doc) if $doc;
	}
}

sub check_screens {
	for my $file (grep { !/_test\.go$/ && !m{(^|/)(internal|testdata)/|^(bench|examples|models|csrc|cmd|x)/} } files('*.go')) {
		my $text = text($file);
		while ($text =~ m!((?:^//[^\n]*\n)+)((?:package|func|type|const|var)\b[^\n{]*)!mg) {
			my ($comment, $of) = ($1, $2);
			my $lines = $comment =~ tr/\n//;
			fail "$file: the doc comment of \"$of\" has $lines lines, at most 40: move the rest to docs" if $lines > 40;
		}
	}
}

# check_quotes - blocks that are a part of a file.
sub check_quotes {
	for my $file (files('*.md')) {
		my $text = text($file);
		while ($text =~ /<!-- from: (\S+) -->\n+```\w*\n(.*?)^```$/gms) {
			my ($from, $quote) = ($1, $2);
			fail "$file: \"", (split /\n/, $quote)[0], "\" and what follows does not stand in $from"
				unless -f $from && index(text($from), $quote) >= 0;
		}
	}
}

sub check { @found = (); $_->() for @_ ? @_ : (\&check_tables, \&check_order, \&check_limits, \&check_prices, \&check_screens, \&check_quotes); return @found }

# plant - a copy of the tree with one change: the check has to name what is expected.
sub self_test {
	my @faults = (
		['a wrong row', $design, sub { s/(\| `batch\.h`, `batch\.c` \|)[^\n]*/$1 something else |/ },
			qr/run scripts\/docs\.pl --write/, \&check_tables],
		['a new head', 'csrc/kernel/deque.h', sub { s/deque\.h - a/deque.h - another/ },
			qr/run scripts\/docs\.pl --write/, \&check_tables],
		['no head', 'csrc/kernel/deque.h', sub { s/deque\.h - // }, qr/deque\.h: its first comment/, \&check_tables],
		['a table left out', $design, sub { s/<!-- files: csrc\/io -->// }, qr/no table of csrc\/io/, \&check_tables],
		['an atomic without argument', 'csrc/base/abi.c', sub { $_ .= "int f(int *p) { return at_load_acq(p); }\n" },
			qr/abi\.c: nothing says why/, \&check_order],
		['the same in Go', 'once.go', sub { $_ .= "var word atomic.Uint32\n" }, qr/once\.go: nothing says why/, \&check_order],
		['an argument left out', $order, sub { s/`resolve\.c`/`a file`/ }, qr/resolve\.c: nothing says why/, \&check_order],
		['a dead test', $limits, sub { s/`fd_wait_holds_the_end_off`/`fd_wait_ends`/ }, qr/there is no fd_wait_ends/, \&check_limits],
		['a dead test of Go', $limits, sub { s/TestCrowdHook`/TestCrowd`/ }, qr/there is no TestCrowd\b/, \&check_limits],
		['a dead row', $limits, sub { s{`bench/wait/cold`}{`bench/wait/warm`} }, qr{there is no bench/wait/warm}, \&check_limits],
		['a limit without a test', $limits, sub { s/ Shown by `TestStatsByFunc`// }, qr/names no test/, \&check_limits],
		['slow by design', $limits, sub { s/Shown by `bench\/spawn`/By design/ }, qr/which is for what is missing/, \&check_limits],
		['one more by design', $limits, sub { s/Shown by `TestStatsByFunc`/By design/ }, qr/lines are by design/, \&check_limits],
		['a price', 'docs/calls.md', sub { $_ .= "\nIt costs 33 ns.\n" }, qr/"33 ns" is a price/, \&check_prices],
		['a price in the docs of a package', 'coro.go', sub { s/^package/\/\/ It costs 33 ns.\npackage/m }, qr/"33 ns" is a price/, \&check_prices],
		['a constant that has changed', 'csrc/kernel/policy.h', sub { s/(COROI_WAITS_TURN_NS) \d+/$1 30000/ },
			qr/"20 µs" is not COROI_WAITS_TURN_NS/, \&check_prices],
		['one of Go', 'tuning.go', sub { s/(budgetTurn = )\d+/${1}30/ }, qr/"20 µs" is not coro\.budgetTurn/, \&check_prices],
		['a quote of code that has changed', 'examples/recipes/btree/bodies.c', sub { s/(__builtin_prefetch)\(node\)/$1(0)/ }, qr/does not stand in/, \&check_quotes],
		['a doc comment that is too long', 'call.go', sub { s!^// Call runs!"// x\n" x 41 . $&!me },
			qr/doc comment of "func .*Call/, \&check_screens],
	);
	my $copy = tempdir(CLEANUP => 1);
	my @copied = files(map { "*.$_" } qw(c h S go md pl sh json));
	open my $cp, '|-', 'xargs', 'cp', '--parents', '-t', $copy or die;
	print $cp map { "$_\n" } @copied;
	close $cp or die;
	system('git', '-C', $copy, 'init', '-q') == 0 or die;
	chdir $copy or die;
	my @clean = check();
	print STDERR "docs.pl: without a fault there is: @clean\n" if @clean;
	my $bad = @clean;
	for (@faults) {
		my ($what, $file, $change, $expected, $check) = @$_;
		my $was = text($file);
		{ local $_ = $was; $change->(); $_ ne $was or die "$what: $file has no place for it\n"; put($file, $_) }
		my @is = check($check);
		grep { /$expected/ } @is or $bad = print STDERR "docs.pl: planted, and not found: $what\n";
		put($file, $was);
	}
	chdir $home;
	exit($bad ? 1 : 0);
}

my $mode = $ARGV[0] // '';
if ($mode eq '--self-test') {
	self_test();
} elsif ($mode eq '--write') {
	put($design, tables());
	check();
} else {
	check();
}
print STDERR "docs.pl: $_\n" for @found;
exit(@found ? 1 : 0);
