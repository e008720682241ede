//go:build ignore
/*
 * sendcase.c - buffers in the values that a select sends.
 *
 * All of them pass (BUF2 of buffer/buffer.h) before the select looks at a channel, in copies of the
 * values: so the receiver of a value, at once or out of a queue, gets new handles. Those of the
 * cases that were not done are taken back afterwards, when no thread looks at the copies any more.
 * Several cases may send one buffer, since one case at most is done. It passes once, and each copy
 * has the new handle.
 */
#include "sync/select.h"

#include "base/sys.h"
#include "buffer/buffer.h"
#include "sync/chan.h"

#include <string.h>

/* A buffer that has passed: the caller's handle, and that in the copies. */
struct sent {
	uint64_t was, now;
};

/* The copy of the value of one case. The channel may be gone by the time that the case is done. */
struct copied {
	uint64_t *at;     /* NULL: it has no buffers */
	uint64_t buffers; /* which words are some */
};

struct passing {
	coro_case *cases; /* copies, with the copied values */
	struct copied *value;
	struct sent *sent;
	uint32_t n, count; /* cases; buffers that have passed */
};

static inline bool sends_buffers(const coro_case *k)
{
	return !k->direction && k->send && k->chan && k->chan->buffers;
}

bool coroi_select_sends_buffers(const coro_case *cases, uint32_t n)
{
	if (cases && n <= CORO_CASES_MAX)
		for (uint32_t i = 0; i < n; i++)
			if (sends_buffers(&cases[i]))
				return true;
	return false;
}

/* new_passing - NULL: no memory. It is one block. */
static struct passing *new_passing(const coro_case *cases, uint32_t n)
{
	size_t words = 0; /* of the values, and so many buffers at most */

	for (uint32_t i = 0; i < n; i++)
		if (sends_buffers(&cases[i]))
			words += (cases[i].chan->bytes + 7) / 8;
	struct passing *p = coroi_alloc(sizeof *p + n * (sizeof *p->cases + sizeof *p->value) +
						words * (sizeof *p->sent + sizeof *p->value->at),
					_Alignof(struct passing));
	if (!p)
		return NULL;
	*p = (struct passing){.cases = (coro_case *)(p + 1), .n = n};
	p->value = (struct copied *)(p->cases + n);
	p->sent = (struct sent *)(p->value + n);
	uint64_t *at = (uint64_t *)(p->sent + words);
	memcpy(p->cases, cases, n * sizeof *cases);
	for (uint32_t i = 0; i < n; i++) {
		p->value[i] = (struct copied){0};
		if (!sends_buffers(&cases[i]))
			continue;
		p->value[i] = (struct copied){at, cases[i].chan->buffers};
		memcpy(at, cases[i].send, cases[i].chan->bytes);
		p->cases[i].send = at;
		at += (cases[i].chan->bytes + 7) / 8;
	}
	return p;
}

static bool has(const struct copied *v, uint64_t id)
{
	for (uint64_t left = v->buffers; left; left &= left - 1)
		if (v->at[__builtin_ctzll(left)] == id)
			return true;
	return false;
}

/* pass_value - BUF2 of the buffers of one value; those that others have too have passed. */
static int pass_value(struct passing *p, const struct copied *v)
{
	uint32_t others = p->count;

	for (uint64_t left = v->buffers; left; left &= left - 1) {
		uint64_t *word = &v->at[__builtin_ctzll(left)], was = *word;
		uint32_t i = 0;
		if (!was)
			continue;
		while (i < others && p->sent[i].was != was)
			i++;
		if (i < others) {
			if (has(v, p->sent[i].now)) /* twice in one value */
				return CORO_ESTALE;
			*word = p->sent[i].now;
			continue;
		}
		int status = coroi_buffers_pass(word, 1);
		if (status)
			return status;
		p->sent[p->count++] = (struct sent){was, *word};
	}
	return CORO_OK;
}

static int pass_all(struct passing *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		int status = pass_value(p, &p->value[i]);
		if (status)
			return status;
	}
	return CORO_OK;
}

/* take_back - what is not in the value `but`, which was sent; NULL: none was. */
static void take_back(struct passing *p, const struct copied *but)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (!but || !has(but, p->sent[i].now))
			coroi_buffers_unpass(&p->sent[i].now, 1);
}

COROI_COLD int coroi_select_passing(coro_case *cases, uint32_t n, uint64_t deadline)
{
	struct passing *p = new_passing(cases, n);

	if (!p)
		return CORO_ENOMEM;
	int done = pass_all(p);
	if (!done)
		done = coroi_select_passed(p->cases, n, deadline);
	bool sent = false;
	if (done >= 0) {
		cases[done].status = p->cases[done].status;
		sent = cases[done].status == CORO_OK;
	}
	take_back(p, sent ? &p->value[done] : NULL);
	coroi_release(p);
	return done;
}
