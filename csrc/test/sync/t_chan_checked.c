/*
 * t_chan_checked.c - with CORO_DEBUG, what is sent and received has the size of the channel's
 * values.
 */
#define CORO_DEBUG
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct order {
	uint64_t words[8];
};

TEST(chan_element_bytes)
{
	for (size_t bytes = 0; bytes <= 64; bytes += 7) {
		coro_chan *c = channel(bytes, 1);
		CHECK_EQ(coro_chan_element_bytes(c), bytes);
		CHECK_EQ(coro_chan_free(c), CORO_OK);
	}
}

TEST(chan_checked_passes_what_fits)
{
	struct order o = {{1, 2, 3}}, got = {{0}};
	const struct order *from = &o;
	coro_chan *c = channel(sizeof o, 1);
	unsigned char raw[sizeof o];
	uint64_t words[8];
	void *anything = raw;
	char *chars = (char *)raw;

	CHECK_EQ(coro_chan_send(c, &o, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_OK);
	CHECK_EQ(got.words[2], 3);
	CHECK_EQ(coro_chan_send(c, from, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, words, 0), CORO_OK); /* an array of that size */
	CHECK_EQ(words[2], 3);
	CHECK_EQ(coro_chan_send(c, words, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, raw, 0), CORO_OK);
	CHECK_EQ(coro_chan_send(c, anything, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, chars, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_ETIMEDOUT);
	CHECK_EQ(coro_chan_send(NULL, &o, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_free(c), CORO_OK);

	c = channel(0, 1); /* nothing is copied */
	CHECK_EQ(coro_chan_send(c, NULL, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, &got, 0), CORO_OK);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}

/* said - stderr goes to `text`, from listen_to_stderr to heard. */
struct said {
	int text, before;
};

static struct said listen_to_stderr(void)
{
	struct said s = {memfd_create("said", 0), dup(2)};

	CHECK(s.text >= 0 && s.before >= 0);
	CHECK_EQ(dup2(s.text, 2), 2);
	return s;
}

static void heard(struct said s, char *text, size_t bytes)
{
	CHECK_EQ(dup2(s.before, 2), 2);
	memset(text, 0, bytes);
	CHECK(pread(s.text, text, bytes - 1, 0) > 0);
	close(s.text);
	close(s.before);
}

TEST(chan_checked_refuses_what_does_not_fit)
{
	struct order o = {{5}};
	uint64_t one = 7;
	uint32_t three[3] = {0};
	char name[16] = "unchanged", text[1000];
	coro_chan *c = channel(sizeof o, 2);
	struct said s = listen_to_stderr();

	CHECK_EQ(coro_chan_send(c, &one, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_length(c), 0);
	CHECK_EQ(coro_chan_send(c, &o, 0), CORO_OK);
	CHECK_EQ(coro_chan_recv(c, &one, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(c, three, 0), CORO_EINVAL);
	CHECK_EQ(coro_chan_recv(c, name, 0), CORO_EINVAL);
	heard(s, text, sizeof text);
	CHECK_EQ(one, 7);
	CHECK_EQ(strcmp(name, "unchanged"), 0);
	CHECK_EQ(coro_chan_length(c), 1);
	CHECK(strstr(text, ": coro_chan_send: the variable has 8 bytes, and each value of the "
			   "channel 64\n"));
	CHECK(strstr(text, ": coro_chan_recv: the variable has 12 bytes"));
	CHECK(strstr(text, ": coro_chan_recv: the variable has 16 bytes"));
	CHECK(strstr(text, "t_chan_checked.c:"));

	s = listen_to_stderr();
	CHECK_EQ(coro_chan_recv_checked(c, &one, 0, sizeof one, NULL), CORO_EINVAL);
	heard(s, text, sizeof text);
	CHECK(strstr(text, "coro: ?: coro_chan_recv: "));
	CHECK_EQ(coro_chan_recv(c, &o, 0), CORO_OK);
	CHECK_EQ(o.words[0], 5);
	CHECK_EQ(coro_chan_free(c), CORO_OK);
}
