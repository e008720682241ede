/*
 * search.h - between the search (main.c) and what runs one schedule (engine.c).
 */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "engine.h"

#define PATH_MOST   20000
#define STORES_MOST 8

enum machine { SC, TSO, ARM, MACHINES };

/* The parts of a state; see states.c. */
enum part { PART_NONE, PART_MEMORY, PART_STACKS, PART_THREADS, PARTS };

struct choice {
	uint8_t taken, of;
};

/* How schedules are chosen. */
struct plan {
	const struct ex_scenario *scenario;
	enum machine machine;
	unsigned stores; /* length of a store buffer */
	bool random;     /* by seed; otherwise along the path */
	unsigned bound;
	uint64_t seed;
	uint64_t learn; /* random schedules, which show the shared places */
	bool trace;
	/* leave a schedule at a state from which everything has been explored */
	bool reduce;
	bool check;      /* look whether everything that matters is part of the state */
	bool follow;     /* one path: its states are noted too, to notice that it goes round */
	enum part blind; /* a part left out of states, to see whether the check finds that */
	uint64_t memory; /* bytes of each table of states, at most */
};

struct fingerprint {
	uint64_t a, b;
};

/* The result. It lies in memory that outlives the exploring process. */
struct outcome {
	bool failed, complete;
	bool learned;   /* a place has turned out to be shared */
	bool widened;   /* more memory belongs to a state than was known */
	uint64_t learn; /* as in the plan, at the end */
	char message[240];
	uint64_t schedules, steps;
	uint64_t states; /* with several choices */
	/* sums over the states with several choices, and over those at the ends of schedules: the
	 * order does not matter */
	struct fingerprint digest[2];
	uint32_t reached;
	uint64_t seed;    /* of the present schedule, if random */
	uint32_t choices; /* the present path */
	struct choice path[PATH_MOST];
};

extern struct outcome *outcome;

/* engine_open - set the scenario up, once in a process. engine_run - run one schedule. */
void engine_open(const struct plan *p);
void engine_run(const struct plan *p);

#endif
