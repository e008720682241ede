/*
 * search.h - between the search (main.c) and what runs one schedule (engine.c).
 */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "engine.h"

#define PATH_MOST   20000
#define STORES_MOST 8

enum machine { SC, TSO, ARM, MACHINES };

/* What a state consists of; see states.c. */
enum part { PART_NONE, PART_MEMORY, PART_STACKS, PART_THREADS, PARTS };

struct choice {
	uint8_t taken, of;
};

/* How to choose. */
struct plan {
	const struct ex_scenario *scenario;
	enum machine machine;
	unsigned stores; /* length of a store buffer */
	bool random;     /* by seed; otherwise along the path */
	unsigned bound;
	uint64_t seed;
	uint64_t learn; /* random schedules that say which places are shared */
	bool trace;
	/* leave a schedule that comes to a state from which all has been explored */
	bool reduce;
	bool check;      /* look whether a state is all that matters */
	bool follow;     /* one path: its states are noted too, to see it go round */
	enum part blind; /* a part of it that is left out, to see whether that is found */
	uint64_t memory; /* bytes of each table of states, at most */
};

struct fingerprint {
	uint64_t a, b;
};

/* What came of it. In memory that survives the process that explores. */
struct outcome {
	bool failed, complete;
	bool learned;   /* a place has turned out to be shared */
	bool widened;   /* a state consists of more than was known */
	uint64_t learn; /* as in the plan, in the end */
	char message[240];
	uint64_t schedules, steps;
	uint64_t states; /* that had several choices */
	/* of those, and of those at the ends of schedules: what the search has come to, in any
	 * order */
	struct fingerprint digest[2];
	uint32_t reached;
	uint64_t seed;    /* of the present schedule, if random */
	uint32_t choices; /* the present path */
	struct choice path[PATH_MOST];
};

extern struct outcome *outcome;

/* engine_open - set the scenario up, once a process. engine_run - one schedule. */
void engine_open(const struct plan *p);
void engine_run(const struct plan *p);

#endif
