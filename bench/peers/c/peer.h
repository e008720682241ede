/*
 * peer.h - what the peers in C and C++ share: their arguments, a clock, and how they tell.
 *
 *	spawn VARIANT WORKERS N
 *	switching VARIANT N SWITCHES
 */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct peer_args {
	const char *variant;
	int64_t workers, n; /* spawn; and n of switching */
	int64_t switches;   /* switching; 0: spawn */
};

static inline int64_t peer_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline void peer_die(const char *why)
{
	fprintf(stderr, "%s\n", why);
	exit(1);
}

/* Ends the process where the arguments are others. */
static inline struct peer_args peer_read_args(int argc, char **argv)
{
	struct peer_args a = {"", 1, 0, 0};

	if (argc != 5)
		peer_die("want: spawn VARIANT WORKERS N, or switching VARIANT N SWITCHES");
	a.variant = argv[2];
	if (!strcmp(argv[1], "spawn")) {
		a.workers = atoll(argv[3]);
		a.n = atoll(argv[4]);
	} else if (!strcmp(argv[1], "switching")) {
		a.n = atoll(argv[3]);
		a.switches = atoll(argv[4]);
		if (a.n < 2 || a.switches < 1)
			peer_die("want 2 coroutines or more, and a number of switches");
	} else {
		peer_die("the first argument is neither spawn nor switching");
	}
	if (a.workers < 1 || a.n < 1)
		peer_die("want numbers from 1 on");
	return a;
}

/* How often each of members switches, at least once. */
static inline int64_t peer_laps(int64_t switches, int64_t members)
{
	int64_t laps = switches / members;

	return laps > 0 ? laps : 1;
}

static inline void peer_tell_spawn(const char *version, int64_t spawn_ns, int64_t run_ns)
{
	printf("{\"version\": \"%s\", \"spawn_ms\": %.6f, \"run_ms\": %.6f, \"total_ms\": %.6f}\n",
	       version, spawn_ns / 1e6, run_ns / 1e6, (spawn_ns + run_ns) / 1e6);
}

static inline void peer_tell_total(const char *version, int64_t ns)
{
	printf("{\"version\": \"%s\", \"total_ms\": %.6f}\n", version, ns / 1e6);
}

static inline void peer_tell_switch(const char *version, double ns)
{
	printf("{\"version\": \"%s\", \"ns_per_switch\": %.3f}\n", version, ns);
}
