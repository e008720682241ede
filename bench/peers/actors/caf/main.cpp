// CAF's event-based actors (C++ Actor Framework), with its own work-stealing scheduler, in the
// programs of bench/internal/savina.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>

#include <caf/all.hpp>

struct Msg {
	uint32_t kind;
	int32_t from;
	int64_t n;
};

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(Msg)

struct Actor {
	virtual void receive(const Msg &m) = 0;
	virtual ~Actor() = default;
};

// A world: actors are numbered from 0, in the order of their spawns, by one thread.
class System
{
	static caf::actor_system_config &configured(caf::actor_system_config &c, unsigned workers)
	{
		c.set("scheduler.max-threads", size_t(workers));
		return c;
	}
	caf::actor_system_config config;
	caf::actor_system system;
	std::vector<caf::actor> actors;
	size_t count = 0;

      public:
	System(unsigned workers, int capacity)
	    : system(configured(config, workers)), actors(size_t(capacity))
	{
	}
	int spawn(Actor *a)
	{
		actors[count] = system.spawn([a](caf::event_based_actor *) -> caf::behavior {
			return {[a](const Msg &m) { a->receive(m); }};
		});
		return int(count++);
	}
	void send(int to, Msg m)
	{
		caf::anon_send(actors[size_t(to)], m);
	}
	~System()
	{
		for (caf::actor &a : actors)
			caf::anon_send_exit(a, caf::exit_reason::user_shutdown);
		actors.clear();
	}
};

struct Result {
	int64_t msgs;
	double ns;
};

static System *world;

static void send(int to, Msg m)
{
	world->send(to, m);
}

static int64_t now()
{
	auto t = std::chrono::steady_clock::now().time_since_epoch();
	return std::chrono::duration_cast<std::chrono::nanoseconds>(t).count();
}

// A system that loses, doubles or reorders messages has no figures.
static void check(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "wrong: %s\n", what);
		_exit(1);
	}
}

struct Done {
	std::mutex m;
	std::condition_variable c;
	bool set = false;
	void tell()
	{
		std::lock_guard<std::mutex> l(m);
		set = true;
		c.notify_one();
	}
	void wait()
	{
		std::unique_lock<std::mutex> l(m);
		c.wait(l, [this] { return set; });
	}
};

enum { START, PING, PONG, AGAIN, INC, RETRIEVE, RESULT, EXIT, MEET, CHANGE, COUNT };

// A world, its actors, and a clock.
struct Run {
	std::vector<std::unique_ptr<Actor>> actors;
	std::unique_ptr<System> system;
	Done done;
	int64_t began = 0;
	Run(unsigned workers, int capacity) : system(new System(workers, capacity))
	{
		world = system.get();
	}
	int spawn(Actor *a)
	{
		actors.emplace_back(a);
		return system->spawn(a);
	}
	void start()
	{
		began = now();
	}
	double stop()
	{
		done.wait();
		return double(now() - began);
	}
	~Run()
	{
		system.reset();
	}
};

/* ------------------------------------------------------------------------------------ pingpong */
struct Pinger : Actor {
	int self = 0, pong = 0, left = 0;
	Done *done = nullptr;
	void receive(const Msg &m) override
	{
		if (m.kind == PONG) {
			if (left > 0)
				send(self, {AGAIN, 0, 0});
			else
				done->tell();
			return;
		}
		left--;
		send(pong, {PING, self, 0});
	}
};
struct Ponger : Actor {
	int self = 0;
	void receive(const Msg &m) override
	{
		send(m.from, {PONG, self, 0});
	}
};
static Result pingpong(unsigned w, int scale)
{
	int n = 400000 / scale;
	Run r(w, 2);
	auto *pong = new Ponger;
	pong->self = r.spawn(pong);
	auto *ping = new Pinger;
	ping->pong = pong->self, ping->left = n, ping->done = &r.done;
	ping->self = r.spawn(ping);
	r.start();
	send(ping->self, {START, 0, 0});
	return {3 * int64_t(n), r.stop()};
}

/* ------------------------------------------------------------------------------------ counting */
struct Producer : Actor {
	int self = 0, counter = 0;
	int64_t n = 0;
	Done *done = nullptr;
	void receive(const Msg &m) override
	{
		if (m.kind == START) {
			for (int64_t i = 0; i < n; i++)
				send(counter, {INC, self, i});
			send(counter, {RETRIEVE, self, 0});
		} else {
			check(m.n == n, "counting");
			done->tell();
		}
	}
};
struct Counter : Actor {
	int64_t count = 0;
	void receive(const Msg &m) override
	{
		if (m.kind == INC) {
			check(m.n == count, "counting: order");
			count++;
		} else {
			send(m.from, {RESULT, 0, count});
		}
	}
};
static Result counting(unsigned w, int scale)
{
	int64_t n = 1000000 / scale;
	Run r(w, 2);
	int c = r.spawn(new Counter);
	auto *p = new Producer;
	p->counter = c, p->n = n, p->done = &r.done;
	p->self = r.spawn(p);
	r.start();
	send(p->self, {START, 0, 0});
	return {n + 2, r.stop()};
}

/* ----------------------------------------------------------------------- forkjoin (throughput) */
struct Sinner : Actor {
	int left = 0;
	std::atomic<int> *ends = nullptr;
	Done *done = nullptr;
	volatile double angle = 37.2;
	void receive(const Msg &) override
	{
		double s = sin(angle);
		check(s * s > 0, "sin");
		if (--left == 0 && --*ends == 0)
			done->tell();
	}
};
static Result fjthrput(unsigned w, int scale)
{
	const int actors = 60;
	int n = 10000 / scale;
	Run r(w, actors);
	std::atomic<int> ends{actors};
	for (int i = 0; i < actors; i++) {
		auto *a = new Sinner;
		a->left = n, a->ends = &ends, a->done = &r.done;
		r.spawn(a);
	}
	r.start();
	for (int i = 0; i < n; i++)
		for (int a = 0; a < actors; a++)
			send(a, {START, 0, 0});
	return {int64_t(n) * actors, r.stop()};
}

/* ---------------------------------------------------------------------------------- threadring */
struct Ringer : Actor {
	int next = 0;
	Done *done = nullptr;
	void receive(const Msg &m) override
	{
		if (m.n > 0)
			send(next, {PING, 0, m.n - 1});
		else
			done->tell();
	}
};
static Result threadring(unsigned w, int scale)
{
	const int actors = 100;
	int64_t n = 1000000 / scale;
	Run r(w, actors);
	for (int i = 0; i < actors; i++) {
		auto *a = new Ringer;
		a->next = (i + 1) % actors, a->done = &r.done;
		r.spawn(a);
	}
	r.start();
	send(0, {PING, 0, n});
	return {n + 1, r.stop()};
}

/* ----------------------------------------------------------------------------------------- big */
struct Big : Actor {
	int self = 0, sink = 0, sent = 0, n = 0, expects = -1;
	uint64_t actors = 0, random = 0;
	void receive(const Msg &m) override
	{
		if (m.kind == PING) {
			send(m.from, {PONG, self, 0});
			return;
		}
		check(m.from == expects, "big");
		if (sent == n) {
			send(sink, {EXIT, 0, 0});
			return;
		}
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		expects = int(random % actors);
		sent++;
		send(expects, {PING, self, 0});
	}
};
struct Sink : Actor {
	int left = 0;
	Done *done = nullptr;
	void receive(const Msg &) override
	{
		if (--left == 0)
			done->tell();
	}
};
static Result big(unsigned w, int scale)
{
	const int actors = 120;
	int n = 20000 / scale;
	Run r(w, actors + 1);
	for (int i = 0; i < actors; i++) {
		auto *a = new Big;
		a->self = i, a->sink = actors, a->n = n, a->actors = actors,
		a->random = uint64_t(i) * 0x9e3779b97f4a7c15 + 1;
		r.spawn(a);
	}
	auto *s = new Sink;
	s->left = actors, s->done = &r.done;
	r.spawn(s);
	r.start();
	for (int i = 0; i < actors; i++)
		send(i, {PONG, -1, 0});
	return {2 * int64_t(actors) * n + 2 * actors, r.stop()};
}

/* ----------------------------------------------------------------------------------- chameneos */
struct Mall : Actor {
	int left = 0, waiting = -1, faded = 0;
	int64_t meetings = 0, want = 0;
	Done *done = nullptr;
	void receive(const Msg &m) override
	{
		if (m.kind == COUNT) {
			meetings += m.n;
			if (--faded == 0) {
				check(meetings == want, "chameneos");
				done->tell();
			}
		} else if (left == 0) {
			send(m.from, {EXIT, 0, 0});
		} else if (waiting < 0) {
			waiting = m.from;
		} else {
			left--;
			send(waiting, m);
			waiting = -1;
		}
	}
};
struct Chameneo : Actor {
	int self = 0, mall = 0;
	int64_t color = 0, meetings = 0;
	void receive(const Msg &m) override
	{
		switch (m.kind) {
		case START:
			send(mall, {MEET, self, color});
			break;
		case MEET:
			color = color == m.n ? color : 3 - color - m.n;
			meetings++;
			send(m.from, {CHANGE, self, color});
			send(mall, {MEET, self, color});
			break;
		case CHANGE:
			color = m.n;
			meetings++;
			send(mall, {MEET, self, color});
			break;
		default:
			send(mall, {COUNT, 0, meetings});
		}
	}
};
static Result chameneos(unsigned w, int scale)
{
	const int creatures = 100;
	int n = 200000 / scale;
	Run r(w, creatures + 1);
	auto *mall = new Mall;
	mall->left = n, mall->faded = creatures, mall->want = 2 * int64_t(n), mall->done = &r.done;
	r.spawn(mall);
	for (int i = 0; i < creatures; i++) {
		auto *a = new Chameneo;
		a->self = i + 1, a->color = i % 3;
		r.spawn(a);
	}
	r.start();
	for (int i = 0; i < creatures; i++)
		send(i + 1, {START, 0, 0});
	return {4 * int64_t(n) + 4 * creatures, r.stop()};
}

/* -------------------------------------------------------------------------------------- fan-in */
struct Feeder : Actor {
	int self = 0, sink = 0;
	int64_t n = 0;
	void receive(const Msg &m) override
	{
		int64_t i = m.n;
		for (int64_t end = std::min(i + 100, n); i < end; i++)
			send(sink, {INC, self, i});
		if (i < n)
			send(self, {AGAIN, 0, i});
	}
};
struct Funnel : Actor {
	std::vector<int64_t> next = std::vector<int64_t>(100);
	int64_t left = 0;
	Done *done = nullptr;
	void receive(const Msg &m) override
	{
		check(next[size_t(m.from)]++ == m.n, "fanin: order");
		if (--left == 0)
			done->tell();
	}
};
static Result fanin(unsigned w, int scale)
{
	const int actors = 100;
	int64_t n = 10000 / scale;
	Run r(w, actors + 1);
	for (int i = 0; i < actors; i++) {
		auto *a = new Feeder;
		a->self = i, a->sink = actors, a->n = n;
		r.spawn(a);
	}
	auto *f = new Funnel;
	f->left = actors * n, f->done = &r.done;
	r.spawn(f);
	r.start();
	for (int i = 0; i < actors; i++)
		send(i, {START, 0, 0});
	return {actors * n + actors * ((n + 99) / 100), r.stop()};
}

/* -------------------------------------------------------------------------------------- main */

static const struct {
	const char *name;
	Result (*run)(unsigned workers, int scale);
} programs[] = {
	{"pingpong", pingpong},     {"counting", counting}, {"fjthrput", fjthrput},
	{"threadring", threadring}, {"big", big},           {"chameneos", chameneos},
	{"fanin", fanin},
};

int main(int argc, char **argv)
{
	const char *program = "";
	unsigned workers = 1;
	int scale = 1;

	for (int i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], "-program"))
			program = argv[i + 1];
		else if (!strcmp(argv[i], "-workers"))
			workers = unsigned(atoi(argv[i + 1]));
		else if (!strcmp(argv[i], "-scale"))
			scale = atoi(argv[i + 1]);
	for (const auto &p : programs)
		if (!strcmp(p.name, program)) {
			p.run(workers, scale);
			Result r = p.run(workers, scale);
			printf("{\"ns_per_message\": %.2f}\n", r.ns / double(r.msgs));
			return 0;
		}
	fprintf(stderr, "-program %s: there is none of that name\n", program);
	return 2;
}
