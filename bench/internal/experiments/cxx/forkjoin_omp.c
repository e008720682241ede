/* forkjoin_omp.c - the loads of forkload.h by tasks of OpenMP: LOAD SIZE LAPS WORKERS. */
#define BODY(name, type) static void name(type *me)
#define END              return
#define CHILDREN(n)
#define FORK(i, name, to)                                            \
	do {                                                         \
		__typeof__(to) child = (to);                         \
		_Pragma("omp task firstprivate(child)") name(child); \
	} while (0)
#define CALL(name, to) name(to)
#define JOIN(n)        _Pragma("omp taskwait")
#define ROOT(name, to) name(to)
#include "forkbody.h"

int main(int argc, char **argv)
{
	uint32_t workers = fj_read(argc, argv);
	int status = -1;

	if (!workers)
		return 2;
#pragma omp parallel num_threads(workers)
#pragma omp single
	status = fj_measure(once);
	if (status)
		return 3;
	fj_tell();
	return 0;
}
