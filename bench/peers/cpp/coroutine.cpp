// Coroutines of C++20, which have a frame on the heap and no scheduler: a loop resumes them, or
// each transfers to the next.
#include "../c/peer.h"

#include <coroutine>
#include <exception>
#include <vector>

#define TEXT(x) #x
#define VERSION(major, minor) "g++ " TEXT(major) "." TEXT(minor)

struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		void return_void() noexcept {}
		void unhandled_exception() noexcept { std::terminate(); }
	};
	std::coroutine_handle<> handle;
};

// transfer - suspends, and goes on with the next one.
struct transfer {
	std::coroutine_handle<> next;
	bool await_ready() const noexcept { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept
	{
		return next;
	}
	void await_resume() const noexcept {}
};

static task empty() { co_return; }

static task forever()
{
	for (;;)
		co_await std::suspend_always{};
}

// member - hands the turn on, laps times; the last one of the last lap to the caller.
static task member(const std::vector<task> &ring, size_t self, int64_t laps)
{
	bool last = self + 1 == ring.size();
	size_t next = last ? 0 : self + 1;

	for (int64_t lap = 1; lap < laps; lap++)
		co_await transfer{ring[next].handle};
	if (last)
		co_await transfer{std::noop_coroutine()};
	co_await transfer{ring[next].handle};
}

static void destroy(const std::vector<task> &tasks)
{
	for (const task &t : tasks)
		t.handle.destroy();
}

struct times {
	int64_t spawn, run;
};

static times spawn(size_t n)
{
	std::vector<task> tasks;

	int64_t start = peer_now_ns();
	for (size_t i = 0; i < n; i++)
		tasks.push_back(empty());
	int64_t middle = peer_now_ns();
	for (const task &t : tasks) {
		t.handle.resume();
		t.handle.destroy();
	}
	return {middle - start, peer_now_ns() - middle};
}

// resumes - half the time of a resume with its way back, in ns.
static double resumes(size_t members, int64_t laps)
{
	std::vector<task> tasks;

	for (size_t i = 0; i < members; i++) {
		tasks.push_back(forever());
		tasks[i].handle.resume();
	}
	int64_t start = peer_now_ns();
	for (int64_t lap = 0; lap < laps; lap++)
		for (const task &t : tasks)
			t.handle.resume();
	int64_t ns = peer_now_ns() - start;
	destroy(tasks);
	return double(ns) / double(2 * int64_t(members) * laps);
}

// transfers - the time of one transfer, in ns.
static double transfers(size_t members, int64_t laps)
{
	std::vector<task> ring;

	for (size_t i = 0; i < members; i++)
		ring.push_back(member(ring, i, laps));
	int64_t start = peer_now_ns();
	ring[0].handle.resume();
	int64_t ns = peer_now_ns() - start;
	destroy(ring);
	return double(ns) / double(int64_t(members) * laps);
}

int main(int argc, char **argv)
{
	static const char version[] = VERSION(__GNUC__, __GNUC_MINOR__);
	peer_args a = peer_read_args(argc, argv);

	if (!a.switches) {
		spawn(size_t(a.n));
		times t = spawn(size_t(a.n));
		peer_tell_spawn(version, t.spawn, t.run);
	} else if (!strcmp(a.variant, "resume")) {
		int64_t laps = peer_laps(a.switches, 2 * (a.n - 1));
		resumes(size_t(a.n - 1), laps);
		peer_tell_switch(version, resumes(size_t(a.n - 1), laps));
	} else if (!strcmp(a.variant, "transfer")) {
		int64_t laps = peer_laps(a.switches, a.n);
		transfers(size_t(a.n), laps);
		peer_tell_switch(version, transfers(size_t(a.n), laps));
	} else {
		peer_die("the variant is neither resume nor transfer");
	}
}
