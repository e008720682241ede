//go:build cgo && linux
/* lane.c - see lane.h. */
#include "lane.h"

#include "idle.h"
#include "wait.h"

/* take_mail - W3 to W5 of wait.c. False: nothing for a coroutine of the lane. */
static bool take_mail(struct coroi_worker *lane, struct coroi_rec *r, struct coroi_lane_item *item)
{
	uint16_t home = at_load_acq(&r->home);

	if ((at_load_acq(&r->wake) & COROI_ESCAPED) && home != lane->id) { /* another's by now */
		coroi_inbox_push(&lane->sched->worker[home], (uintptr_t)r | COROI_NODE_MAIL);
		coroi_idle_pushed(&lane->sched->worker[home]);
		return false;
	}
	/* Read before the word is cleared: until then it is a node, and stays what it is. */
	uint32_t slot = (uint32_t)(uintptr_t)r->stack;
	uint64_t word = at_and(&r->wake, ~COROI_MAIL_MASK);
	at_bump(&lane->mails);
	if (!(word & COROI_ESCAPED)) {
		coroi_put(r);
		return false;
	}
	/* It may end at this moment, on one of Go's threads: whoever gets the item looks at the handle. */
	*item = (struct coroi_lane_item){
		.kind = word & COROI_EVENT ? COROI_LANE_EVENT : COROI_LANE_WAKE,
		.n = (uint32_t)(word & COROI_COUNT_MASK),
		.slot = slot,
		.canceled = (word & COROI_CANCEL) != 0,
		.handle = (uint64_t)coroi_gen(word) << COROI_GEN_SHIFT | coroi_index(r),
	};
	return true;
}

uint32_t coroi_lane_take(struct coroi_worker *lane, struct coroi_lane_item *items, uint32_t cap)
{
	uint32_t n = 0;

	if (!lane->unopened)
		at_store_rlx(&lane->unopened, coroi_inbox_take(lane));
	for (uint64_t node; n < cap && (node = lane->unopened);) {
		struct coroi_rec *r = coroi_node_of(node);
		at_store_rlx(&lane->unopened, *coroi_node_link(node));
		if ((node & COROI_NODE_KIND) == COROI_NODE_MAIL) {
			n += take_mail(lane, r, &items[n]);
			continue;
		}
		at_bump(&lane->spawned);
		items[n++] = (struct coroi_lane_item){
			.kind = COROI_LANE_START,
			.slot = (uint32_t)(uintptr_t)r->stack,
			.handle = coroi_handle(r),
		};
	}
	return n;
}

void coroi_lane_end(struct coroi_worker *lane, struct coroi_rec *r, uint8_t flags)
{
	r->flags |= flags;
	coroi_end_outside(lane->sched, r);
}
