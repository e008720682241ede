#include "bodies.h"

#include "coro_actor.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What a stage keeps. */
struct state {
	coro_actor next;
	struct totals totals;
};

/* soften - each pixel becomes a mean of its row's neighbours, in place. */
static void soften(uint8_t *pixels, struct image *i)
{
	for (uint8_t *row = pixels; row < pixels + i->width * i->height; row += i->width) {
		uint8_t before = row[0];
		for (uint32_t x = 0; x < i->width; x++) {
			uint8_t here = row[x], after = row[x + 1 < i->width ? x + 1 : x];
			row[x] = (uint8_t)((before + 2 * here + after) / 4);
			before = here;
		}
	}
}

/* halve - four pixels become one, at the front of the same memory. */
static void halve(uint8_t *pixels, struct image *i)
{
	uint32_t w = i->width / 2, h = i->height / 2;

	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++) {
			const uint8_t *p = pixels + 2 * y * i->width + 2 * x;
			pixels[y * w + x] = (uint8_t)((p[0] + p[1] + p[i->width] +
						       p[i->width + 1]) /
						      4);
		}
	i->width = w;
	i->height = h;
	(void)coro_buffer_resize(i->pixels, (size_t)w * h); /* smaller: it cannot fail */
}

static void add(const uint8_t *pixels, const struct image *i, struct totals *t)
{
	size_t n = (size_t)i->width * i->height;

	t->images++;
	t->bytes += n;
	for (size_t k = 0; k < n; k++)
		t->sum += pixels[k] * (i->number + 1);
}

/* pass_on - hand an image to the next stage. It is that one's then; if that one has ended it is
 * still ours. */
static void pass_on(const struct state *s, const struct image *i)
{
	if (coro_actor_send(s->next, IMAGE, i, sizeof *i))
		(void)coro_buffer_free(i->pixels);
}

static size_t softens(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	for (size_t k = 0; k < n; k++) {
		struct image i;
		memcpy(&i, m[k]->payload, sizeof i); /* its pixels are ours from now on */
		soften(coro_buffer_at(i.pixels, NULL), &i);
		pass_on(state, &i);
	}
	return n;
}

static size_t halves(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	(void)turn;
	for (size_t k = 0; k < n; k++) {
		struct image i;
		memcpy(&i, m[k]->payload, sizeof i);
		halve(coro_buffer_at(i.pixels, NULL), &i);
		pass_on(state, &i);
	}
	return n;
}

static size_t adds(coro_actor_turn *turn, void *state, coro_message *const *m, size_t n)
{
	struct state *s = state;

	(void)turn;
	for (size_t k = 0; k < n; k++) {
		struct image i;
		if (m[k]->kind == TOTALS) {
			(void)coro_message_answer(m[k], &s->totals, sizeof s->totals);
			continue;
		}
		memcpy(&i, m[k]->payload, sizeof i);
		add(coro_buffer_at(i.pixels, NULL), &i, &s->totals);
		(void)coro_buffer_free(i.pixels);
	}
	return n;
}

static void ends(void *state, int cause)
{
	(void)cause;
	free(state);
}

/* The word of a message that holds a buffer: what nobody handles is freed. */
#define PIXELS .buffers = (uint32_t)coro_buffer_word(offsetof(struct image, pixels))

static const coro_actor_kind kinds[] = {
	[SOFTEN] = {.size = sizeof *kinds, .behave = softens, .end = ends, PIXELS},
	[HALVE] = {.size = sizeof *kinds, .behave = halves, .end = ends, PIXELS},
	[ADD] = {.size = sizeof *kinds, .behave = adds, .end = ends, PIXELS},
};

/* open_stage - makes the actor of a stage. It ends with the scheduler. */
CORO_BODY(open_stage, struct stage, uint64_t, 0)
{
	struct state *s = calloc(1, sizeof *s);

	if (!s)
		coro_fail(1, "no memory");
	s->next = arg->next;
	int status = coro_actor_spawn(NULL, &kinds[arg->what], s, result);
	if (status) {
		free(s);
		coro_fail(status, "the stage cannot be opened");
	}
}
