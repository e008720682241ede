// Boost.Fiber's fibers: with its default, the round robin of one thread, or with its work stealing
// by several threads.
#include "../c/peer.h"

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <mutex>
#include <thread>
#include <vector>

namespace fib = boost::fibers;

static const size_t stack_bytes = 16 << 10;

struct times {
	int64_t spawn, run;
};

// spawn - fibers that do nothing, each at once (dispatch), or when all are there (post).
static times spawn(fib::launch when, int64_t n)
{
	std::vector<fib::fiber> fibers;
	auto stack = fib::fixedsize_stack(stack_bytes);

	int64_t start = peer_now_ns();
	fibers.reserve(size_t(n));
	for (int64_t i = 0; i < n; i++)
		fibers.emplace_back(when, std::allocator_arg, stack, [] {});
	int64_t middle = peer_now_ns();
	for (fib::fiber &f : fibers)
		f.join();
	return {middle - start, peer_now_ns() - middle};
}

// on_workers - runs the function with further threads that steal from this one.
template <typename F> static void on_workers(uint32_t workers, F function)
{
	std::vector<std::thread> others;
	bool ended = false;
	fib::mutex lock;
	fib::condition_variable end;

	if (workers == 1)
		return function();
	for (uint32_t i = 1; i < workers; i++)
		others.emplace_back([&] {
			fib::use_scheduling_algorithm<fib::algo::work_stealing>(workers);
			std::unique_lock<fib::mutex> locked(lock);
			end.wait(locked, [&] { return ended; });
		});
	fib::use_scheduling_algorithm<fib::algo::work_stealing>(workers);
	function();
	{
		std::unique_lock<fib::mutex> locked(lock);
		ended = true;
	}
	end.notify_all();
	for (std::thread &t : others)
		t.join();
}

// yields - the time of one yield, in ns, of fibers that yield in turn once all have started.
static double yields(int64_t members, int64_t laps)
{
	std::vector<fib::fiber> fibers;
	int64_t started = 0, done = 0, start = 0, end = 0;

	for (int64_t i = 0; i < members; i++)
		fibers.emplace_back(std::allocator_arg, fib::fixedsize_stack(stack_bytes), [&] {
			if (++started == members)
				start = peer_now_ns();
			while (started < members)
				boost::this_fiber::yield();
			for (int64_t lap = 0; lap < laps; lap++)
				boost::this_fiber::yield();
			if (++done == members)
				end = peer_now_ns();
		});
	for (fib::fiber &f : fibers)
		f.join();
	return double(end - start) / double(members * laps);
}

int main(int argc, char **argv)
{
	static const char version[] = "Boost " BOOST_LIB_VERSION;
	peer_args a = peer_read_args(argc, argv);

	if (a.switches) {
		int64_t laps = peer_laps(a.switches, a.n);
		yields(a.n, laps);
		peer_tell_switch(version, yields(a.n, laps));
		return 0;
	}
	auto when = strcmp(a.variant, "post") ? fib::launch::dispatch : fib::launch::post;
	on_workers(uint32_t(a.workers), [&] {
		spawn(when, a.n);
		times t = spawn(when, a.n);
		peer_tell_spawn(version, t.spawn, t.run);
	});
}
