/* scenarios.c - see scenarios.h. */
#include "scenarios.h"

#include "layer.h"

#include "actor/actors.h"
#include "buffer/buffer.h"
#include "kernel/slab.h"

#include <dirent.h>

const struct scenario scenarios[] = {
#define S(name) {#name, scenario_##name},
	SCENARIOS
#undef S
};
const int scenario_count = sizeof scenarios / sizeof *scenarios;

void run_all(void)
{
	for (int i = 0; i < scenario_count; i++) {
		test_context = scenarios[i].name;
		scenarios[i].run();
	}
}

static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = -2; /* . and .. */
	CHECK(dir != NULL);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

void check_nothing_left(void)
{
	coroi_depot_trim(); /* what free buffers have kept */
	struct fault_held h = fault_held();
	int64_t kept = 0, blocks = 7;

	for (uint32_t i = 0; i < COROI_CHUNKS_MAX && coroi_chunk_dir[i]; i++)
		kept += (int64_t)COROI_CHUNK_BYTES;
	for (uint32_t i = 0; i < COROI_PLACES_CHUNKS && coroi_places_dir[i]; i++)
		kept += (int64_t)COROI_PLACES_BYTES;
	for (uint32_t i = 0; i < COROI_BUFFER_CHUNKS && coroi_buffer_dir[i]; i++)
		blocks++;
	CHECK_EQ(h.mapped - h.stuck, kept);
	/* the list of chunks, slots of descriptors, the names of two bodies of actors, three questions
	 * to actors, and the chunks of buffers */
	CHECK(h.blocks <= blocks);
	CHECK_EQ(h.descriptors, 0);
	/* a thread that was joined takes a moment to vanish */
	for (int i = 0; threads() > 1 && i < 10000; i++)
		sleep_us(1000);
	CHECK_EQ(threads(), SANITIZED ? threads() : 1);
}
