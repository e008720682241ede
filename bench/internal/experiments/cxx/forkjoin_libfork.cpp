// forkjoin_libfork.cpp - the loads of forkload.h by libfork, version 3: LOAD SIZE LAPS WORKERS.
#include <libfork.hpp>

#include <optional>

static std::optional<lf::lazy_pool> pool;

// Each body is a function object, whose first parameter is the function as libfork passes it on.
#define BODY(name, type)                                                                           \
	struct name##_function {                                                                   \
		template <typename Self> lf::task<void> operator()(Self name, type *me) const;     \
	};                                                                                         \
	inline constexpr name##_function name{};                                                   \
	template <typename Self> lf::task<void> name##_function::operator()(Self name, type *me) const
#define END co_return
#define CHILDREN(n)
#define FORK(i, name, to) co_await lf::fork(name)(to)
#define CALL(name, to)    co_await lf::call(name)(to)
#define JOIN(n)           co_await lf::join
#define ROOT(name, to)    lf::sync_wait(*pool, name, to)
#include "forkbody.h"

int main(int argc, char **argv)
{
	uint32_t workers = fj_read(argc, argv);

	if (!workers)
		return 2;
	pool.emplace(workers);
	int status = fj_measure(once);
	pool.reset();
	if (status)
		return 3;
	fj_tell();
}
