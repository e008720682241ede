/* minicoro.c - minicoro's coroutines, which a loop resumes in turn. */
#define MINICORO_IMPL
#include "minicoro.h"

#include "peer.h"

static void forever(mco_coro *self)
{
	for (;;)
		mco_yield(self);
}

/* Half the time of a resume with its way back, in ns. */
static double resumes(int64_t members, int64_t laps)
{
	mco_coro **co = calloc((size_t)members, sizeof *co);

	if (!co)
		peer_die("no memory");
	for (int64_t i = 0; i < members; i++) {
		mco_desc desc = mco_desc_init(forever, 0);
		if (mco_create(&co[i], &desc) != MCO_SUCCESS)
			peer_die("mco_create fails");
		mco_resume(co[i]);
	}
	int64_t start = peer_now_ns();
	for (int64_t lap = 0; lap < laps; lap++)
		for (int64_t i = 0; i < members; i++)
			mco_resume(co[i]);
	int64_t ns = peer_now_ns() - start;
	for (int64_t i = 0; i < members; i++)
		mco_destroy(co[i]);
	free(co);
	return (double)ns / (double)(2 * members * laps);
}

int main(int argc, char **argv)
{
	struct peer_args a = peer_read_args(argc, argv);
	int64_t members = a.n - 1, laps = peer_laps(a.switches, 2 * members);

	if (!a.switches || strcmp(a.variant, "resume"))
		peer_die("want: switching resume N SWITCHES");
	resumes(members, laps);
	peer_tell_switch("minicoro, of its source directory", resumes(members, laps));
	return 0;
}
