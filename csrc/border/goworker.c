//go:build ignore
/* goworker.c - see goworker.h. */
#include "border/goworker.h"
#include "border/state.h"

#include "kernel/carry.h"
#include "kernel/door.h"
#include "kernel/idle.h"
#include "base/sys.h"
#include "kernel/wait.h"

#include <string.h>

/* take_wake - WKC3 to WKC5 of wait.c. False: the remote wake brings nothing for a coroutine of the
 * goworker. */
static bool take_wake(struct coroi_worker *goworker, struct coroi_rec *r,
		      struct coroi_goworker_item *item)
{
	uint16_t home = at_load_acq(&r->home);

	/* The record is another's by now, which is at home elsewhere. */
	if ((at_load_acq(&r->wake) & COROI_ESCAPED) && home != goworker->id) {
		coroi_inbox_push(&goworker->sched->worker[home], (uintptr_t)r | COROI_NODE_WAKE);
		coroi_notify_pushed(&goworker->sched->worker[home]);
		return false;
	}
	uint64_t word = at_and(&r->wake, ~COROI_WAKE_MASK);
	at_bump(&goworker->count.remote_wakes);
	if (!(word & COROI_ESCAPED)) {
		coroi_put(r);
		return false;
	}
	/* The coroutine may end at this moment, on one of Go's threads: the receiver of the item
	 * looks at the handle. */
	*item = (struct coroi_goworker_item){
		.kind = word & COROI_EVENT ? COROI_GOWORKER_EVENT : COROI_GOWORKER_WAKE,
		.n = (uint32_t)(word & COROI_COUNT_MASK),
		.canceled = (word & COROI_CANCEL) != 0,
		.handle = (uint64_t)coroi_gen(word) << COROI_GEN_SHIFT | coroi_index(r),
	};
	return true;
}

uint32_t coroi_goworker_take(struct coroi_worker *goworker, struct coroi_goworker_item *items,
			     uint32_t cap)
{
	uint32_t n = 0;

	if (!goworker->undelivered.first)
		at_store_rlx(&goworker->undelivered.first, coroi_inbox_take(goworker));
	for (uint64_t node; n < cap && (node = goworker->undelivered.first);) {
		struct coroi_rec *r = coroi_node_of(node);
		at_store_rlx(&goworker->undelivered.first, *coroi_node_link(node));
		if ((node & COROI_NODE_KIND) == COROI_NODE_WAKE) {
			n += take_wake(goworker, r, &items[n]);
			continue;
		}
		at_bump(&goworker->spawned);
		if (coroi_unlikely(r->more & COROI_M_DAEMON))
			coroi_count_daemon(goworker);
		items[n++] = (struct coroi_goworker_item){
			.kind = COROI_GOWORKER_START,
			.body = (uint32_t)(uintptr_t)r->stack,
			.handle = coroi_handle(r),
			.rec = r,
		};
	}
	return n;
}

void coroi_goworker_end(struct coroi_worker *goworker, struct coroi_rec *r, uint8_t flags)
{
	coroi_flag(r, flags);
	if (coroi_unlikely(coroi_carries(r) && (flags & COROI_F_CANCELED)))
		coroi_carry_drop_argument(r);
	coroi_end_outside(goworker->sched, r);
}

/* ------------------------------------------------------------------------ started by C bodies */

/* What is known of each Go body, by number: argument's buffers << BODY_BUFFERS | BODY_CARRIES |
 * BODY_KNOWN | argument bytes << 8 | result bytes. The pages are never freed. */
#define BODY_KNOWN   (UINT32_C(1) << 16)
#define BODY_CARRIES (UINT32_C(1) << 17)
#define BODY_BUFFERS 18
#define BODY_PAGE    1024
#define BODY_PAGES   1024
static uint32_t *bodies[BODY_PAGES]; /* atomic, as are the words in the pages */

int coroi_goworker_body(uint32_t id, uint8_t arg_bytes, uint8_t result_bytes, uint8_t arg_buffers,
			uint8_t result_buffers)
{
	uint32_t n = id & ~COROI_GO_BODY, word = BODY_KNOWN;

	if (n / BODY_PAGE >= BODY_PAGES)
		return CORO_ENOMEM;
	if (arg_buffers | result_buffers) {
		if (coroi_carry_declare(coroi_carry_body(id), arg_buffers, result_buffers))
			return CORO_ENOMEM;
		word |= BODY_CARRIES | (uint32_t)arg_buffers << BODY_BUFFERS;
	}
	uint32_t *page = at_load_rlx(&bodies[n / BODY_PAGE]);
	if (!page) {
		page = coroi_alloc(BODY_PAGE * sizeof *page, sizeof *page);
		if (!page)
			return CORO_ENOMEM;
		memset(page, 0, BODY_PAGE * sizeof *page);
		/* release, pairs with body_of: the zeros are seen */
		at_store_rel(&bodies[n / BODY_PAGE], page);
	}
	/* release, pairs with body_of: what Go has noted under the id before is seen by the code
	 * that starts the body */
	at_store_rel(&page[n % BODY_PAGE], word | (uint32_t)arg_bytes << 8 | result_bytes);
	return CORO_OK;
}

/* body_of - the word of a Go body. 0: id names none. */
static uint32_t body_of(coro_go_id id)
{
	uint32_t n = id & ~COROI_GO_BODY;

	if (!(id & COROI_GO_BODY) || n / BODY_PAGE >= BODY_PAGES)
		return 0;
	uint32_t *page = at_load_acq(&bodies[n / BODY_PAGE]);
	return page ? at_load_acq(&page[n % BODY_PAGE]) : 0;
}

/* start - coro_spawn_go on w, of a body whose word that is. */
static int start(struct coroi_worker *w, coro_go_id id, uint32_t body, const void *arg,
		 size_t arg_bytes, coro_handle *out)
{
	struct coroi_rec *r = NULL;

	coroi_door_enter(w);
	/* without a record: records were retired meanwhile */
	if (coroi_mags_spend(&w->mags) && !(r = coroi_mags_get(&w->mags)))
		coroi_mags_earn(&w->mags);
	coroi_door_leave(w);
	if (!r)
		return CORO_ENOMEM;
	struct coroi_worker *goworker = coroi_threadless(w->sched);
	struct coroi_fill q = {.flags = COROI_F_JOINABLE,
			       .arg_bytes = (uint8_t)arg_bytes,
			       .result_bytes = (uint8_t)body};
	coroi_fill(r, &q, goworker->id);
	coroi_fill_argument(r, arg, arg_bytes);
	if (coroi_unlikely(body & BODY_CARRIES))
		coroi_carry_mark(r);
	r->stack = (struct coroi_stack *)(uintptr_t)id;
	uint64_t word = at_load_rlx(&r->wake);
	uint64_t join = out ? coroi_join_word(coroi_gen(word), COROI_JOIN_NOBODY, 0)
			    : coroi_join_word(coroi_gen(word), COROI_JOIN_FINAL,
					      COROI_FINAL_DETACHED);
	at_store_rlx(&coroi_cold(r)->join, join);
	/* The handle counts as known: the body can always ask for it. Release, as in
	 * coroi_escape. */
	at_store_rel(&r->wake, word | COROI_ESCAPED);
	if (out)
		*out = coroi_handle(r);
	coroi_inbox_push(goworker, (uintptr_t)r | COROI_NODE_SPAWN);
	coroi_notify_pushed(goworker);
	return CORO_OK;
}

/* start_carrying - the buffers in the argument pass to the coroutine that starts, or stay. */
static COROI_COLD int start_carrying(struct coroi_worker *w, coro_go_id id, uint32_t body,
				     const void *arg, size_t arg_bytes, coro_handle *out)
{
	uint64_t copy[CORO_INLINE_BYTES / 8] = {0};
	uint32_t buffers = body >> BODY_BUFFERS;

	if (arg_bytes)
		memcpy(copy, arg, arg_bytes);
	int status = coroi_carry.pass(copy, buffers);
	if (status)
		return status;
	if ((status = start(w, id, body, copy, arg_bytes, out)))
		coroi_carry.unpass(copy, buffers);
	return status;
}

int coro_spawn_go(coro_go_id id, const void *arg, size_t arg_bytes, coro_handle *out)
{
	struct coroi_worker *w = coroi_self();
	uint32_t body = body_of(id);

	if (!w || !w->current)
		return CORO_EPERM;
	if (!body || arg_bytes != (body >> 8 & 0xff) || (arg_bytes && !arg) ||
	    !coroi_border(w->sched)->bell.go_id)
		return CORO_EINVAL;
	return coroi_unlikely(body & BODY_CARRIES)
		       ? start_carrying(w, id, body, arg, arg_bytes, out)
		       : start(w, id, body, arg, arg_bytes, out);
}
