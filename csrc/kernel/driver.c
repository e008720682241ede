//go:build ignore
/* driver.c - see driver.h. */
#include "kernel/driver.h"

#include "base/sys.h"
#include "kernel/activity.h"

static void futex_sleep(struct coroi_worker *w, int64_t ns)
{
	coroi_futex_wait(&w->ev, COROI_EV_SLEEPS, ns);
}

static void futex_kick(struct coroi_worker *w)
{
	coroi_futex_wake(&w->ev, 1);
}

const struct coroi_driver coroi_futex_driver = {.sleep = futex_sleep, .kick = futex_kick};
