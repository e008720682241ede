//go:build ignore
/* mode.c - see mode.h. */
#include "io/mode.h"

#include "base/sysio.h"

#define LINES 1024u

static struct line {
	struct coroi_lock lock;
	uint32_t first; /* the number of a descriptor, and 1; 0: none */
} lines[LINES];

static struct line *line_of(uint32_t file)
{
	return &lines[file % LINES];
}

/* other - a descriptor in the line with that mode, of the same description as fd. NULL: none. */
static struct coroi_slot *other(const struct line *l, int fd, uint32_t file, uint8_t mode)
{
	for (uint32_t i = l->first; i;) {
		struct coroi_slot *q = coroi_slot_at(i - 1);
		if (q->file == file && at_load_rlx(&q->mode) == mode &&
		    coroi_same_description((int)(i - 1), fd))
			return q;
		i = q->next;
	}
	return NULL;
}

int coroi_mode_begin(struct coroi_slot *p, int fd, uint32_t file)
{
	struct line *l = line_of(file);
	uint8_t mode = COROI_MODE_PLAIN;

	coroi_lock(&l->lock); /* MOD1 */
	int was = coroi_set_nonblocking(fd, true);
	if (was == 0)
		mode = COROI_MODE_OWES;
	else if (was > 0 && other(l, fd, file, COROI_MODE_OWES))
		mode = COROI_MODE_SHARES;
	if (mode != COROI_MODE_PLAIN) {
		p->file = file;
		p->next = l->first;
		l->first = (uint32_t)fd + 1;
	}
	at_store_rlx(&p->mode, mode);
	coroi_unlock(&l->lock);
	return was < 0 ? was : 0;
}

static void leave_line(struct line *l, const struct coroi_slot *p, int fd)
{
	uint32_t *at = &l->first;

	while (*at != (uint32_t)fd + 1)
		at = &coroi_slot_at(*at - 1)->next;
	*at = p->next;
}

void coroi_mode_end(struct coroi_slot *p, int fd)
{
	/* relaxed: it becomes plain, or something else, by its owner alone */
	if (at_load_rlx(&p->mode) == COROI_MODE_PLAIN)
		return;
	struct line *l = line_of(p->file);
	coroi_lock(&l->lock); /* MOD2 */
	leave_line(l, p, fd);
	if (at_load_rlx(&p->mode) == COROI_MODE_OWES) {
		struct coroi_slot *q = other(l, fd, p->file, COROI_MODE_SHARES);
		if (q)
			at_store_rlx(&q->mode, COROI_MODE_OWES);
		else
			(void)coroi_set_nonblocking(fd, false);
	}
	coroi_unlock(&l->lock);
}
