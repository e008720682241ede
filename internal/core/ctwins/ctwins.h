/*
 * ctwins.h - see ctwins.go.
 */
#ifndef CTWINS_H
#define CTWINS_H

#include <stddef.h>
#include <stdint.h>

/* A scheduler without threads, its workers, and a record in a chunk. */
struct ctwins_world {
	void *scheduler, *workers, *record;
};

/* ctwins_world - zeros, but for what points from one to another. It is never freed. */
struct ctwins_world ctwins_world(uint32_t workers);

void ctwins_push(void *worker, uint64_t node);
void ctwins_notify(void *worker);
void ctwins_fill(void *record, uintptr_t fn, uint8_t class, uint8_t arg_bytes, uint8_t result_bytes,
		 uint16_t home, const void *arg);
uint64_t ctwins_reveal(void *record);
void ctwins_send(void *worker, void *record);
void ctwins_send_event(void *record, uint32_t generation);

void ctwins_joins(void *arg, void *result);
void ctwins_parks(void *arg, void *result);

#endif
