#include "bodies.h"

#include "coro.h"

/* steps - how many steps the Collatz sequence takes from a number to 1. It never waits, so it asks
 * whether it was cancelled. */
void steps(void *arg, void *result)
{
	uint64_t n = *(uint64_t *)arg, count = 0;

	while (n != 1) {
		n = n % 2 ? 3 * n + 1 : n / 2;
		if (++count % 64 == 0) {
			if (coro_canceled())
				coro_exit();
			coro_yield();
		}
	}
	*(uint64_t *)result = count;
}

/* total - what the items of an order cost. It waits at the channel, and for Go, which knows the
 * prices. */
void total(void *arg, void *result)
{
	const struct order *order = arg;
	coro_chan *items = (coro_chan *)(uintptr_t)order->items;
	struct item item;
	int64_t sum = 0, price;
	int status;

	while ((status = coro_chan_recv(items, &item, CORO_FOREVER)) == CORO_OK) {
		status = coro_call_go(order->price, &item.number, sizeof item.number, &price,
				      sizeof price, NULL);
		if (status != CORO_OK)
			break;
		sum += price * item.count;
	}
	if (status == CORO_ECANCELED)
		coro_exit();
	*(int64_t *)result = status == CORO_ECLOSED ? sum : -1;
}
