//go:build ignore
/* fd.c - see fd.h: FDC1, FDC4 to FDC7, FDS2 and FDS3, events, moving, closing. transfer.c has FDC2
 * and FDC3, source.c what a select does. */
#include "io/fd.h"

#include "base/sys.h"
#include "base/sysio.h"
#include "io/mode.h"
#include "io/set.h"
#include "sync/source.h"

#include <errno.h>

#define END_NAP_NS 100000 /* from look to look of a scheduler's end at closes under way */

static uint64_t generation(uint64_t word)
{
	return word >> COROI_FD_GEN_SHIFT;
}

static coro_fd name_of(uint64_t word, int fd)
{
	return generation(word) << COROI_FD_GEN_SHIFT | (uint32_t)fd;
}

/* named - the slot that f names, and its word. NULL: f was never a coro_fd. */
static struct coroi_slot *named(coro_fd f, uint64_t *word)
{
	struct coroi_slot *p = coroi_slot_at((uint32_t)f);

	if (p)
		*word = at_load_acq(
			&p->word); /* pairs with adopt's store: what is set before OPEN */
	return p;
}

static bool is_open(coro_fd f, uint64_t word)
{
	return generation(word) == generation(f) && word & COROI_FD_OPEN;
}

/* ---------------------------------------------------------------------------- entering, leaving */

static int may_enter(coro_fd f, uint64_t word, uint64_t use)
{
	if (!is_open(f, word))
		return CORO_ESTALE;
	if (word & COROI_FD_CLOSING)
		return CORO_ECLOSED;
	bool taken = use == COROI_FD_REFERENCE ? (~word & COROI_FD_REFERENCES) == 0 : word & use;
	return taken ? CORO_EBUSY : CORO_OK;
}

int coroi_fd_enter(coro_fd f, uint64_t use, struct coroi_slot **out)
{
	uint64_t word;
	struct coroi_slot *p = named(f, &word);
	int status;

	if (!p)
		return CORO_ESTALE;
	do
		if ((status = may_enter(f, word, use)))
			return status;
	while (!at_cas(&p->word, &word, word + use)); /* the bit of a direction is 0 */
	*out = p;
	return CORO_OK;
}

int coroi_fd_enter_here(coro_fd f, uint64_t use, struct coroi_slot **out)
{
	struct coroi_worker *w = coroi_self();
	int status;

	if (!coroi_current(w))
		return CORO_EPERM;
	if ((status = coroi_fd_enter(f, use, out)))
		return status;
	if (coroi_likely((*out)->sched == coroi_scheduler_of(w)))
		return CORO_OK;
	coroi_fd_leave(*out, f, use);
	return CORO_EPERM;
}

/* free_slot - the number's slot is for its next generation. */
static void free_slot(struct coroi_slot *p, coro_fd f)
{
	uint64_t next = (uint32_t)(generation(f) + 1);

	/* a release: who adopts the number next finds the slot as it was left */
	at_store_rel(&p->word, (next ? next : 1) << COROI_FD_GEN_SHIFT);
}

/* take_out - remove the descriptor from its set, and from its scheduler's count. Nobody uses the
 * slot. */
static void take_out(struct coroi_slot *p, coro_fd f)
{
	struct coro_scheduler *s = p->sched;

	uint16_t set = at_load_rlx(&p->set);

	if (set) {
		coroi_set_forget(coroi_worker_at(s, set - 1u), f);
		at_store_rlx(&p->set, 0);
	}
	/* the last touch of the scheduler: coroi_fd_end waits for it */
	at_add(&coroi_set_refusal(s)->adopted, -1);
}

/* finish - FDX3, for the last user. */
static COROI_COLD void finish(struct coroi_slot *p, coro_fd f)
{
	int fd = coroi_fd_number(f);
	bool keep = p->keep;

	take_out(p, f);
	coroi_mode_end(p, fd);
	free_slot(p, f);
	if (!keep)
		coroi_close(fd);
}

void coroi_fd_leave(struct coroi_slot *p, coro_fd f, uint64_t use)
{
	/* acquire and release: the last one sees what the others have done with the descriptor */
	uint64_t left = at_add(&p->word, -use);

	if (coroi_unlikely(left & COROI_FD_CLOSING) && !(left & COROI_FD_USERS))
		finish(p, f);
}

/* ---------------------------------------------------------------------------- waiting, moving */

/* into_set - add the descriptor to w's set, and remove it from the one in which it was. Returns: 0
 * or -errno. */
static int into_set(struct coroi_slot *p, coro_fd f, struct coroi_worker *w)
{
	uint16_t old, own = (uint16_t)(coroi_worker_id(w) + 1);
	int status = 0;

	coroi_lock(&p->lock); /* FDM1 */
	old = p->set;
	if (old != own && !(status = coroi_set_watch(w, f))) { /* FDM2 */
		if (old)
			coroi_set_forget(coroi_worker_at(p->sched, old - 1u), f);
		at_store_rlx(&p->set, own); /* FDM3 */
	}
	at_store_rlx(&p->strays, 0);
	coroi_unlock(&p->lock);
	/* It stays where it was. */
	return old ? 0 : status;
}

int coroi_fd_watch(struct coroi_slot *p, coro_fd f, struct coroi_worker *w)
{
	uint16_t set = at_load_rlx(&p->set); /* its worker is a hint, 0 is none: M corrects both */

	if (coroi_likely(set == coroi_worker_id(w) + 1))
		return 0;
	if (set && !at_load_rlx(&p->strays)) {
		at_store_rlx(&p->strays, 1);
		return 0;
	}
	return into_set(p, f, w);
}

bool coroi_fd_withdraw(void *arg)
{
	const struct coroi_fd_waiter *x = arg;
	uint64_t me = (uintptr_t)x->me;

	return at_cas(x->direction, &me, COROI_FD_EMPTY);
}

/* --------------------------------------------------------------------------------------- events */

/* put_at_case - FDS2 and FDS3. Returns: true, and *rec, the record to which the event is to be
 * sent, or NULL; false: no case is there any more. */
static COROI_COLD bool put_at_case(struct coroi_slot *p, uint64_t *direction, uint64_t state,
				   struct coroi_rec **rec)
{
	coroi_lock(&p->lock); /* FDS2 */
	uint64_t was = at_load_acq(direction);
	bool there = was & COROI_FD_SELECT;
	if (there) {
		const struct coroi_case *x = (void *)(uintptr_t)(was & ~(uint64_t)COROI_FD_SELECT);
		at_store_rel(direction, state);
		*rec = coroi_case_take(x) ? x->me : NULL; /* FDS3 */
	}
	coroi_unlock(&p->lock);
	return there;
}

/* put - what is there in a direction becomes `state`, unless that is CLOSED. Returns: the record
 * that was there, or of the case that was chosen; or NULL. */
static struct coroi_rec *put(struct coroi_slot *p, uint64_t *direction, uint64_t state)
{
	uint64_t was = at_load_rlx(direction);
	struct coroi_rec *rec;

	do {
		if (was == COROI_FD_CLOSED)
			return NULL;
		while (coroi_unlikely(was & COROI_FD_SELECT)) {
			if (put_at_case(p, direction, state, &rec))
				return rec;
			was = at_load_rlx(direction);
		}
	} while (!at_cas(direction, &was, state));
	return was > COROI_FD_CLOSED ? (struct coroi_rec *)(uintptr_t)was : NULL;
}

#define HUNG (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

/* event - FDE1 to FDE4 without the sending. rec has room for two. Returns: the number of
 * records. */
static uint32_t event(const struct epoll_event *e, struct coroi_rec **rec)
{
	uint64_t word;
	coro_fd f = e->data.u64;
	struct coroi_slot *p = named(f, &word);
	uint32_t n = 0;

	if (!p || !is_open(f, word)) /* FDE1 */
		return 0;
	if (e->events & HUNG)
		at_or(&p->hung, e->events & HUNG);                                        /* FDE2 */
	if (e->events & ~(uint32_t)EPOLLOUT && (rec[n] = put(p, &p->in, COROI_FD_READY))) /* FDE3 */
		n++;
	if (e->events & (EPOLLOUT | EPOLLHUP | EPOLLERR) &&
	    (rec[n] = put(p, &p->out, COROI_FD_READY)))
		n++;
	return n;
}

bool coroi_fd_events(const struct epoll_event *e, uint32_t n)
{
	struct coroi_rec *rec[2 * COROI_FD_EVENTS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += event(&e[i], &rec[count]);
	if (count)
		coroi_events_send(rec, count); /* FDE4 */
	return count;
}

static void poke(coro_fd f, uint64_t use, bool ends)
{
	struct coroi_slot *p;
	struct coroi_rec *rec;

	if (coroi_fd_enter(f, COROI_FD_REFERENCE, &p))
		return;
	if (ends)
		at_or(&p->hung, COROI_FD_ENDS); /* as FDE2, before FDE3 */
	if ((rec = put(p, coroi_fd_direction(p, use), COROI_FD_READY)))
		coroi_events_send(&rec, 1);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE);
}

void coroi_fd_poke(coro_fd f, uint64_t use)
{
	poke(f, use, false);
}

void coroi_fd_poke_end(coro_fd f)
{
	poke(f, COROI_FD_IN_USE, true);
}

/* ---------------------------------------------------------------------------- adopting, closing */

/* reserve - the slot of a number that is not adopted is the caller's. */
static int reserve(struct coroi_slot *p, uint64_t *word)
{
	*word = at_load_rlx(&p->word);
	do
		if (*word & (COROI_FD_OPEN | COROI_FD_ADOPTING))
			return CORO_EBUSY;
	while (!at_cas(&p->word, word, *word | COROI_FD_ADOPTING)); /* pairs with free_slot */
	if (!generation(*word))
		*word = UINT64_C(1) << COROI_FD_GEN_SHIFT;
	return CORO_OK;
}

/* publish - the slot is the scheduler's descriptor now, unless that is closing. */
static int publish(struct coro_scheduler *s, struct coroi_slot *p, uint64_t word)
{
	struct coroi_refusal *r = coroi_set_refusal(s);
	int status = CORO_ECLOSED;

	if (!r)
		return status;
	coroi_lock(&r->lock);
	if (!r->refuses) {
		at_add(&r->adopted, 1);
		at_store_rel(&p->word, word | COROI_FD_OPEN); /* pairs with named */
		status = CORO_OK;
	}
	coroi_unlock(&r->lock);
	return status;
}

/* clear - the slot is that of a descriptor which nobody has used yet. */
static void clear(struct coroi_slot *p, struct coro_scheduler *s, uint8_t kind, bool keep)
{
	at_store_rlx(&p->in, COROI_FD_EMPTY);
	at_store_rlx(&p->out, COROI_FD_EMPTY);
	at_store_rlx(&p->hung, 0);
	at_store_rlx(&p->set, 0);
	at_store_rlx(&p->sched, s); /* coroi_fd_end of another scheduler may look */
	at_store_rlx(&p->strays, 0);
	at_store_rlx(&p->no_nowait, 0);
	at_store_rlx(&p->mode, COROI_MODE_PLAIN);
	p->kind = kind;
	p->drained = false;
	p->keep = keep;
}

int coroi_fd_adopted(coro_fd *out, int fd, uint8_t kind)
{
	struct coro_scheduler *s = coroi_scheduler_of(coroi_self());
	struct coroi_slot *p = coroi_slot_for((uint32_t)fd);
	uint64_t word;

	if (!p)
		return CORO_ENOMEM;
	int status = reserve(p, &word);
	if (status)
		return status;
	clear(p, s, kind, false);
	status = publish(s, p, word);
	if (status)
		at_store_rel(&p->word, word);
	else
		*out = name_of(word, fd);
	return status;
}

/* begin - what is before the slot p, which is reserved, can be published. */
static int begin(struct coro_scheduler *s, struct coroi_slot *p, int fd, bool keep)
{
	uint32_t file;
	int kind = coroi_kind(fd, &file);

	if (kind < 0)
		return CORO_OF_ERRNO(-kind);
	clear(p, s, (uint8_t)kind, keep);
	int status = kind == COROI_KIND_FILE ? 0 : coroi_mode_begin(p, fd, file);
	return status ? CORO_OF_ERRNO(-status) : CORO_OK;
}

int coro_scheduler_adopt(coro_scheduler *s, coro_fd *out, int fd, uint32_t flags)
{
	uint64_t word;

	if (!s || !out || flags & ~CORO_FD_KEEP)
		return CORO_EINVAL;
	if (fd < 0)
		return CORO_OF_ERRNO(EBADF);
	struct coroi_slot *p = coroi_slot_for((uint32_t)fd);
	if (!p)
		return CORO_ENOMEM;
	int status = reserve(p, &word);
	if (status)
		return status;
	status = begin(s, p, fd, flags & CORO_FD_KEEP);
	if (!status && (status = publish(s, p, word)))
		coroi_mode_end(p, fd);
	if (status)
		at_store_rel(&p->word, word);
	else
		*out = name_of(word, fd);
	return status;
}

int coro_fd_adopt(coro_fd *out, int fd, uint32_t flags)
{
	struct coroi_worker *w = coroi_self();

	if (!coroi_current(w))
		return CORO_EPERM;
	return coro_scheduler_adopt(coroi_scheduler_of(w), out, fd, flags);
}

int coro_fd_release(coro_fd f, int *fd)
{
	uint64_t word;
	struct coroi_slot *p = named(f, &word);

	if (!fd)
		return CORO_EINVAL;
	if (!p)
		return CORO_ESTALE;
	/* as FDX1, but only without users: CLOSING keeps others out */
	do {
		if (!is_open(f, word))
			return CORO_ESTALE;
		if (word & COROI_FD_CLOSING)
			return CORO_ECLOSED;
		if (word & COROI_FD_USERS)
			return CORO_EBUSY;
	} while (!at_cas(&p->word, &word, word | COROI_FD_CLOSING));
	*fd = coroi_fd_number(f);
	take_out(p, f);
	coroi_mode_end(p, *fd);
	free_slot(p, f);
	return CORO_OK;
}

int coro_fd_close(coro_fd f)
{
	struct coroi_rec *rec[2];
	uint64_t word;
	uint32_t n = 0;
	struct coroi_slot *p = named(f, &word);

	if (!p)
		return CORO_ESTALE;
	do { /* FDX1 */
		if (!is_open(f, word))
			return CORO_ESTALE;
		if (word & COROI_FD_CLOSING)
			return CORO_ECLOSED;
		if ((~word & COROI_FD_REFERENCES) == 0)
			return CORO_EBUSY;
	} while (!at_cas(&p->word, &word, (word | COROI_FD_CLOSING) + COROI_FD_REFERENCE));
	if ((rec[n] = put(p, &p->in, COROI_FD_CLOSED))) /* FDX2 */
		n++;
	if ((rec[n] = put(p, &p->out, COROI_FD_CLOSED)))
		n++;
	coroi_events_send(rec, n);
	coroi_fd_leave(p, f, COROI_FD_REFERENCE); /* FDX3 */
	return CORO_OK;
}

int coro_fd_number(coro_fd f)
{
	uint64_t word;

	return named(f, &word) && is_open(f, word) ? coroi_fd_number(f) : CORO_ESTALE;
}

void coroi_fd_end(struct coro_scheduler *s)
{
	uint32_t *adopted = &coroi_set_refusal(s)->adopted, left;

	for (uint32_t i = 0; i < COROI_SLOT_CHUNKS && at_load_seq(adopted); i++) {
		struct coroi_slot *chunk = at_load_acq(&coroi_slots[i]);
		for (uint32_t k = 0; chunk && k < COROI_SLOT_CHUNK; k++) {
			uint64_t word = at_load_acq(&chunk[k].word);
			if (word & COROI_FD_OPEN && at_load_rlx(&chunk[k].sched) == s)
				(void)coro_fd_close(name_of(word, (int)(i * COROI_SLOT_CHUNK + k)));
		}
	}
	while ((left = at_load_seq(adopted))) /* other threads close them just now */
		coroi_futex_wait(adopted, left, END_NAP_NS);
}
