/* forkcoro.h - what the ways of coroutines share of the words of forkbody.h, but for those that one
 * has defined before. */
#include "cbody.h"

#include "forkload.h"

#ifndef BODY
#define BODY(name, type)                                 \
	static void name(type *me);                      \
	static void name##_body(void *arg, void *result) \
	{                                                \
		(void)result;                            \
		name(*(type **)arg);                     \
	}                                                \
	static void name(type *me)
#define CALL(name, to) name(to)
#endif
#define END            return
#define ROOT(name, to) CALL(name, to)

/* fork_measure - the result of a body of this argument, which does a load by `once`. */
static void fork_measure(const struct cb_fork *f, void (*once)(void), struct cb_forked *out)
{
	fj.load = f->load;
	fj.size = f->size;
	fj.laps = f->laps;
	out->ns = fj_measure(once) ? -1 : fj.ns;
	out->sum = fj.sum;
}
