//go:build ignore
/* body.c - see body.h. */
#include "base/body.h"

#include "base/frames.h"

#include <link.h>

struct place {
	uintptr_t address;
	uint32_t flags; /* of the segment */
	size_t left;    /* bytes to the segment's end; 0: the address is in none */
};

/* visit_object - is the address in a segment of this object? */
static int visit_object(struct dl_phdr_info *object, size_t bytes, void *to)
{
	struct place *place = to;
	(void)bytes;

	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t offset = place->address - (object->dlpi_addr + segment->p_vaddr);
		if (segment->p_type != PT_LOAD || offset >= segment->p_memsz)
			continue;
		place->flags = segment->p_flags;
		place->left = segment->p_memsz - offset;
		return 1;
	}
	return 0;
}

enum coroi_body_kind coroi_body_look(const void *p, struct coro_body_desc *out)
{
	struct place place = {.address = (uintptr_t)p};

	dl_iterate_phdr(visit_object, &place);
	if (!place.left || place.flags & PF_X)
		return COROI_BODY_FUNCTION;
	if (!(place.flags & PF_R) || place.left < sizeof *out ||
	    place.address % _Alignof(struct coro_body_desc))
		return COROI_BODY_NEITHER;
	/* A variable of another kind may be smaller; a sanitizer would tell of that. */
	coroi_frames_copy(out, p, sizeof *out);
	return out->magic == CORO_BODY_MAGIC ? COROI_BODY_DESCRIBED : COROI_BODY_NEITHER;
}
