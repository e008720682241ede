/* forkcoro.h - what forkspawn.c and forkscope.c share of the words of forkbody.h. */
#include "cbody.h"

#include "forkload.h"

#define BODY(name, type)                                 \
	static void name(type *me);                      \
	static void name##_body(void *arg, void *result) \
	{                                                \
		(void)result;                            \
		name(*(type **)arg);                     \
	}                                                \
	static void name(type *me)
#define END            return
#define CALL(name, to) name(to)
#define ROOT(name, to) name(to)

/* fork_measure - the result of a body of this argument, which does a load by `once`. */
static void fork_measure(const struct cb_fork *f, void (*once)(void), struct cb_forked *out)
{
	fj.load = f->load;
	fj.size = f->size;
	fj.laps = f->laps;
	out->ns = fj_measure(once) ? -1 : fj.ns;
	out->sum = fj.sum;
}
