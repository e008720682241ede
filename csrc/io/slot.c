//go:build ignore
/* slot.c - see slot.h. */
#include "io/slot.h"

#include "base/sys.h"

struct coroi_slot *coroi_slots[COROI_SLOT_CHUNKS];

struct coroi_slot *coroi_slot_for(uint32_t number)
{
	uint32_t i = number / COROI_SLOT_CHUNK;
	struct coroi_slot *none = NULL;

	if (i >= COROI_SLOT_CHUNKS || coroi_slot_at(number))
		return coroi_slot_at(number);
	struct coroi_slot *chunk = coroi_alloc(COROI_SLOT_CHUNK * sizeof *chunk, sizeof *chunk);
	if (chunk && !at_cas(&coroi_slots[i], &none, chunk))
		coroi_release(chunk); /* another thread was first */
	return coroi_slot_at(number);
}
