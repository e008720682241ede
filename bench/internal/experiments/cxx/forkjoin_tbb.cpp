// forkjoin_tbb.cpp - the loads of forkload.h by task groups of oneTBB: LOAD SIZE LAPS WORKERS.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#define BODY(name, type)  static void name(type *me)
#define END               return
#define CHILDREN(n)       tbb::task_group children
#define FORK(i, name, to) children.run([child = (to)] { name(child); })
#define CALL(name, to)    name(to)
#define JOIN(n)           children.wait()
#define ROOT(name, to)    name(to)
#include "forkbody.h"

int main(int argc, char **argv)
{
	uint32_t workers = fj_read(argc, argv);
	int status = -1;

	if (!workers)
		return 2;
	tbb::global_control most(tbb::global_control::max_allowed_parallelism, workers);
	tbb::task_arena arena(static_cast<int>(workers));
	arena.execute([&] { status = fj_measure(once); });
	if (status)
		return 3;
	fj_tell();
}
