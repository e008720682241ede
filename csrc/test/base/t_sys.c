/*
 * t_sys.c - the lowest layer: aligned memory, and the lock that sleeps.
 */
#include "test.h"

#include "base/lock.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static bool is_mapped(const void *page)
{
	unsigned char there;
	return mincore((void *)page, 4096, &there) == 0;
}

/* Nothing before or behind an aligned piece stays mapped. */
TEST(sys_map_is_aligned_and_no_larger)
{
	for (size_t align = 4096; align <= 4 << 20; align *= 2) {
		for (size_t bytes = 4096; bytes <= 1 << 20; bytes *= 16) {
			char *p = coroi_map(bytes, align, "test");
			CHECK(p && ((uintptr_t)p & (align - 1)) == 0);
			for (size_t i = 0; i < bytes; i += 4096)
				CHECK_EQ(p[i], 0);
			memset(p, 1, bytes);
			CHECK(is_mapped(p) && is_mapped(p + bytes - 4096));
			CHECK(coroi_discard(p, bytes));
			CHECK_EQ(p[0] | p[bytes - 1], 0);
			coroi_unmap(p, bytes);
			CHECK(!is_mapped(p) && !is_mapped(p + bytes - 4096));
		}
	}
}

/* What is mapped has a name in /proc/self/maps, if the kernel gives names. */
TEST(sys_map_is_named)
{
	char *p = coroi_map(1 << 20, 4096, "coro: test");
	char line[512];
	bool named = false;

	CHECK(p);
	FILE *maps = fopen("/proc/self/maps", "r");
	CHECK(maps);
	while (fgets(line, sizeof line, maps))
		named |= strstr(line, "[anon:coro: test]") != NULL;
	fclose(maps);
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, 4096, "x") == 0)
		CHECK(named);
	else
		report("this kernel names no memory");
	coroi_unmap(p, 1 << 20);
}

TEST(sys_map_of_too_much)
{
	errno = 77;
	CHECK(coroi_map(SIZE_MAX / 4, 4096, "test") == NULL);
	if (!SANITIZED) /* a sanitizer warns of so large a size */
		CHECK(coroi_alloc(SIZE_MAX / 4, 64) == NULL);
	CHECK_EQ(errno, 77);
}

#define THREADS 4

static struct coroi_lock lock;
static uint64_t turns, inside;

static void *takes_turns(void *seed)
{
	for (uint64_t i = 0, state = (uintptr_t)seed; i < scaled(2000); i++) {
		coroi_lock(&lock);
		CHECK_EQ(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), 1);
		turns++;
		if (rnd(&state) % 16 == 0)
			sleep_us(50); /* longer than anybody spins */
		CHECK_EQ(__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST), 0);
		coroi_unlock(&lock);
	}
	return NULL;
}

TEST(sys_lock_excludes_and_sleeps)
{
	pthread_t t[THREADS];

	coroi_lock(&lock); /* until one of the two is about to sleep */
	for (uintptr_t i = 0; i < THREADS; i++)
		thread_start(&t[i], takes_turns, (void *)(i + 1));
	while (__atomic_load_n(&lock.word, __ATOMIC_SEQ_CST) != 2)
		sleep_us(50);
	coroi_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		thread_join(t[i]);
	CHECK_EQ(turns, THREADS * scaled(2000));
	CHECK_EQ(lock.word, 0);
}

/* A full counter is ringing. */
TEST(sys_ring_of_a_full_counter)
{
	int fd = coroi_event_open();
	uint64_t full = UINT64_MAX - 1, got = 0;

	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &got, sizeof got), -1); /* nobody has rung, and the read does not block */
	CHECK_EQ(write(fd, &full, sizeof full), sizeof full);
	errno = 77;
	coroi_event_ring(fd);
	CHECK_EQ(errno, 77);
	CHECK_EQ(read(fd, &got, sizeof got), sizeof got);
	CHECK(got == full);
	coroi_event_ring(fd);
	CHECK_EQ(read(fd, &got, sizeof got), sizeof got);
	CHECK_EQ(got, 1);
	coroi_event_close(fd);
}
