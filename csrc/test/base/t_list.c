/*
 * t_list.c - lists: each kind beside an array that does the same, and pushes from several threads.
 */
#include "test.h"

#include "base/list.h"

#include <string.h>

enum { MOST = 40 };

struct item {
	struct item *next, *prev;
	struct item *other; /* a link of another name */
	int number;
};

/* What a list should hold, in order. */
struct model {
	int number[MOST], count;
};

static void model_insert(struct model *m, int at, int number)
{
	memmove(m->number + at + 1, m->number + at, (size_t)(m->count++ - at) * sizeof(int));
	m->number[at] = number;
}

static int model_remove(struct model *m, int at)
{
	int number = m->number[at];
	memmove(m->number + at, m->number + at + 1, (size_t)(--m->count - at) * sizeof(int));
	return number;
}

/* free_item - one that is in no list; links of those have any value. NULL: none is left. */
static struct item *free_item(struct item *items, const bool *used)
{
	for (int i = 0; i < MOST; i++) {
		if (used[i])
			continue;
		items[i] = (struct item){.next = (struct item *)8,
					 .prev = (struct item *)8,
					 .other = (struct item *)8,
					 .number = i};
		return &items[i];
	}
	return NULL;
}

TEST(list_fifo_is_first_in_first_out)
{
	struct {
		struct item *first, *last;
	} list = {NULL, (struct item *)8}; /* any last */
	struct item items[MOST];
	bool used[MOST] = {false};
	struct model m = {.count = 0};
	uint64_t seed = 1, rounds = scaled(100000);

	CHECK(!coroi_fifo_take(&list, other));
	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t r = rnd(&seed);
		struct item *x = r & 1 ? free_item(items, used) : NULL;
		if (x && r & 2) {
			coroi_fifo_add(&list, x, other);
			model_insert(&m, m.count, x->number);
			used[x->number] = true;
		} else if (x) {
			coroi_fifo_add_first(&list, x, other);
			model_insert(&m, 0, x->number);
			used[x->number] = true;
		} else if (!m.count) {
			CHECK(!coroi_fifo_take(&list, other));
		} else {
			x = coroi_fifo_take(&list, other);
			CHECK_EQ(x->number, model_remove(&m, 0));
			used[x->number] = false;
		}
	}
	while (m.count)
		CHECK_EQ(coroi_fifo_take(&list, other)->number, model_remove(&m, 0));
	CHECK(!list.first);
}

/* check_both_ways - the elements from first on are the model's, and know those before them. */
static void check_both_ways(const struct item *first, const struct model *m)
{
	const struct item *before = NULL;
	int n = 0;

	for (const struct item *x = first; x; before = x, x = x->next) {
		CHECK(n < m->count);
		CHECK_EQ(x->number, m->number[n++]);
		CHECK(n == 1 || x->prev == before);
	}
	CHECK_EQ(n, m->count);
}

TEST(list_dlist_lets_any_element_leave)
{
	struct {
		struct item *first, *last;
	} list = {NULL, NULL};
	struct item items[MOST];
	bool used[MOST] = {false};
	struct model m = {.count = 0};
	uint64_t seed = 2, rounds = scaled(100000);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t r = rnd(&seed);
		struct item *x = r % 64 < 31 ? free_item(items, used) : NULL;
		if (x) {
			coroi_dlist_add(&list, x);
			model_insert(&m, m.count, x->number);
			used[x->number] = true;
		} else if (m.count) {
			int at = r & 64 ? 0 : (int)(r / 128 % (uint64_t)m.count);
			x = &items[model_remove(&m, at)];
			if (r & 64)
				coroi_dlist_remove_first(&list, x);
			else
				coroi_dlist_remove(&list, x);
			used[x->number] = false;
		}
		check_both_ways(list.first, &m);
		CHECK(m.count ? list.last == &items[m.number[m.count - 1]] : !list.last);
	}
}

TEST(list_dstack_is_added_to_at_the_front)
{
	struct item *first = NULL, items[MOST];
	bool used[MOST] = {false};
	struct model m = {.count = 0};
	uint64_t seed = 3, rounds = scaled(100000);

	for (uint64_t i = 0; i < rounds; i++) {
		uint64_t r = rnd(&seed);
		struct item *x = r % 64 < 31 ? free_item(items, used) : NULL;
		if (x) {
			coroi_dstack_add(&first, x);
			model_insert(&m, 0, x->number);
			used[x->number] = true;
		} else if (m.count) {
			x = &items[model_remove(&m, (int)(r / 64 % (uint64_t)m.count))];
			coroi_dstack_remove(&first, x);
			used[x->number] = false;
		}
		check_both_ways(first, &m);
		CHECK(!first || !first->prev);
	}
}

enum { PUSHERS = 3, EACH = 50000 };

static struct node {
	uint64_t next;
	uint64_t number; /* written before the push, read after the take */
} nodes[PUSHERS][EACH];

static uint64_t lifo;

static void *pushes(void *arg)
{
	struct node *mine = arg;

	for (uint64_t i = 0; i < EACH; i++) {
		mine[i].number = i + 1;
		coroi_lifo_push(&lifo, (uintptr_t)&mine[i], mine[i].next);
	}
	return NULL;
}

/* Each node comes once, and those of one pusher that are taken together come newest first. */
TEST(list_lifo_gives_every_node_once)
{
	pthread_t pusher[PUSHERS];
	uint64_t taken = 0, newest[PUSHERS] = {0};

	CHECK_EQ(coroi_lifo_take_all(&lifo), 0);
	for (int i = 0; i < PUSHERS; i++)
		thread_start(&pusher[i], pushes, nodes[i]);
	while (taken < PUSHERS * EACH) {
		uint64_t all = coroi_lifo_take_all(&lifo), first[PUSHERS] = {0},
			 last[PUSHERS] = {0};
		for (struct node *n; (n = (struct node *)(uintptr_t)all); all = n->next, taken++) {
			size_t k = (size_t)((char *)n - (char *)nodes) / sizeof nodes[0];
			CHECK(n->number && (!last[k] || n->number == last[k] - 1));
			last[k] = n->number;
			if (!first[k])
				first[k] = n->number;
		}
		for (int k = 0; k < PUSHERS; k++) {
			CHECK(!first[k] || last[k] == newest[k] + 1);
			newest[k] = first[k] ? first[k] : newest[k];
		}
	}
	for (int i = 0; i < PUSHERS; i++) {
		thread_join(pusher[i]);
		CHECK_EQ(newest[i], EACH);
	}
	CHECK_EQ(coroi_lifo_take_all(&lifo), 0);
}
