/* forkspawn.c - the loads of forkload.h with a joinable coroutine for each child. */
#include "forkcoro.h"

static coro_handle fork_child(coro_fn fn, void *to)
{
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE};
	coro_handle child = 0;

	cb_fail(coro_spawn_attr(&attr, fn, &to, sizeof to, &child));
	return child;
}

static void join_children(const coro_handle *child, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cb_fail(coro_join(child[i], NULL, 0));
}

#define CHILDREN(n)       coro_handle child[n]
#define FORK(i, name, to) child[i] = fork_child(name##_body, to)
#define JOIN(n)           join_children(child, n)
#include "forkbody.h"

void cb_fork_spawn(void *arg, void *result)
{
	fork_measure(arg, once, result);
}
