/*
 * main.c - the explorer's command line, and the search: every schedule within the bound, or random
 * schedules.
 *
 * Each search runs in a process of its own. A mutant may crash or loop, and that counts as found.
 */
#include "schedule.h"

#include "states.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEARN         4000
#define MEMORY        ((uint64_t)1 << 30) /* of a table of states */
#define MUTANT_RANDOM 6000000             /* random schedules of one search */

static const char *const machine_names[MACHINES] = {"sc", "tso", "arm"};
static const char *const part_names[PARTS] = {"", "memory", "stacks", "threads"};
static const char *const mutant_names[] = {[MUTANT_NONE] = "",
#define M(name, scenario, what) [MUTANT_##name] = #name,
					   MUTANTS
#undef M
};
static const char *const mutant_scenarios[] = {[MUTANT_NONE] = "",
#define M(name, scenario, what) [MUTANT_##name] = scenario,
					       MUTANTS
#undef M
};
static const char *const mutant_texts[] = {[MUTANT_NONE] = "",
#define M(name, scenario, what) [MUTANT_##name] = what,
					   MUTANTS
#undef M
};

/* ------------------------------------------------------------------- in the searching process */

static void die(const char *why)
{
	if (!outcome->failed) {
		outcome->failed = true;
		strcpy(outcome->message, why);
	}
	_exit(0);
}

static void on_crash(int sig)
{
	die(sig == SIGABRT ? "aborted" : "crashed");
}

/* Called every three seconds of CPU time, and every five minutes of the clock. If no schedule has
 * ended since the last call, the search is given up. */
static void on_tick(int sig)
{
	static uint64_t last[2] = {UINT64_MAX, UINT64_MAX};
	if (outcome->schedules == last[sig == SIGALRM])
		die(sig == SIGALRM ? "hangs" : "loops");
	last[sig == SIGALRM] = outcome->schedules;
}

static void watch(void)
{
	static char stack[64 << 10];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction crash = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK};
	struct sigaction tick = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval every = {{3, 0}, {3, 0}}, at_most = {{300, 0}, {300, 0}};

	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &crash, NULL);
	sigaction(SIGBUS, &crash, NULL);
	sigaction(SIGILL, &crash, NULL);
	sigaction(SIGFPE, &crash, NULL);
	sigaction(SIGABRT, &crash, NULL);
	sigaction(SIGVTALRM, &tick, NULL);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	sigaction(SIGALRM, &tick, NULL);
	setitimer(ITIMER_REAL, &at_most, NULL);
}

/* next_path - the next path in order. False: this one was the last. */
static bool next_path(void)
{
	uint32_t n = outcome->choices;
	while (n && outcome->path[n - 1].taken + 1 == outcome->path[n - 1].of)
		n--;
	outcome->choices = n;
	if (!n)
		return false;
	outcome->path[n - 1].taken++;
	return true;
}

/* learn - which places are shared. An error that these schedules show does not count. */
static void learn(const struct plan *p)
{
	struct plan random = *p;

	forget_places();
	random.random = true;
	random.reduce = random.check = random.follow = false;
	random.trace = false;
	outcome->learn = p->learn;
	unsigned failures = 0;
	for (random.seed = 1; random.seed <= p->learn && failures <= p->learn / 400;
	     random.seed++) {
		engine_run(&random);
		failures += outcome->failed;
		outcome->failed = false;
	}
	outcome->learned = false;
	outcome->message[0] = 0;
}

static void begin_again(const struct plan *p)
{
	states_open(p);
	outcome->schedules = outcome->steps = 0;
	if (!p->follow)
		outcome->choices = 0;
}

/* explore - run schedules until one fails, at most `most` of them; 0: all. */
static void explore(struct plan *p, uint64_t most)
{
	engine_open(p);
	watch();
	if (!p->random)
		learn(p);
	outcome->schedules = outcome->steps = 0;
	states_open(p);
	while (!most || outcome->schedules < most) {
		engine_run(p);
		if (outcome->failed)
			return;
		if (p->random) {
			p->seed++;
		} else if (outcome->learned) {
			p->learn *= 4;
			learn(p);
			begin_again(p);
		} else if (outcome->widened) {
			begin_again(p);
		} else if (!next_path()) {
			outcome->complete = true;
			return;
		}
	}
}

/* search - explore, in a child process. Returns the seconds it took. */
static double search(struct plan *p, uint64_t most, bool keep_path)
{
	struct timespec a, b;
	uint32_t choices = outcome->choices;

	memset(outcome, 0, offsetof(struct outcome, path));
	if (keep_path)
		outcome->choices = choices;
	clock_gettime(CLOCK_MONOTONIC, &a);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		explore(p, most);
		fflush(stdout);
		_exit(0);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) < 0)
		abort();
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		outcome->failed = true;
		snprintf(outcome->message, sizeof outcome->message,
			 "the process ended with status %d", status);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

/* --------------------------------------------------------------------------------- reports */

static void print_replay(const struct plan *p)
{
	printf("    %s\n    again: explore -scenario %s -machine %s", outcome->message,
	       p->scenario->name, machine_names[p->machine]);
	if (ex_mutant)
		printf(" -mutant %s", mutant_names[ex_mutant]);
	if (p->random) {
		printf(" -seed %llu\n", (unsigned long long)outcome->seed);
		return;
	}
	printf(" -bound %u -learn %llu -path ", p->bound, (unsigned long long)outcome->learn);
	const char *comma = "";
	unsigned n = 0;
	for (uint32_t i = 0; i < outcome->choices; i++) {
		if (outcome->path[i].taken && ++n > 200) {
			printf(" and more");
			break;
		}
		if (outcome->path[i].taken) {
			printf("%s%u:%u", comma, i, outcome->path[i].taken);
			comma = ",";
		}
	}
	printf("%s\n", *comma ? "" : "-");
}

static void print_head(void)
{
	printf("%-18s %-4s %-11s %11s %11s %13s %8s  %s\n", "scenario", "cpu", "search", "states",
	       "schedules", "steps", "seconds", "verdict");
}

static uint64_t all_schedules, all_random;
static uint32_t reached;

/* one - search, and print a line. False: an error was found, or schedules are left. */
static bool one(struct plan *p, uint64_t most)
{
	char how[32];
	double seconds = search(p, most, false);
	bool whole = p->random || outcome->complete;

	snprintf(how, sizeof how, p->random ? "random" : "bound %u", p->bound);
	all_schedules += outcome->schedules;
	all_random += p->random ? outcome->schedules : 0;
	reached |= outcome->reached;
	printf("%-18s %-4s %-11s %11llu %11llu %13llu %8.1f  %s\n", p->scenario->name,
	       machine_names[p->machine], how, (unsigned long long)outcome->states,
	       (unsigned long long)outcome->schedules, (unsigned long long)outcome->steps, seconds,
	       outcome->failed ? "FAILED"
	       : whole         ? "holds"
			       : "NOT FINISHED");
	if (outcome->failed)
		print_replay(p);
	fflush(stdout);
	return !outcome->failed && whole;
}

static const struct ex_scenario *find(const char *name)
{
	for (unsigned i = 0; i < EX_LISTS; i++)
		for (const struct ex_scenario *const *s = ex_world.scenarios[i]; *s; s++)
			if (!strcmp((*s)->name, name))
				return *s;
	return NULL;
}

/* mutant - search for an error of one mutant: within a bound, and at random. An error must be found
 * again by its path or seed. */
static bool mutant(int m, bool reduce, uint64_t memory, uint64_t random)
{
	static const enum machine machines[] = {TSO, ARM};
	struct plan p = {.scenario = find(mutant_scenarios[m]),
			 .stores = 4,
			 .bound = 2,
			 .learn = LEARN,
			 .reduce = reduce,
			 .memory = memory};
	double seconds = 0;
	char how[32];

	if (!p.scenario) {
		printf("%-20s no scenario %s\n", mutant_names[m], mutant_scenarios[m]);
		return false;
	}
	ex_mutant = m;
	for (int k = 0; k < 8; k++) {
		static const struct {
			bool random;
			unsigned bound;
		} order[] = {{false, 0},
			     {false, 1},
			     {true, 0},
			     {false, 2}}; /* what finds most mutants first */
		p.machine = machines[k & 1];
		p.random = order[k / 2].random;
		p.bound = order[k / 2].bound;
		p.seed = 1;
		seconds += search(&p, p.random ? random : 0, false);
		if (outcome->failed)
			break;
	}
	bool found = outcome->failed, again = false;
	uint64_t schedules = outcome->schedules;
	if (found) {
		struct plan same = p;
		char message[sizeof outcome->message];
		strcpy(message, outcome->message);
		same.seed = outcome->seed;
		same.follow = !p.random;
		same.reduce = false;
		same.learn = outcome->learn;
		search(&same, 1, !p.random);
		again = outcome->failed && !strcmp(message, outcome->message);
		outcome->seed = same.seed;
	}
	snprintf(how, sizeof how, p.random ? "random" : "bound %u", p.bound);
	printf("%-20s %-18s %-4s %-8s %9llu %8.1f  %s\n", mutant_names[m], p.scenario->name,
	       machine_names[p.machine], how, (unsigned long long)schedules, seconds,
	       !found  ? "NOT FOUND"
	       : again ? "found, and again"
		       : "found, and NOT AGAIN");
	if (found)
		print_replay(&p);
	fflush(stdout);
	ex_mutant = MUTANT_NONE;
	return found && again;
}

/* --------------------------------------------------------------------------------- commands */

static unsigned part = 1, parts = 1; /* `all` does each parts-th scenario and mutant */

static bool is_ours(unsigned i)
{
	return i % parts == part - 1;
}

#define AGAIN 16 /* more searches of random schedules for what was not reached */

/* all - every scenario, then every mutant; or like's scenario, then its mutants. */
static int all(const struct plan *like, uint64_t random)
{
	bool good = true;
	unsigned scenarios = 0, ours = 0;

	print_head();
	for (unsigned i = 0; i < EX_LISTS; i++) {
		for (const struct ex_scenario *const *s = ex_world.scenarios[i]; *s; s++) {
			struct plan p = *like;
			if (!is_ours(scenarios++) || (like->scenario && *s != like->scenario))
				continue;
			p.scenario = *s;
			reached = 0;
			for (p.machine = TSO; p.machine < MACHINES; p.machine++) {
				p.random = false;
				good &= one(&p, 0);
				p.random = true;
				p.seed = like->seed;
				good &= one(&p, random);
			}
			/* What is rare takes more random schedules. */
			for (int i = 0; i < AGAIN && (reached & (*s)->reach) != (*s)->reach; i++) {
				p.machine = i % 2 ? ARM : TSO;
				p.seed = like->seed + (1 + i / 2) * random;
				good &= one(&p, random);
			}
			if ((reached & (*s)->reach) != (*s)->reach) {
				printf("    %s has not come to all that it is for: 0x%x of 0x%x\n",
				       (*s)->name, reached, (*s)->reach);
				good = false;
			}
		}
	}
	printf("%llu schedules, %llu of them random\n\n", (unsigned long long)all_schedules,
	       (unsigned long long)all_random);
	unsigned found = 0;
	printf("%-20s %-18s %-4s %-8s %9s %8s  %s\n", "mutant", "scenario", "cpu", "search",
	       "schedules", "seconds", "verdict");
	for (int m = MUTANT_NONE + 1; m < MUTANT_COUNT; m++) {
		if (!is_ours((unsigned)m) ||
		    (like->scenario && like->scenario != find(mutant_scenarios[m])))
			continue;
		ours++;
		found += mutant(m, like->reduce, like->memory, MUTANT_RANDOM);
	}
	printf("%u of %u mutants are found\n", found, ours);
	good &= found == ours;
	puts(good ? "all is well" : "NOT WELL");
	return good ? 0 : 1;
}

/* same - the search must come to the same states and the same verdict, with the reduction and
 * without. The states compared are those with several choices and those at the ends of schedules.
 * Each choice at a state must come to the same state each time. True, too, if the search has more
 * than `most` schedules. */
static bool same(struct plan *p, uint64_t most)
{
	static struct outcome whole; /* without its path */

	p->check = true;
	p->reduce = false;
	double seconds = search(p, most, false);
	memcpy(&whole, outcome, offsetof(struct outcome, path));
	p->check = false;
	p->reduce = true;
	if (!whole.failed && whole.complete)
		seconds += search(p, 0, false);
	bool compared = whole.complete || whole.failed;
	bool good = !whole.failed && !outcome->failed && whole.reached == outcome->reached &&
		    whole.states == outcome->states &&
		    !memcmp(whole.digest, outcome->digest, sizeof whole.digest);
	printf("%-18s %-4s bound %-5u %11llu %11llu %11llu %8.1f  %s\n", p->scenario->name,
	       machine_names[p->machine], p->bound, (unsigned long long)whole.states,
	       (unsigned long long)whole.schedules,
	       compared ? (unsigned long long)outcome->schedules : 0, seconds,
	       !compared ? "too many"
	       : good    ? "the same"
			 : "DIFFERS");
	if (whole.failed)
		printf("    %s\n", whole.message);
	fflush(stdout);
	return good || !compared;
}

/* blind_part - without that part a state is not all that matters: the check must notice. */
static bool blind_part(struct plan *p, enum part part)
{
	p->blind = part;
	p->check = true;
	p->reduce = false;
	search(p, 0, false);
	printf("without its %s  %s\n", part_names[part],
	       outcome->failed ? outcome->message : "NOT FOUND");
	p->blind = PART_NONE;
	return outcome->failed;
}

/* check - the search may leave out what follows a state that was explored before. */
static int check(const struct plan *like, uint64_t most)
{
	struct plan p = *like;
	bool good = true;

	printf("%-18s %-4s %-11s %11s %11s %11s %8s\n", "scenario", "cpu", "search", "states",
	       "schedules", "reduced", "seconds");
	for (unsigned i = 0; i < EX_LISTS; i++)
		for (const struct ex_scenario *const *s = ex_world.scenarios[i]; *s; s++)
			for (p.machine = TSO; p.machine < MACHINES; p.machine++) {
				p.scenario = *s;
				if (!like->scenario || like->scenario == *s)
					good &= same(&p, most);
			}
	p.scenario = find("end");
	p.machine = ARM;
	p.bound = 1;
	for (enum part part = PART_NONE + 1; part < PARTS; part++)
		good &= blind_part(&p, part);
	puts(good ? "all is well" : "NOT WELL");
	return good ? 0 : 1;
}

static void list(void)
{
	for (unsigned i = 0; i < EX_LISTS; i++)
		for (const struct ex_scenario *const *s = ex_world.scenarios[i]; *s; s++)
			printf("%-18s %s\n", (*s)->name, (*s)->about);
	puts("");
	for (int m = MUTANT_NONE + 1; m < MUTANT_COUNT; m++)
		printf("%-20s %-18s %s\n", mutant_names[m], mutant_scenarios[m], mutant_texts[m]);
}

static void read_path(const char *s)
{
	while (s && *s) {
		char *end;
		unsigned long at = strtoul(s, &end, 10),
			      taken = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
		if (at >= PATH_MOST)
			break;
		outcome->path[at].taken = (uint8_t)taken;
		outcome->choices = (uint32_t)at + 1;
		s = *end == ',' ? end + 1 : NULL;
	}
}

static int index_of(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return i;
	fprintf(stderr, "explore: no %s; see explore -list\n", name);
	exit(2);
}

static const char usage[] =
	"explore -all [-bound 2] [-random N] [-seed N]   every scenario, then every mutant\n"
	"        [-part 1/2]                             each second of them, from the first on\n"
	"        [-scenario S]                           that one, then its mutants\n"
	"explore -list                                   scenarios and mutants\n"
	"explore -scenario S [-machine sc|tso|arm] [-mutant M] [-stores 4]\n"
	"        [-bound 2] [-most N]                    every schedule within the bound\n"
	"        -random N [-seed N]                     N random schedules\n"
	"        -seed N                                 that one, step by step\n"
	"        -path P [-bound 2] [-learn N]           the one with these choices, step by step\n"
	"explore -check [-scenario S] [-bound 2] [-most N]\n"
	"                                                the same with the reduction and without?\n"
	"all:    [-unreduced]                            no schedule is left at a known state\n"
	"        [-memory 1024]                          MiB of each table of states, at most\n";

int main(int argc, char **argv)
{
	struct plan p = {.machine = TSO,
			 .stores = 4,
			 .bound = 2,
			 .seed = 1,
			 .learn = LEARN,
			 .reduce = true,
			 .memory = MEMORY};
	uint64_t random = 0, most = 0;
	const char *path = NULL;
	bool everything = false, seeded = false, checks = false;

	outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (outcome == MAP_FAILED)
		return 2;
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
		i++;
		if (!strcmp(arg, "-list"))
			return list(), 0;
		if (!strcmp(arg, "-all"))
			everything = true, i--;
		else if (!strcmp(arg, "-part")) {
			if (sscanf(value, "%u/%u", &part, &parts) != 2 || part < 1 || part > parts)
				return fputs(usage, stderr), 2;
		} else if (!strcmp(arg, "-scenario"))
			p.scenario = find(value);
		else if (!strcmp(arg, "-machine"))
			p.machine = (enum machine)index_of(machine_names, MACHINES, value);
		else if (!strcmp(arg, "-mutant"))
			ex_mutant = index_of(mutant_names, MUTANT_COUNT, value);
		else if (!strcmp(arg, "-stores"))
			p.stores = (unsigned)atoi(value);
		else if (!strcmp(arg, "-bound"))
			p.bound = (unsigned)atoi(value);
		else if (!strcmp(arg, "-random"))
			random = strtoull(value, NULL, 10);
		else if (!strcmp(arg, "-learn"))
			p.learn = strtoull(value, NULL, 10);
		else if (!strcmp(arg, "-most"))
			most = strtoull(value, NULL, 10);
		else if (!strcmp(arg, "-seed"))
			p.seed = strtoull(value, NULL, 10), seeded = true;
		else if (!strcmp(arg, "-memory"))
			p.memory = strtoull(value, NULL, 10) << 20;
		else if (!strcmp(arg, "-unreduced"))
			p.reduce = false, i--;
		else if (!strcmp(arg, "-check"))
			checks = true, i--;
		else if (!strcmp(arg, "-path"))
			path = value;
		else
			return fputs(usage, stderr), 2;
	}
	if (checks)
		return check(&p, most);
	if (everything)
		return all(&p, random);
	if (!p.scenario || p.stores < 1 || p.stores > STORES_MOST)
		return fputs(usage, stderr), 2;
	if (path || (seeded && !random)) {
		p.trace = true;
		p.random = !path;
		p.follow = path != NULL;
		p.reduce = false;
		read_path(path);
		search(&p, 1, true);
		puts(outcome->failed ? outcome->message : "holds");
		return outcome->failed;
	}
	p.random = random != 0;
	print_head();
	return !one(&p, random ? random : most);
}
