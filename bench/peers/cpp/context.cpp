// Boost.Context: fibers that a loop resumes in turn.
#include "../c/peer.h"

#include <boost/context/fiber.hpp>
#include <boost/version.hpp>
#include <utility>
#include <vector>

namespace ctx = boost::context;

// resumes - half the time of a resume with its way back, in ns.
static double resumes(size_t members, int64_t laps)
{
	bool last = false;
	std::vector<ctx::fiber> fibers;

	for (size_t i = 0; i < members; i++) {
		fibers.emplace_back([&last](ctx::fiber &&loop) {
			while (!last)
				loop = std::move(loop).resume();
			return std::move(loop);
		});
		fibers[i] = std::move(fibers[i]).resume();
	}
	int64_t start = peer_now_ns();
	for (int64_t lap = 0; lap < laps; lap++)
		for (ctx::fiber &f : fibers)
			f = std::move(f).resume();
	int64_t ns = peer_now_ns() - start;
	last = true;
	for (ctx::fiber &f : fibers)
		f = std::move(f).resume();
	return double(ns) / double(2 * int64_t(members) * laps);
}

int main(int argc, char **argv)
{
	peer_args a = peer_read_args(argc, argv);
	int64_t members = a.n - 1, laps = peer_laps(a.switches, 2 * members);

	if (!a.switches || strcmp(a.variant, "resume"))
		peer_die("want: switching resume N SWITCHES");
	resumes(size_t(members), laps);
	peer_tell_switch("Boost " BOOST_LIB_VERSION, resumes(size_t(members), laps));
}
