/* bodies.h - the C coroutines of the service. */
#include <stdint.h>

struct item {
	uint32_t number, count;
};

struct order {
	uint64_t items; /* a coro_chan of struct item, which the sender closes */
	uint32_t price; /* a coro_go_id: from uint32_t, the item's number, to int64_t */
};

void steps(void *arg, void *result); /* uint64_t: result uint64_t */
void total(void *arg, void *result); /* struct order: result int64_t, -1 if an item has no price */
