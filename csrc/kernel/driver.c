//go:build ignore
/* driver.c - see driver.h. */
#include "kernel/driver.h"

#include "base/sys.h"
#include "kernel/activity.h"

bool coroi_futex_sleep(struct coroi_worker *w, int64_t ns)
{
	coroi_futex_wait(&w->ev, COROI_EV_SLEEPS, ns);
	return false;
}

void coroi_futex_kick(struct coroi_worker *w)
{
	coroi_futex_wake(&w->ev, 1);
}

bool coroi_is_to_sleep(const struct coroi_worker *w)
{
	return at_load_seq(&w->ev) == COROI_EV_SLEEPS;
}

void coroi_watch(struct coroi_worker *w, int n)
{
	at_add(&w->watched, (uint32_t)n);
}

const struct coroi_driver coroi_futex_driver = {.sleep = coroi_futex_sleep,
						.kick = coroi_futex_kick};
