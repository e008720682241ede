/*
 * turnclock.h - the look clock of a worker: at which turn it looks at the clock.
 *
 * Deadlines, spawns and the other workers' queues wait for a look, which goes by time, as a turn
 * may take 10 ns or 1 ms. Reading the clock costs as much as several short turns. So the number of
 * turns from one look to the next adapts to their length. The caller counts the turns
 * (coroi_turns), and says when it looks. (Of Go's executors: internal/turnclock.)
 */
#ifndef COROI_TURNCLOCK_H
#define COROI_TURNCLOCK_H

#include "kernel/policy.h"

#include <stdbool.h>
#include <stdint.h>

#define COROI_NO_LOOK (1u << 30) /* turns to a look that nothing waits for */

/* coroi_turnclock_begin - the clock of a new worker. */
static inline void coroi_turnclock_begin(struct coroi_turnclock *c)
{
	c->every = 1;
	c->mask = COROI_LOOK_TURNS - 1;
}

/* coroi_turnclock_is_due - is this the turn of the next look, or a later one? */
static inline bool coroi_turnclock_is_due(const struct coroi_turnclock *c, uint32_t turn)
{
	return (int32_t)(turn - c->at) >= 0;
}

/* coroi_turnclock_soon - this is the turn of the next look: something waits for it from now on. The
 * turn that was set may be old, and then far ahead or half a round of the counter behind. */
static inline void coroi_turnclock_soon(struct coroi_turnclock *c, uint32_t turn)
{
	c->at = turn;
}

/* coroi_turnclock_is_idle - nothing waited for the next look: it is far ahead, or long past. */
static inline bool coroi_turnclock_is_idle(const struct coroi_turnclock *c, uint32_t turn)
{
	return c->at - turn > COROI_LOOK_EVERY_MOST;
}

/* coroi_turnclock_set - the time is now, and is taken as that of the last look: turns are measured
 * from here. The next look is soon. */
static inline void coroi_turnclock_set(struct coroi_turnclock *c, uint64_t now, uint32_t turn)
{
	c->looked = c->paced = now;
	c->paced_at = turn;
	coroi_turnclock_soon(c, turn);
}

/* coroi_turnclock_pace - take the length of turns, if there were enough since the last time: over a
 * while, as among long turns there may be short ones. Returns: the number of turns that take
 * COROI_LOOK_NS; 0: the length was not taken. The number of turns to the next look doubles at most,
 * but falls in one step, not by halves: else, where turns of 1 ms follow short ones, what waits for
 * the look would do so for some thousands of these turns. */
static inline uint64_t coroi_turnclock_pace(struct coroi_turnclock *c, uint64_t now, uint32_t turn)
{
	uint64_t took = now - c->paced;
	uint32_t turns = turn - c->paced_at;

	if (took < COROI_PACE_NS && turns < COROI_PACE_TURNS)
		return 0;
	uint64_t most = c->every <= COROI_LOOK_EVERY_MOST / 2 ? c->every * 2
							      : COROI_LOOK_EVERY_MOST;
	uint64_t want = (uint64_t)turns * COROI_LOOK_NS / (took + 1) + 1;
	c->every = (uint32_t)(want < most ? want : most);
	c->paced = now;
	c->paced_at = turn;
	return want;
}

/* coroi_turnclock_looked - the worker has looked, at that time and turn. waits: something waits for
 * the next look. While turns are long, looks go on in any case, to find out when they are no more.
 * Returns: turns are long. */
static inline bool coroi_turnclock_looked(struct coroi_turnclock *c, uint64_t now, uint32_t turn,
					  bool waits)
{
	bool are_long = c->every < COROI_LONG_TURNS;

	c->looked = now;
	c->mask = are_long ? 0 : COROI_LOOK_TURNS - 1;
	c->at = turn + (are_long || waits ? c->every : COROI_NO_LOOK);
	return are_long;
}

#endif
