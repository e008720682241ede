//go:build ignore
/* pool.c - where descriptors and their memory come from, and the ledgers. See buffer.h. */
#include "buffer/buffer.h"

#include "base/lock.h"

struct coroi_descriptor *coroi_buffer_dir[COROI_BUFFER_CHUNKS];

static struct {
	struct coroi_lock lock;
	uint32_t made; /* descriptors of all chunks that have ever been in use; atomic */
	struct coroi_free_buffers bare;                       /* without memory */
	struct coroi_free_buffers with[COROI_BUFFER_CLASSES]; /* with memory */
	struct coroi_ledger *closed;
} depot;

bool coroi_buffers_unmap;

/* With coroi_buffers_unmap: the memory of the buffers that were freed last. It faults. */
#define GRAVES 1024
static struct grave {
	void *at; /* NULL: none yet */
	size_t bytes;
} graves[GRAVES];
static uint32_t buried; /* under the depot's lock */

/* bury - memory that is a mapping of its own faults, until GRAVES others were buried. */
static COROI_COLD void bury(void *at, size_t bytes)
{
	struct grave last = {at, bytes};

	coroi_discard(at, bytes);
	if (!coroi_guard(at, bytes)) {
		coroi_lock(&depot.lock);
		struct grave *g = &graves[buried++ % GRAVES];
		last = *g;
		*g = (struct grave){at, bytes};
		coroi_unlock(&depot.lock);
	}
	if (last.at)
		coroi_unmap(last.at, last.bytes);
}

static void put_locked(struct coroi_free_buffers *list, struct coroi_descriptor *d)
{
	d->next = list->first;
	list->first = d;
	list->count++;
}

static struct coroi_descriptor *get_locked(struct coroi_free_buffers *list)
{
	struct coroi_descriptor *d = list->first;

	if (d) {
		list->first = d->next;
		list->count--;
	}
	return d;
}

/* bare_locked - a descriptor without memory. NULL: no memory for a chunk of them, or 2^24 are in
 * use. */
static struct coroi_descriptor *bare_locked(void)
{
	struct coroi_descriptor *d = get_locked(&depot.bare);
	uint32_t index = depot.made, chunk = index / COROI_BUFFER_CHUNK;

	if (d || chunk == COROI_BUFFER_CHUNKS)
		return d;
	if (!coroi_buffer_dir[chunk]) {
		/* of the C library: LeakSanitizer looks for addresses there, and in no mapping */
		d = coroi_alloc(COROI_BUFFER_CHUNK * sizeof *d, 64);
		if (!d)
			return NULL;
		for (uint32_t i = 0; i < COROI_BUFFER_CHUNK; i++) {
			d[i].index = index + i;
			d[i].word = UINT64_C(1) << COROI_BUFFER_STATE_BITS;
		}
		/* release: who finds the chunk sees the words */
		at_store_rel(&coroi_buffer_dir[chunk], d);
	}
	at_store_rel(&depot.made, index + 1); /* after the chunk */
	return &coroi_buffer_dir[chunk][index % COROI_BUFFER_CHUNK];
}

static void put_bare(struct coroi_descriptor *d)
{
	d->at = NULL;
	at_store_rlx(&d->room, 0);
	coroi_lock(&depot.lock);
	put_locked(&depot.bare, d);
	coroi_unlock(&depot.lock);
}

/* with_memory - give d, which may be NULL, memory. NULL: there is none. */
static struct coroi_descriptor *with_memory(struct coroi_descriptor *d, uint32_t class,
					    size_t bytes)
{
	void *at = NULL;

	if (d)
		at = class != COROI_BUFFER_LARGE ? coroi_alloc(bytes, COROI_BUFFER_LEAST)
		     : coroi_buffers_unmap       ? coroi_map(bytes, coroi_page(), "coro: buffer")
						 : coroi_alloc_large(bytes);
	if (!at) {
		if (d)
			put_bare(d);
		return NULL;
	}
	d->at = at;
	at_store_rlx(&d->room, bytes);
	d->class = class;
	d->next = NULL;
	return d;
}

struct coroi_descriptor *coroi_depot_take(uint32_t class, uint32_t *n)
{
	struct coroi_descriptor *first = NULL, *d;
	uint32_t got = 0;

	if (coroi_unlikely(coroi_buffers_unmap)) {
		*n = 1;
		return coroi_depot_take_large((size_t)COROI_BUFFER_LEAST << class);
	}
	coroi_lock(&depot.lock);
	while (got < *n && (d = get_locked(&depot.with[class]))) {
		d->next = first;
		first = d;
		got++;
	}
	d = got ? NULL : bare_locked();
	coroi_unlock(&depot.lock);
	if (!got && (first = with_memory(d, class, (size_t)COROI_BUFFER_LEAST << class)))
		got = 1;
	*n = got;
	return first;
}

/* give_memory_back - of d, which stays without. */
static void give_memory_back(struct coroi_descriptor *d)
{
	coroi_tell_given(d->at, d->room);
	if (coroi_unlikely(coroi_buffers_unmap))
		bury(d->at, d->room);
	else if (d->class == COROI_BUFFER_LARGE)
		coroi_release_large(d->at, d->room);
	else
		coroi_release(d->at);
	put_bare(d);
}

void coroi_depot_give(struct coroi_descriptor *first, uint32_t class, uint32_t n)
{
	uint32_t most = (uint32_t)(COROI_BUFFER_DEPOT_BYTES /
				   ((size_t)COROI_BUFFER_LEAST << class));

	if (coroi_likely(!coroi_buffers_unmap)) {
		coroi_lock(&depot.lock);
		for (struct coroi_descriptor *d; n && depot.with[class].count < most; n--) {
			d = first;
			first = d->next;
			put_locked(&depot.with[class], d);
		}
		coroi_unlock(&depot.lock);
	}
	for (struct coroi_descriptor *d; n; n--) {
		d = first;
		first = d->next;
		give_memory_back(d);
	}
}

struct coroi_descriptor *coroi_depot_take_large(size_t bytes)
{
	size_t pages = (bytes + coroi_page() - 1) & ~(coroi_page() - 1);

	coroi_lock(&depot.lock);
	struct coroi_descriptor *d = bare_locked();
	coroi_unlock(&depot.lock);
	return with_memory(d, COROI_BUFFER_LARGE, pages);
}

void coroi_depot_give_large(struct coroi_descriptor *d)
{
	give_memory_back(d);
}

size_t coroi_depot_trim(void)
{
	size_t bytes = 0;

	for (uint32_t class = 0; class < COROI_BUFFER_CLASSES; class ++) {
		coroi_lock(&depot.lock);
		struct coroi_descriptor *d = depot.with[class].first, *next;
		depot.with[class] = (struct coroi_free_buffers){0};
		coroi_unlock(&depot.lock);
		for (; d; d = next) {
			next = d->next;
			bytes += d->room;
			give_memory_back(d);
		}
	}
	return bytes;
}

uint32_t coroi_depot_descriptors(void)
{
	return at_load_acq(&depot.made); /* pairs with the release: their chunks are there */
}

/* ------------------------------------------------------------------------------------- ledgers */

struct coroi_ledger *coroi_ledger_new(uint64_t limit)
{
	struct coroi_ledger *l = coroi_alloc(sizeof *l, COROI_APART);

	if (l)
		l->limit = limit;
	return l;
}

static void add(struct coroi_tally *sum, const struct coroi_tally *t)
{
	/* freed first: what is freed was made before */
	sum->freed += at_load_acq(&t->freed);
	sum->bytes += at_load_rlx(&t->bytes);
	sum->made += at_load_rlx(&t->made);
}

void coroi_ledger_sum(const struct coroi_ledger *l, struct coroi_tally *sum)
{
	for (int i = 0; i < COROI_BUFFER_GO_LISTS; i++)
		add(sum, &l->go[i].tally);
	add(sum, &l->others);
	add(sum, &l->gone);
}

static bool is_over(const struct coroi_ledger *l)
{
	struct coroi_tally sum = {0};

	coroi_ledger_sum(l, &sum);
	return sum.made == sum.freed;
}

void coroi_ledger_close(struct coroi_ledger *l)
{
	struct coroi_ledger *over = NULL;

	coroi_lock(&depot.lock);
	l->closed = true;
	l->next = depot.closed;
	depot.closed = l;
	for (struct coroi_ledger **at = &depot.closed; *at;) {
		struct coroi_ledger *one = *at;
		if (!is_over(one)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		one->next = over;
		over = one;
	}
	coroi_unlock(&depot.lock);
	for (struct coroi_ledger *next; over; over = next) {
		next = over->next;
		coroi_release(over);
	}
}
