#include "bodies.h"

/* below - how many keys of a node are less than key. */
static uint32_t below(const uint32_t *node, uint32_t key)
{
	uint32_t n = 0;

	for (int i = 0; i < NODE_KEYS; i++)
		n += node[i] < key;
	return n;
}

/* find - the place of key in the tree. Nodes from number far on are not expected in the cache: the
 * coroutine asks for one, and lets the others go on until it is there. Returns: NOWHERE if there is
 * none. */
static inline uint32_t find(const numbers *tree, uint32_t key, size_t far)
{
	size_t k = 0, nodes = tree->n / NODE_KEYS;
	uint32_t at = NOWHERE;

	while (k < nodes) {
		const uint32_t *node = tree->at + k * NODE_KEYS;
		if (k >= far) {
			__builtin_prefetch(node);
			coro_yield();
		}
		uint32_t i = below(node, key);
		if (i < NODE_KEYS && node[i] == key)
			at = (uint32_t)(k * NODE_KEYS + i);
		k = k * (NODE_KEYS + 1) + 1 + i;
	}
	return at;
}

/* look_up - looks keys up, one after the other. */
CORO_BODY(look_up, struct lookups, coro_none, 0)
{
	for (size_t i = 0; i < arg->keys.n && i < arg->found.n; i++)
		arg->found.at[i] = find(&arg->tree, arg->keys.at[i], SIZE_MAX);
}

/* The first four levels: 330 KB. */
#define FAR (1 + 17 + 17 * 17 + 17 * 17 * 17)

/* look_up_beside - the same, for some coroutines that take turns: while the memory of one is on its
 * way, the others compute. */
CORO_BODY(look_up_beside, struct lookups, coro_none, 0)
{
	for (size_t i = 0; i < arg->keys.n && i < arg->found.n; i++)
		arg->found.at[i] = find(&arg->tree, arg->keys.at[i], FAR);
}
