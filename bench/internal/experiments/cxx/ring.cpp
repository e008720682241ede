// ring.cpp - rings of C++20 coroutines on one thread: each member waits for its own event and posts its neighbour's.
//
// ring RINGS MEMBERS ROUNDS STRICT LIFO prints the time in ns from the first post to the last end, and by how many bytes VmRSS + VmPTE
// grew until all members were waiting (LIFO: until the end).
//
// An event counts, so that no post is lost. One that finds a waiter makes it runnable: in the slot, and who was there goes to the back
// of the queue. That is the order of coro's workers, without a budget, locks, handles or anything that another thread could do.
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

namespace {

std::coroutine_handle<> slot;
std::deque<std::coroutine_handle<>> queue;
uint64_t ended;

void make_ready(std::coroutine_handle<> h)
{
	if (slot)
		queue.push_back(slot);
	slot = h;
}

// An event is its own awaiter: co_await takes a permit, or waits for one.
struct event {
	std::coroutine_handle<> waiter;
	uint64_t permits = 0;

	void post()
	{
		if (waiter)
			make_ready(std::exchange(waiter, nullptr));
		else
			permits++;
	}
	bool await_ready() noexcept
	{
		if (!permits)
			return false;
		permits--;
		return true;
	}
	void await_suspend(std::coroutine_handle<> h) noexcept { waiter = h; }
	void await_resume() noexcept {}
};

struct task {
	struct promise_type {
		task get_return_object() { return {}; }
		std::suspend_never initial_suspend() noexcept { return {}; }
		std::suspend_never final_suspend() noexcept { return {}; }
		void return_void() {}
		void unhandled_exception() { std::terminate(); }
	};
};

// Bytes that a coroutine keeps in its frame, as others keep them on their stack: EXTRA of them.
#ifndef EXTRA
#define EXTRA 0
#endif

template <size_t bytes> struct data {
	char at[bytes];

	void use()
	{
		memset(at, 1, bytes);
		keep();
	}
	void keep() { asm volatile("" : : "r"(at) : "memory"); }
};

template <> struct data<0> {
	void use() {}
	void keep() {}
};

task member(event *own, event *next, uint32_t rounds, bool last)
{
	data<EXTRA> extra;

	extra.use();
	for (uint32_t i = 0; i < rounds; i++) {
		co_await *own;
		next->post();
	}
	if (last) // for the token with which it began
		co_await *own;
	extra.keep();
	ended++;
}

void run()
{
	for (;;) {
		std::coroutine_handle<> h = std::exchange(slot, nullptr);
		if (!h) {
			if (queue.empty())
				return;
			h = queue.front();
			queue.pop_front();
		}
		h.resume();
	}
}

int64_t resident()
{
	int64_t kb = 0, value;
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %ld kB", &value) == 1 || sscanf(line, "VmPTE: %ld kB", &value) == 1)
			kb += value;
	if (f)
		fclose(f);
	return kb << 10;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	uint64_t rings = strtoull(argv[1], nullptr, 10), members = strtoull(argv[2], nullptr, 10);
	uint32_t rounds = static_cast<uint32_t>(strtoul(argv[3], nullptr, 10));
	bool strict = atoi(argv[4]), lifo = atoi(argv[5]);
	int64_t before = resident(), all = 0;
	std::vector<event> events(lifo ? members : rings * members);

	auto start = [&](uint64_t first) {
		for (uint64_t i = 0; i < members; i++)
			member(&events[first + i], &events[first + (i + 1) % members], rounds, i == 0 || !strict);
	};
	auto fire = [&](uint64_t first) {
		for (uint64_t i = 0; i < (strict ? 1 : members); i++)
			events[first + i].post();
	};
	if (!lifo) {
		for (uint64_t r = 0; r < rings; r++)
			start(r * members);
		all = resident();
	}
	auto begin = std::chrono::steady_clock::now();
	for (uint64_t r = 0; r < rings; r++) {
		if (lifo)
			start(0);
		fire(lifo ? 0 : r * members);
		if (lifo)
			run();
	}
	run();
	auto end = std::chrono::steady_clock::now();
	if (ended != rings * members)
		return 3;
	if (lifo)
		all = resident();
	printf("%lld %lld\n", static_cast<long long>(std::chrono::nanoseconds(end - begin).count()),
	       static_cast<long long>(all - before));
}
