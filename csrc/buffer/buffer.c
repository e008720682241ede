//go:build ignore
/* buffer.c - buffers: made, passed, changed and freed. See buffer.h. */
#include "buffer/buffer.h"

#include "kernel/kernel.h"

#include <string.h>

/* What one worker has. Only a coroutine that runs there uses it. */
struct local {
	struct coroi_free_buffers list[COROI_BUFFER_CLASSES] __attribute__((aligned(COROI_APART)));
	struct coroi_tally tally;
};

/* What a scheduler has. */
struct pool {
	struct coroi_ledger *ledger;
	uint32_t workers;
	struct local local[] __attribute__((aligned(COROI_APART)));
};

static struct coroi_service buffers_service;

static struct pool *of(struct coro_scheduler *s)
{
	return *coroi_service_state(s, &buffers_service);
}

struct coroi_ledger *coroi_ledger_of(coro_scheduler *s)
{
	return of(s)->ledger;
}

/* here - the pool of the current coroutine's scheduler, and of its worker *own; NULL: the caller is
 * none. */
static inline struct pool *here(struct local **own)
{
	struct coroi_worker *w = coroi_here();

	if (coroi_unlikely(!coroi_current_here(w)))
		return NULL;
	struct pool *p = of(coroi_scheduler_of(w));
	*own = &p->local[coroi_worker_id(w)];
	return p;
}

/* ------------------------------------------------------------------------------- make and free */

/* appear - BUF1: d is a buffer of l from now on. */
static inline uint64_t appear(struct coroi_descriptor *d, struct coroi_ledger *l, size_t bytes,
			      uintptr_t where)
{
	uint64_t word = at_load_rlx(&d->word) | COROI_BUFFER_OWNED;

	coroi_tell_given(d->at, d->room);
	d->length = bytes;
	d->ledger = l;
	d->where = where;
	at_store_rel(&d->word, word);
	return coroi_buffer_id(d, word);
}

static inline void count_made(struct coroi_tally *t, uint64_t bytes)
{
	at_bump(&t->made);
	at_bump_by(&t->bytes, bytes);
}

static void count_others(struct coroi_ledger *l, bool made, uint64_t bytes)
{
	at_add(&l->others.bytes, made ? bytes : -bytes);
	at_add(made ? &l->others.made : &l->others.freed, 1);
}

/* make_slow - by the depot. own: NULL, or a list that is empty, of a worker. */
static COROI_NOINLINE int make_slow(struct coroi_ledger *l, struct local *own, size_t bytes,
				    uintptr_t where, coro_buffer *out)
{
	uint32_t class = coroi_buffer_class(bytes), n;
	struct coroi_descriptor *d;

	n = own && class != COROI_BUFFER_LARGE ? coroi_buffer_trade(class) : 1;
	d = class == COROI_BUFFER_LARGE ? coroi_depot_take_large(bytes)
					: coroi_depot_take(class, &n);
	if (!d)
		return CORO_ENOMEM;
	if (n > 1) {
		own->list[class].first = d->next;
		own->list[class].count = n - 1;
	}
	if (!coroi_ledger_take(l, d->room)) {
		if (class == COROI_BUFFER_LARGE)
			coroi_depot_give_large(d);
		else
			coroi_depot_give(d, class, 1);
		return CORO_ENOMEM;
	}
	if (own)
		count_made(&own->tally, d->room);
	else
		count_others(l, true, d->room);
	out->id = appear(d, l, bytes, where);
	return CORO_OK;
}

int coro_buffer_make(size_t bytes, coro_buffer *out)
{
	uintptr_t where = (uintptr_t)__builtin_return_address(0);
	struct local *own;
	struct pool *p = here(&own);
	uint32_t class = coroi_buffer_class(bytes);

	if (!out || bytes > CORO_BUFFER_MAX)
		return CORO_EINVAL;
	if (!p)
		return CORO_EPERM;
	struct coroi_descriptor *d = class != COROI_BUFFER_LARGE ? own->list[class].first : NULL;
	if (coroi_unlikely(!d || !coroi_ledger_take(p->ledger, d->room)))
		return d ? CORO_ENOMEM : make_slow(p->ledger, own, bytes, where, out);
	own->list[class].first = d->next;
	own->list[class].count--;
	count_made(&own->tally, d->room);
	out->id = appear(d, p->ledger, bytes, where);
	return CORO_OK;
}

int coroi_buffer_make_outside(struct coroi_ledger *l, size_t bytes, uintptr_t where,
			      coro_buffer *out)
{
	return make_slow(l, NULL, bytes, where, out);
}

int coro_buffer_make_on(coro_scheduler *s, size_t bytes, coro_buffer *out)
{
	uintptr_t where = (uintptr_t)__builtin_return_address(0);

	if (!s || !out || bytes > CORO_BUFFER_MAX)
		return CORO_EINVAL;
	return make_slow(of(s)->ledger, NULL, bytes, where, out);
}

/* refusal - the caller's compare-and-swap has found `found`, and not `word`, which was its own. */
static int refusal(uint64_t word, uint64_t found)
{
	return found >> COROI_BUFFER_STATE_BITS == word >> COROI_BUFFER_STATE_BITS &&
			       (found & COROI_BUFFER_USED)
		       ? CORO_EBUSY
		       : CORO_ESTALE;
}

/* disown - BUF4. Returns: CORO_OK and *out: the caller has the descriptor. */
static inline int disown(uint64_t id, struct coroi_descriptor **out)
{
	struct coroi_descriptor *d = coroi_buffer_find(id);
	uint64_t word = coroi_buffer_word(id), found = word;

	if (coroi_unlikely(!d))
		return CORO_ESTALE;
	/* acquire; pairs with the release of BUF3, and with what has handed the handle over */
	if (coroi_unlikely(!at_cas(&d->word, &found, coroi_buffer_next(word, COROI_BUFFER_FREE))))
		return refusal(word, found);
	*out = d;
	return CORO_OK;
}

/* give - the memory and the descriptor of a buffer that was freed go to the depot. */
static void give(struct coroi_descriptor *d)
{
	if (d->class == COROI_BUFFER_LARGE) {
		coroi_depot_give_large(d);
		return;
	}
	coroi_tell_kept(d->at, d->room);
	d->next = NULL;
	coroi_depot_give(d, d->class, 1);
}

COROI_NOINLINE void coroi_buffer_free_outside(struct coroi_descriptor *d)
{
	struct coroi_ledger *l = d->ledger;
	uint64_t room = d->room;

	give(d);
	coroi_ledger_give(l, room);
	count_others(l, false, room); /* last: l may be freed now */
}

/* spill - half of a list that is full goes to the depot. */
static COROI_NOINLINE void spill(struct coroi_free_buffers *list, uint32_t class)
{
	uint32_t n = coroi_buffer_trade(class);
	struct coroi_descriptor *first = list->first, *last = first;

	for (uint32_t i = 1; i < n; i++)
		last = last->next;
	list->first = last->next;
	list->count -= n;
	coroi_depot_give(first, class, n);
}

int coro_buffer_free(coro_buffer b)
{
	struct coroi_descriptor *d;
	struct local *own;
	int status = disown(b.id, &d);

	if (coroi_unlikely(status))
		return status;
	struct pool *p = here(&own);
	struct coroi_ledger *l = d->ledger;
	uint32_t class = d->class;
	if (coroi_unlikely(!p || class == COROI_BUFFER_LARGE)) {
		coroi_buffer_free_outside(d);
		return CORO_OK;
	}
	struct coroi_free_buffers *list = &own->list[class];
	uint64_t room = d->room;
	coroi_tell_kept(d->at, room);
	d->next = list->first;
	list->first = d;
	if (coroi_unlikely(++list->count > 2 * coroi_buffer_trade(class)))
		spill(list, class);
	coroi_ledger_give(l, room);
	if (coroi_likely(l == p->ledger)) {
		at_bump_by(&own->tally.bytes, -room);
		at_bump_rel(&own->tally.freed);
	} else {
		count_others(l, false, room);
	}
	return CORO_OK;
}

/* -------------------------------------------------------------------------------------- passed */

static uint64_t word_at(const void *payload, unsigned i)
{
	uint64_t id;

	memcpy(&id, (const char *)payload + 8 * i, sizeof id);
	return id;
}

static void put_word(void *payload, unsigned i, uint64_t id)
{
	memcpy((char *)payload + 8 * i, &id, sizeof id);
}

int coroi_buffers_pass(void *payload, uint64_t mask)
{
	for (uint64_t left = mask; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);
		uint64_t id = word_at(payload, i), word = coroi_buffer_word(id), found = word;
		struct coroi_descriptor *d;
		if (!id)
			continue;
		uint64_t next = coroi_buffer_next(word, COROI_BUFFER_OWNED);
		d = coroi_buffer_find(id);
		if (d && at_cas(&d->word, &found, next)) { /* BUF2 */
			put_word(payload, i, coroi_buffer_id(d, next));
			continue;
		}
		coroi_buffers_unpass(payload, mask & ((UINT64_C(1) << i) - 1));
		return d ? refusal(word, found) : CORO_ESTALE;
	}
	return CORO_OK;
}

void coroi_buffers_unpass(const void *payload, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		uint64_t id = word_at(payload, (unsigned)__builtin_ctzll(mask));
		if (!id)
			continue;
		uint64_t gen = (id >> COROI_BUFFER_INDEX_BITS) - 1;
		if (!gen) /* see coroi_buffer_next */
			gen = (UINT64_C(1) << 40) - 1;
		/* Nobody else has the new handle. */
		at_store_rel(&coroi_buffer_find(id)->word,
			     gen << COROI_BUFFER_STATE_BITS | COROI_BUFFER_OWNED);
	}
}

void coroi_buffers_reclaim(const void *payload, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		uint64_t id = word_at(payload, (unsigned)__builtin_ctzll(mask));
		uint64_t word = coroi_buffer_word(id);
		uint64_t passed = coroi_buffer_next(word, COROI_BUFFER_OWNED);
		if (id) /* acquire: what the other has done with it is over */
			at_cas(&coroi_buffer_find(id)->word, &passed, word);
	}
}

void coroi_buffers_drop(const void *payload, uint64_t mask)
{
	for (; mask; mask &= mask - 1) {
		struct coroi_descriptor *d;
		uint64_t id = word_at(payload, (unsigned)__builtin_ctzll(mask));
		if (id && disown(id, &d) == CORO_OK)
			coroi_buffer_free_outside(d);
	}
}

/* ------------------------------------------------------------------------------------- changed */

/* use - BUF3. coroi_buffer_word of the handle ends it. */
static int use(uint64_t id, struct coroi_descriptor **out)
{
	struct coroi_descriptor *d = coroi_buffer_find(id);
	uint64_t word = coroi_buffer_word(id), found = word;

	if (!d)
		return CORO_ESTALE;
	if (!at_cas(&d->word, &found, word ^ (COROI_BUFFER_OWNED | COROI_BUFFER_USED)))
		return refusal(word, found);
	*out = d;
	return CORO_OK;
}

static void unuse(struct coroi_descriptor *d, uint64_t id)
{
	at_store_rel(&d->word, coroi_buffer_word(id));
}

void *coro_buffer_at(coro_buffer b, size_t *bytes)
{
	struct coroi_descriptor *d = coroi_buffer_find(b.id);
	bool is_owner = d && at_load_acq(&d->word) >> COROI_BUFFER_STATE_BITS ==
				     b.id >> COROI_BUFFER_INDEX_BITS;

	is_owner = is_owner && at_load_rlx(&d->word) & (COROI_BUFFER_OWNED | COROI_BUFFER_USED);
	if (bytes)
		*bytes = is_owner ? d->length : 0;
	return is_owner ? d->at : NULL;
}

/* It takes the memory of another descriptor, which gets the old memory and is freed. */
int coroi_buffer_grow(struct coroi_descriptor *d, size_t bytes)
{
	uint32_t class = coroi_buffer_class(bytes), n = 1;
	struct coroi_ledger *l = d->ledger;
	struct coroi_descriptor *e = class == COROI_BUFFER_LARGE ? coroi_depot_take_large(bytes)
								 : coroi_depot_take(class, &n);

	if (!e)
		return CORO_ENOMEM;
	if (!coroi_ledger_take(l, e->room)) {
		if (class == COROI_BUFFER_LARGE)
			coroi_depot_give_large(e);
		else
			coroi_depot_give(e, class, 1);
		return CORO_ENOMEM;
	}
	coroi_tell_given(e->at, e->room);
	memcpy(e->at, d->at, d->length);
	struct coroi_descriptor old = *d;
	d->at = e->at;
	at_store_rlx(&d->room, e->room);
	d->class = e->class;
	e->at = old.at;
	at_store_rlx(&e->room, old.room);
	e->class = old.class;
	at_add(&l->others.bytes, d->room - old.room);
	give(e);
	coroi_ledger_give(l, old.room);
	return CORO_OK;
}

int coro_buffer_resize(coro_buffer b, size_t bytes)
{
	struct coroi_descriptor *d;
	int status;

	if (bytes > CORO_BUFFER_MAX)
		return CORO_EINVAL;
	if ((status = use(b.id, &d)))
		return status;
	if (bytes <= d->room || !(status = coroi_buffer_grow(d, bytes)))
		d->length = bytes;
	unuse(d, b.id);
	return status;
}

int coro_buffer_cut(coro_buffer b, size_t from, size_t to)
{
	struct coroi_descriptor *d;
	int status = use(b.id, &d);

	if (status)
		return status;
	if (from > to || to > d->length) {
		status = CORO_EINVAL;
	} else {
		if (from)
			memmove(d->at, d->at + from, to - from);
		d->length = to - from;
	}
	unuse(d, b.id);
	return status;
}

size_t coroi_buffers_list(struct coroi_buffer_left *list, size_t most)
{
	uint32_t made = coroi_depot_descriptors();
	size_t n = 0;

	for (uint32_t i = 0; i < made; i++) {
		const struct coroi_descriptor *d = &at_load_acq(
			&coroi_buffer_dir[i / COROI_BUFFER_CHUNK])[i % COROI_BUFFER_CHUNK];
		uint64_t word = at_load_acq(&d->word);
		if (!(word & (COROI_BUFFER_OWNED | COROI_BUFFER_USED)))
			continue;
		if (n < most)
			list[n] = (struct coroi_buffer_left){coroi_buffer_id(d, word), d->length,
							     d->where, d->ledger};
		n++;
	}
	return n;
}

/* -------------------------------------------------------------------------------- the service */

static int buffers_init(struct coro_scheduler *s, const coro_options *o)
{
	uint32_t workers = coroi_workers_of(s);
	struct pool *p = coroi_alloc(sizeof *p + workers * sizeof p->local[0], COROI_APART);

	if (!p)
		return CORO_ENOMEM;
	p->workers = workers;
	p->ledger = coroi_ledger_new(o->buffer_limit);
	*coroi_service_state(s, &buffers_service) = p;
	return p->ledger ? CORO_OK : CORO_ENOMEM;
}

void coroi_buffers_sum(coro_scheduler *s, struct coroi_tally *out)
{
	struct coroi_tally sum = {0};
	struct pool *p = of(s);

	for (uint32_t i = 0; i < p->workers; i++) {
		const struct coroi_tally *t = &p->local[i].tally;
		sum.freed += at_load_acq(&t->freed);
		sum.bytes += at_load_rlx(&t->bytes);
		sum.made += at_load_rlx(&t->made);
	}
	coroi_ledger_sum(p->ledger, &sum);
	*out = sum;
}

static void buffers_stats(struct coro_scheduler *s, coro_stats *out)
{
	struct coroi_tally sum;

	coroi_buffers_sum(s, &sum);
	out->buffers_made = sum.made;
	out->buffers_freed = sum.freed;
	out->buffer_bytes = sum.bytes;
}

static void buffers_destroy(struct coro_scheduler *s)
{
	struct pool *p = of(s);

	if (!p)
		return;
	for (uint32_t i = 0; i < p->workers; i++) {
		struct local *own = &p->local[i];
		for (uint32_t class = 0; class < COROI_BUFFER_CLASSES; class ++)
			coroi_depot_give(own->list[class].first, class, own->list[class].count);
		if (p->ledger) {
			p->ledger->gone.made += own->tally.made;
			p->ledger->gone.freed += own->tally.freed;
			p->ledger->gone.bytes += own->tally.bytes;
		}
	}
	if (p->ledger)
		coroi_ledger_close(p->ledger);
	coroi_release(p);
	*coroi_service_state(s, &buffers_service) = NULL;
}

static struct coroi_service buffers_service = {
	.init = buffers_init,
	.stats = buffers_stats,
	.destroy = buffers_destroy,
};

__attribute__((constructor)) static void buffers_register(void)
{
	coroi_service_register(&buffers_service);
	coroi_carry = (struct coroi_carry){.pass = coroi_buffers_pass,
					   .unpass = coroi_buffers_unpass,
					   .drop = coroi_buffers_drop};
}
