/*
 * coro_body.h - bodies with typed arguments and results, described for Go. A part of coro.h.
 */
#ifndef CORO_BODY_H
#define CORO_BODY_H

/* The argument type of a body without an argument, the result type of one without a result. The
 * argument's pointer is NULL then; the result's points to scratch. */
typedef struct coro_none {
	char unused;
} coro_none;

/*
 * coro_bytes - memory that a body borrows, as a member of its argument: in Go a coro.Bytes. n: its
 * bytes; at: NULL if there are none. It is the body's until the coroutine ends, and no longer: Go
 * keeps it where it is for that time (coro.Slice). Memory that C gives is C's own care.
 *
 * CORO_SLICE - the same for memory of n elements of a type: in Go a coro.Slice of that type.
 *
 *	CORO_SLICE(doubles, double);
 */
typedef struct coro_bytes {
	void *at;
	size_t n;
} coro_bytes;

#define CORO_SLICE(name, type)                \
	typedef struct coro_slice_of_##name { \
		type *at;                     \
		size_t n;                     \
	} name

/*
 * CORO_BRIEF - of a body: it is brief. Between two waits it takes some microseconds, it never
 * blocks its thread, and it needs nothing from the thread that woke it.
 */
#define CORO_BRIEF 8u

/* What CORO_BODY says of a body. Programs do not change it. */
struct coro_body_desc {
	uint64_t magic; /* CORO_BODY_MAGIC */
	coro_fn entry;
	const char *name;
	size_t stack_bytes; /* the least that the body needs; 0: the scheduler's default */
	uint32_t flags;     /* CORO_DENSE, CORO_BRIEF */
	uint16_t arg_bytes, arg_align;
	uint16_t result_bytes, result_align;
	uint32_t unused;
};

#define CORO_BODY_MAGIC UINT64_C(0x01ca80c0de0f6279) /* another one for another layout */

/*
 * CORO_BODY - define a body: a function that a coroutine runs, with the types of its argument and
 * of its result, of at most CORO_LARGE_BYTES bytes each. coro_none says that there is none.
 *
 *	CORO_BODY(add, struct add_arg, int64_t, CORO_BRIEF)
 *	{
 *		*result = arg->a + arg->b;
 *	}
 *
 * In the body arg is a struct add_arg *, and result an int64_t *. As of a coro_fn, arg points to
 * the coroutine's own copy, and result to zeros.
 *
 *   add        is the coro_fn, for coro_spawn and its like.
 *   add_body   is its struct coro_body_desc. Go is given its address, &C.add_body, and then refuses
 *              types of another size or alignment (coro.NewFunc).
 *   flags      0, CORO_DENSE, CORO_BRIEF or both. What starts the body in C does not look at them.
 *   Types      have a name without brackets: arrays and pointers to functions need a typedef. The
 *              alignment is at most 16.
 *
 * A type of more than CORO_INLINE_BYTES bytes makes the body large: Go alone starts it, and keeps
 * argument and result in memory of its own until the coroutine has ended (Func.Start, Func.Call and
 * their like). What coro_spawn starts has no such memory. So there add, as a coro_fn, does nothing
 * but to fail, as by coro_fail, with the code CORO_ETOOBIG. In C spawn a function that is given the
 * address of its memory; a body that Go starts may call the same.
 *
 * The body may do what any coro_fn may, call setjmp too. It takes one jump more where the compiler
 * does not put it into add.
 *
 * In C++, where exceptions are on, one that leaves the body ends it as coro_fail does, with the
 * code CORO_THREW and the text of what(), if it is a std::exception.
 *
 * CORO_BODY_STACK - the same for a body that needs stack_bytes of stack, CORO_STACK_MIN to
 * CORO_STACK_MAX, and is not dense. Go gives a coroutine as much; coro_spawn_attr goes by its
 * attributes alone.
 */
#define CORO_BODY(name, arg_type, result_type, flags) \
	CORO_BODY_STACK(name, arg_type, result_type, 0, flags)

#define CORO_BODY_STACK(name, arg_type, result_type, stack_bytes, flags)                        \
	CORO_DECLARE_BODY(name);                                                                \
	static void coro_typed_##name(arg_type *arg, result_type *result);                      \
	CORO_ASSERT_TYPE(arg_type, "the argument of " #name);                                   \
	CORO_ASSERT_TYPE(result_type, "the result of " #name);                                  \
	CORO_ASSERT(((flags) & ~(CORO_DENSE | CORO_BRIEF)) == 0,                                \
		    "the flags of " #name " are CORO_DENSE and CORO_BRIEF");                    \
	CORO_ASSERT((stack_bytes) == 0 || ((flags)&CORO_DENSE) == 0,                            \
		    #name " is dense: coro_options.shared_stacks sets the size of its stacks"); \
	CORO_ASSERT((stack_bytes) == 0 || ((size_t)(stack_bytes) >= CORO_STACK_MIN &&           \
					   (size_t)(stack_bytes) <= CORO_STACK_MAX),            \
		    "the stack of " #name " is from CORO_STACK_MIN to CORO_STACK_MAX");         \
	static CORO_UNUSED void coro_large_##name(void *arg, void *result)                      \
	{                                                                                       \
		CORO_CATCH(coro_typed_##name((arg_type *)arg, (result_type *)result))           \
	}                                                                                       \
	void name(void *arg, void *result)                                                      \
	{                                                                                       \
		if (CORO_IS_LARGE(arg_type, result_type)) {                                     \
			coro_fail(CORO_ETOOBIG, #name CORO_LARGE_TEXT);                         \
			return;                                                                 \
		}                                                                               \
		CORO_CATCH(coro_typed_##name((arg_type *)arg, (result_type *)result))           \
	}                                                                                       \
	struct coro_body_desc name##_body = {                                                   \
		CORO_BODY_MAGIC,                                                                \
		CORO_IS_LARGE(arg_type, result_type) ? coro_large_##name : name,                \
		#name,                                                                          \
		(size_t)(stack_bytes),                                                          \
		(uint32_t)(flags),                                                              \
		(uint16_t)CORO_BYTES_OF(arg_type),                                              \
		(uint16_t)CORO_ALIGN_OF(arg_type),                                              \
		(uint16_t)CORO_BYTES_OF(result_type),                                           \
		(uint16_t)CORO_ALIGN_OF(result_type),                                           \
		0};                                                                             \
	static void coro_typed_##name(CORO_UNUSED arg_type *arg, CORO_UNUSED result_type *result)

/* CORO_DECLARE_BODY - declare a body that another file defines, as in a header:
 * CORO_DECLARE_BODY(add); */
#ifdef __cplusplus
#define CORO_DECLARE_BODY(name)                        \
	extern "C" void name(void *arg, void *result); \
	extern "C" struct coro_body_desc name##_body
#else
#define CORO_DECLARE_BODY(name)             \
	void name(void *arg, void *result); \
	extern struct coro_body_desc name##_body
#endif

/* CORO_THREW - the code with which a body in C++ has failed (coro_fail) that an exception left. */
#define CORO_THREW (-1000)

/* The rest is for CORO_BODY alone. */

/* CORO_CATCH - make the call of a body. coro_fail comes after the handler: it does not return, and
 * the exception would be left behind. It returns outside a coroutine: the exception ends the
 * process there, as one that leaves a thread does. */
#ifdef __cpp_exceptions
#define CORO_CATCH(call)                                      \
	const char *coro_why = NULL;                          \
	try {                                                 \
		call;                                         \
		return;                                       \
	} catch (const std::exception &coro_e) {              \
		coro_why = coro_strdup(coro_e.what());        \
	} catch (...) {                                       \
		coro_why = "a C++ exception of another kind"; \
	}                                                     \
	coro_fail(CORO_THREW, coro_why);                      \
	std::terminate();
#else
#define CORO_CATCH(call) call;
#endif

/* A body that no coro_fn of C's can be: see CORO_BODY. */
#define CORO_IS_LARGE(arg_type, result_type)            \
	(CORO_BYTES_OF(arg_type) > CORO_INLINE_BYTES || \
	 CORO_BYTES_OF(result_type) > CORO_INLINE_BYTES)
#define CORO_LARGE_TEXT                                                                   \
	" has an argument or a result of more than CORO_INLINE_BYTES: only Go starts it." \
	" In C spawn a function that is given the address of its memory"

#define CORO_ASSERT_TYPE(type, what)                                                         \
	CORO_ASSERT(CORO_IS_TYPE(type), what " is coro_none, not void, if there is none");   \
	CORO_ASSERT(CORO_BYTES_OF(type) <= CORO_LARGE_BYTES,                                 \
		    what " has more bytes than CORO_LARGE_BYTES: give a coro_bytes, or the " \
			 "address of memory");                                               \
	CORO_ASSERT(CORO_ALIGN_OF(type) <= 16, what " is aligned to more than 16")

#ifdef __cplusplus
#define CORO_IS_TYPE(type)    (!__is_same(type, void))
#define CORO_BYTES_OF(type)   (__is_same(type, coro_none) ? 0 : sizeof(type))
#define CORO_ALIGN_OF(type)   alignof(type)
#define CORO_ASSERT(ok, text) static_assert(ok, text)
#else
#define CORO_IS_TYPE(type)    _Generic((type *)0, void * : 0, default : 1)
#define CORO_BYTES_OF(type)   _Generic((type *)0, coro_none * : (size_t)0, default : sizeof(type))
#define CORO_ALIGN_OF(type)   _Alignof(type)
#define CORO_ASSERT(ok, text) _Static_assert(ok, text)
#endif

#ifdef __GNUC__
#define CORO_UNUSED __attribute__((unused))
#else
#define CORO_UNUSED
#endif

#endif
