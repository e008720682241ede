/* forkscope.c - the loads of forkload.h with a scope for the children of each parent. */
#include "forkcoro.h"

#include "coro_sync.h"

static coro_scope *new_scope(void)
{
	coro_scope *scope = NULL;

	cb_fail(coro_scope_new(&scope));
	return scope;
}

static void fork_child(coro_scope *scope, coro_fn fn, void *to)
{
	cb_fail(coro_scope_spawn(scope, NULL, fn, &to, sizeof to));
}

#define CHILDREN(n)       coro_scope *scope = new_scope()
#define FORK(i, name, to) fork_child(scope, name##_body, to)
#define JOIN(n)           cb_fail(coro_scope_wait(scope))
#include "forkbody.h"

void cb_fork_scope(void *arg, void *result)
{
	fork_measure(arg, once, result);
}
