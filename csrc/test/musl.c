/*
 * musl.c - what the tests need where Debian's musl-gcc links them: the libgcc there is that of
 * glibc, whose unwinder asks _dl_find_object for the unwind table of an address. musl has no such
 * function, and musl's own libgcc asks dl_iterate_phdr, as this one does.
 */
#include <link.h>
#include <stdint.h>

#ifndef __GLIBC__

/* As the ABI of libgcc has it (struct dl_find_object). */
struct found {
	unsigned long long flags;
	void *map_start, *map_end, *link_map, *eh_frame;
	unsigned long long reserved[7];
};

struct asked {
	uintptr_t pc;
	struct found *found;
};

static int looks(struct dl_phdr_info *object, size_t bytes, void *arg)
{
	struct asked *a = arg;
	uintptr_t table = 0, start = 0, end = 0;

	(void)bytes;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_GNU_EH_FRAME)
			table = at;
		if (p->p_type == PT_LOAD && at <= a->pc && a->pc < at + p->p_memsz) {
			start = at;
			end = at + p->p_memsz;
		}
	}
	if (!start || !table)
		return 0;
	*a->found = (struct found){
		.map_start = (void *)start, .map_end = (void *)end, .eh_frame = (void *)table};
	return 1;
}

int _dl_find_object(void *pc, struct found *found);

int _dl_find_object(void *pc, struct found *found)
{
	struct asked a = {(uintptr_t)pc, found};

	return dl_iterate_phdr(looks, &a) ? 0 : -1;
}

#endif
