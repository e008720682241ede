/*
 * t_body.c - typed bodies: what CORO_BODY defines, and how a description is told from a function.
 */
#include "test.h"

#include "base/body.h"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

struct add_arg {
	int32_t a;
	int64_t b;
};

struct largest {
	char bytes[CORO_INLINE_BYTES];
};

CORO_DECLARE_BODY(t_body_add);

CORO_BODY(t_body_add, struct add_arg, int64_t, CORO_BRIEF)
{
	*result = arg->a + arg->b;
}

CORO_BODY(t_body_none, coro_none, coro_none, 0)
{
	CHECK(!arg);
	CHECK(result); /* scratch */
}

CORO_BODY_STACK(t_body_deep, struct largest, coro_handle *, 64 << 10, 0)
{
	memset(arg, 1, sizeof *arg);
	*result = NULL;
}

CORO_BODY(t_body_dense, uint8_t, struct largest, CORO_DENSE | CORO_BRIEF)
{
	memset(result, *arg, sizeof *result);
}

static jmp_buf again;

CORO_BODY(t_body_jumps, int, int, 0)
{
	volatile int jumps = 0;

	if (setjmp(again) < *arg)
		longjmp(again, ++jumps);
	*result = jumps;
}

/* described - the description at p. */
static struct coro_body_desc described(const void *p)
{
	struct coro_body_desc d;
	CHECK_EQ(coroi_body_look(p, &d), COROI_BODY_DESCRIBED);
	return d;
}

TEST(body_is_described_as_it_was_defined)
{
	struct coro_body_desc d = described(&t_body_add_body);
	CHECK(d.entry == t_body_add);
	CHECK(!strcmp(d.name, "t_body_add"));
	CHECK_EQ(d.stack_bytes, 0);
	CHECK_EQ(d.flags, CORO_BRIEF);
	CHECK_EQ(d.arg_bytes, 16);
	CHECK_EQ(d.arg_align, 8);
	CHECK_EQ(d.result_bytes, 8);
	CHECK_EQ(d.result_align, 8);

	d = described(&t_body_none_body);
	CHECK_EQ(d.arg_bytes + d.result_bytes, 0);
	CHECK_EQ(d.flags, 0);

	d = described(&t_body_deep_body);
	CHECK_EQ(d.stack_bytes, 64 << 10);
	CHECK_EQ(d.arg_bytes, CORO_INLINE_BYTES);
	CHECK_EQ(d.arg_align, 1);
	CHECK_EQ(d.result_bytes, sizeof(void *));

	d = described(&t_body_dense_body);
	CHECK_EQ(d.flags, CORO_DENSE | CORO_BRIEF);
	CHECK_EQ(d.arg_bytes, 1);
	CHECK_EQ(d.result_bytes, CORO_INLINE_BYTES);
}

static int all_right; /* set by the last coroutine that runs */

/* Runs typed bodies, which are ordinary coroutines. */
static void starts_typed(void *unused, void *none)
{
	struct add_arg sum = {.a = -2, .b = INT64_C(1) << 40};
	coro_attr attr = {.size = sizeof attr, .flags = CORO_JOINABLE, .result_bytes = 8};
	int64_t added = 0;
	int jumps = 4, got = 0;
	coro_handle h;
	(void)unused;
	(void)none;

	CHECK_EQ(coro_spawn_attr(&attr, t_body_add, &sum, sizeof sum, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &added, sizeof added), CORO_OK);
	CHECK_EQ(added, (INT64_C(1) << 40) - 2);
	CHECK_EQ(coro_spawn(t_body_none, NULL, 0), CORO_OK);
	attr.result_bytes = sizeof got;
	CHECK_EQ(coro_spawn_attr(&attr, t_body_jumps, &jumps, sizeof jumps, &h), CORO_OK);
	CHECK_EQ(coro_join(h, &got, sizeof got), CORO_OK);
	CHECK_EQ(got, jumps);
	all_right++;
}

TEST(body_with_types_is_an_ordinary_coroutine)
{
	coro_options o = {.size = sizeof o, .workers = 1, .flags = CORO_PAUSED};
	coro_scheduler *s;

	CHECK_EQ(coro_scheduler_init(&s, &o), CORO_OK);
	CHECK_EQ(coro_scheduler_spawn(s, NULL, starts_typed, NULL, 0, NULL), CORO_OK);
	CHECK_EQ(coro_scheduler_run(s), CORO_OK);
	CHECK_EQ(coro_scheduler_destroy(s), CORO_OK);
	CHECK_EQ(all_right, 1);
}

/* Code that begins as a description does, in a segment that is executed. */
__asm__(".pushsection .text\n\t"
	".balign 8\n\t"
	"t_body_code: .quad 0x01ca80c0de0f6279\n\t"
	".zero 64\n\t"
	".popsection");
extern const char t_body_code[];

TEST(body_that_is_a_function_is_never_taken_for_a_description)
{
	struct coro_body_desc d;
	uint64_t first;

	memcpy(&first, t_body_code, sizeof first);
	CHECK_EQ(first, CORO_BODY_MAGIC);
	CHECK_EQ(coroi_body_look(t_body_code, &d), COROI_BODY_FUNCTION);
	CHECK_EQ(coroi_body_look((const void *)(uintptr_t)t_body_add, &d), COROI_BODY_FUNCTION);
	/* of a library */
	CHECK_EQ(coroi_body_look((const void *)(uintptr_t)memcpy, &d), COROI_BODY_FUNCTION);

	/* made at run time: whatever it begins with, and without leave to read it */
	char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(made != MAP_FAILED);
	memcpy(made, &t_body_add_body, sizeof t_body_add_body);
	CHECK_EQ(coroi_body_look(made, &d), COROI_BODY_FUNCTION);
	CHECK(!mprotect(made, 4096, PROT_EXEC));
	CHECK_EQ(coroi_body_look(made, &d), COROI_BODY_FUNCTION);
	munmap(made, 4096);
}

TEST(body_that_is_a_variable_of_another_kind_is_refused)
{
	static struct {
		char odd;
		struct coro_body_desc d;
	} copy;
	static const char text[] = "read-only";
	struct coro_body_desc d;

	copy.d = t_body_add_body;
	CHECK_EQ(coroi_body_look(&copy.d, &d), COROI_BODY_DESCRIBED);
	copy.d.magic++; /* of another layout */
	CHECK_EQ(coroi_body_look(&copy.d, &d), COROI_BODY_NEITHER);
	copy.d.magic--;
	memmove((char *)&copy.d - 1, &copy.d, sizeof copy.d);
	CHECK_EQ(coroi_body_look((char *)&copy.d - 1, &d), COROI_BODY_NEITHER);
	CHECK_EQ(coroi_body_look(&all_right, &d), COROI_BODY_NEITHER);
	CHECK(coroi_body_look(text, &d) != COROI_BODY_DESCRIBED);
}
