/* libaco.c - libaco's coroutines, each with a stack of its own, which a loop resumes in turn. */
#include "aco.h"

#include "peer.h"

#define TEXT(x)                      #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

enum { STACK_BYTES = 16 << 10 };

static void forever(void)
{
	for (;;)
		aco_yield();
}

/* Half the time of a resume with its way back, in ns. */
static double resumes(aco_t *loop, int64_t members, int64_t laps)
{
	aco_t **co = calloc((size_t)members, sizeof *co);
	aco_share_stack_t **stack = calloc((size_t)members, sizeof *stack);

	if (!co || !stack)
		peer_die("no memory");
	for (int64_t i = 0; i < members; i++) {
		stack[i] = aco_share_stack_new(STACK_BYTES);
		co[i] = aco_create(loop, stack[i], 0, forever, NULL);
		aco_resume(co[i]);
	}
	int64_t start = peer_now_ns();
	for (int64_t lap = 0; lap < laps; lap++)
		for (int64_t i = 0; i < members; i++)
			aco_resume(co[i]);
	int64_t ns = peer_now_ns() - start;
	for (int64_t i = 0; i < members; i++) {
		aco_destroy(co[i]);
		aco_share_stack_destroy(stack[i]);
	}
	free(co);
	free(stack);
	return (double)ns / (double)(2 * members * laps);
}

int main(int argc, char **argv)
{
	struct peer_args a = peer_read_args(argc, argv);
	int64_t members = a.n - 1, laps = peer_laps(a.switches, 2 * members);

	if (!a.switches || strcmp(a.variant, "resume"))
		peer_die("want: switching resume N SWITCHES");
	aco_thread_init(NULL);
	aco_t *loop = aco_create(NULL, NULL, 0, NULL, NULL);
	resumes(loop, members, laps);
	peer_tell_switch("libaco " VERSION(ACO_VERSION_MAJOR, ACO_VERSION_MINOR, ACO_VERSION_PATCH),
			 resumes(loop, members, laps));
	aco_destroy(loop);
	return 0;
}
