/*
 * stand_io.c - stands in for base/sysio.c in the explored copy of the core, and for the eventfds of
 * base/sys.c: descriptors with a peer, and sets of them, edge-triggered as Linux has them.
 *
 * What comes to a descriptor makes it ready in each set in which it is; so does adding it to a set
 * while there is something. A look into a set tells for each ready descriptor what is there by
 * then, and the descriptor is ready no more. A bell is level-triggered: ready until it is cleared.
 * Each call is one step.
 */
#include "world.h"

#include "base/sys.h"
#include "base/sysio.h"

#include <errno.h>

#define SETS_MOST  2
#define FIRST_SET  32 /* numbers */
#define FIRST_BELL 48
#define RUNG       (UINT32_C(1) << 31)

static struct {
	struct descriptor {
		bool open, is_in[SETS_MOST];
		uint8_t kind, end, of; /* of: the open file description, by its first number */
		char value;
		uint32_t bytes;
		uint64_t data;
	} descriptor[1 + WORLD_DESCRIPTORS];
	/* A bit for each descriptor, and for the bell: ready. A thread sleeps at the word. */
	uint32_t ready[SETS_MOST];
	unsigned sets, bells, set_of_bell[SETS_MOST];
	bool blocks[1 + WORLD_DESCRIPTORS];     /* by the description */
	uint32_t closed[1 + WORLD_DESCRIPTORS]; /* times; who awaits that sleeps at the word */
} io;

void world_io_regions(void)
{
	world_mode_regions(); /* each adoption takes a lock there */
	world_region(&io, sizeof io);
}

/* descriptor_of - a system call is about to use the descriptor. */
static struct descriptor *descriptor_of(int fd)
{
	if (fd < 1 || fd > WORLD_DESCRIPTORS || !io.descriptor[fd].open)
		ex_fail("a system call with the descriptor %d, which is closed", fd);
	return &io.descriptor[fd];
}

/* -------------------------------------------------------------------------------- readiness */

/* told - the events that a look would tell now. */
static uint32_t told(const struct descriptor *d)
{
	uint32_t events = d->bytes ? EPOLLIN : 0;

	if (d->end == WORLD_FIN)
		events |= EPOLLIN | EPOLLRDHUP;
	if (d->end == WORLD_RESET)
		events |= EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
	return events;
}

static void make_ready(unsigned set, uint32_t bit)
{
	io.ready[set] |= bit;
	ex_wake(&io.ready[set], 1);
}

void world_descriptor(int fd, int kind)
{
	ex_call("a new descriptor");
	io.descriptor[fd] = (struct descriptor){
		.open = true, .kind = (uint8_t)kind, .of = (uint8_t)fd};
}

void world_share(int fd, int of)
{
	io.descriptor[fd] = io.descriptor[of];
	io.blocks[of] = true;
}

bool world_blocks(int fd)
{
	return io.blocks[io.descriptor[fd].of];
}

void world_comes(int fd, unsigned n, char value, enum world_end end)
{
	struct descriptor *d = &io.descriptor[fd];

	ex_call("a peer sends");
	if (!d->open)
		return;
	d->bytes += n;
	d->value = value;
	d->end = (uint8_t)end;
	for (unsigned i = 0; i < SETS_MOST; i++)
		if (d->is_in[i])
			make_ready(i, 1u << fd);
}

unsigned world_unread(int fd)
{
	return io.descriptor[fd].bytes;
}

unsigned world_sets_of(int fd)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SETS_MOST; i++)
		n += io.descriptor[fd].is_in[i];
	return n;
}

void world_await_close(int fd)
{
	ex_call("await a close");
	if (!io.closed[fd])
		ex_sleep(&io.closed[fd], -1);
}

/* ------------------------------------------------------------------------------------- sets */

int coroi_set_open(void)
{
	ex_call("open a set");
	return io.sets < SETS_MOST ? FIRST_SET + (int)io.sets++ : -EMFILE;
}

int coroi_set_add(int set, int fd, uint32_t events, uint64_t data)
{
	unsigned i = (unsigned)(set - FIRST_SET);

	ex_call("add to a set");
	if (fd >= FIRST_BELL) {
		io.set_of_bell[fd - FIRST_BELL] = i;
		return 0;
	}
	struct descriptor *d = descriptor_of(fd);
	EX_CHECK(events & EPOLLET && !d->is_in[i]);
	d->is_in[i] = true;
	d->data = data;
	if (COROI_MUTANT(FD_ADD_SILENT, told(d) & (events | EPOLLHUP | EPOLLERR), 0))
		make_ready(i, 1u << fd);
	return 0;
}

int coroi_set_remove(int set, int fd)
{
	unsigned i = (unsigned)(set - FIRST_SET);

	ex_call("remove from a set");
	EX_CHECK(descriptor_of(fd)->is_in[i]);
	io.descriptor[fd].is_in[i] = false;
	io.ready[i] &= ~(1u << fd);
	return 0;
}

/* take - the events that are ready. */
static int take(unsigned set, struct epoll_event *event, int most)
{
	int n = 0;

	if (io.ready[set] & RUNG)
		event[n++] = (struct epoll_event){.events = EPOLLIN, .data.u64 = 0};
	COROI_MUTANT_ADDS(SET_BELL_EDGE, io.ready[set] &= ~RUNG;)
	for (int fd = 1; fd <= WORLD_DESCRIPTORS && n < most; fd++) {
		const struct descriptor *d = &io.descriptor[fd];
		if (!(io.ready[set] & 1u << fd))
			continue;
		io.ready[set] &= ~(1u << fd);
		if (told(d))
			event[n++] = (struct epoll_event){.events = told(d), .data.u64 = d->data};
	}
	return n;
}

int coroi_set_wait(int set, struct epoll_event *event, int most, int64_t ns)
{
	unsigned i = (unsigned)(set - FIRST_SET);

	ex_call("wait in a set");
	int n = take(i, event, most);
	if (n && ns == 0 && event[n - 1].data.u64)
		ex_reached(WORLD_POLLED);
	if (n || ns == 0)
		return n;
	do { /* another thread may take what has woken this one */
		ex_sleep(&io.ready[i], ns);
		n = take(i, event, most);
	} while (!n && ns < 0);
	if (!n)
		ex_pass(ns);
	if (n)
		ex_reached(event[n - 1].data.u64 ? WORLD_SLEPT : WORLD_RUNG);
	return n;
}

/* There is no Go here. A scenario that hears Go's bell waits at a word. */
uint32_t world_bell;

int coroi_event_open(void)
{
	ex_call("open a bell");
	return io.bells < SETS_MOST ? FIRST_BELL + (int)io.bells++ : -1;
}

void coroi_event_ring(int fd)
{
	if (fd < FIRST_BELL) {
		at_xchg(&world_bell, 1);
		coroi_futex_wake(&world_bell, 1);
		return;
	}
	ex_call("ring");
	make_ready(io.set_of_bell[fd - FIRST_BELL], RUNG);
}

void coroi_event_clear(int fd)
{
	ex_call("clear a bell");
	io.ready[io.set_of_bell[fd - FIRST_BELL]] &= ~RUNG;
}

void coroi_event_close(int fd)
{
	(void)fd;
}

/* ------------------------------------------------------------------------------ descriptors */

int coroi_kind(int fd, uint32_t *file)
{
	struct descriptor *d = descriptor_of(fd);

	*file = d->of;
	return d->kind;
}

int coroi_set_nonblocking(int fd, bool nonblocking)
{
	ex_call(nonblocking ? "set O_NONBLOCK" : "clear O_NONBLOCK");
	bool *blocks = &io.blocks[descriptor_of(fd)->of], was = !*blocks;
	*blocks = !nonblocking;
	return was;
}

bool coroi_same_description(int a, int b)
{
	return descriptor_of(a)->of == descriptor_of(b)->of;
}

void coroi_close(int fd)
{
	ex_call("close");
	EX_CHECK(!world_sets_of(fd));
	descriptor_of(fd)->open = false;
	io.closed[fd]++;
	ex_wake(&io.closed[fd], 1);
}

int64_t coroi_sys_read(int fd, void *buffer, size_t bytes)
{
	ex_call("read");
	struct descriptor *d = descriptor_of(fd);
	if (!d->bytes)
		return d->end == WORLD_RESET ? -ECONNRESET : d->end == WORLD_FIN ? 0 : -EAGAIN;
	if (bytes > d->bytes)
		bytes = d->bytes;
	memset(buffer, d->value, bytes);
	d->bytes -= (uint32_t)bytes;
	return (int64_t)bytes;
}

int64_t coroi_sys_recv(int fd, void *buffer, size_t bytes, int flags)
{
	(void)flags;
	return coroi_sys_read(fd, buffer, bytes);
}

int64_t coroi_sys_write(int fd, const void *buffer, size_t bytes)
{
	(void)buffer;
	(void)bytes;
	ex_call("write");
	return descriptor_of(fd)->end == WORLD_RESET ? -EPIPE : -EAGAIN;
}

int64_t coroi_sys_send(int fd, const void *buffer, size_t bytes, int flags)
{
	(void)flags;
	return coroi_sys_write(fd, buffer, bytes);
}

int coroi_ready(int fd, short events)
{
	ex_call("poll");
	/* the bits of epoll(7) are those of poll(2) */
	return (told(descriptor_of(fd)) & ((uint32_t)events | EPOLLHUP | EPOLLERR)) != 0;
}

/* No scenario makes these calls. */
#define UNUSED(type, name, ...)                              \
	type name(__VA_ARGS__)                               \
	{                                                    \
		ex_fail("%s, which is not modelled", #name); \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

UNUSED(int64_t, coroi_sys_readv, int fd, const struct iovec *v, int n)
UNUSED(int64_t, coroi_sys_writev, int fd, const struct iovec *v, int n)
UNUSED(int64_t, coroi_sys_recvmsg, int fd, struct msghdr *m, int flags)
UNUSED(int64_t, coroi_sys_sendmsg, int fd, const struct msghdr *m, int flags)
UNUSED(int64_t, coroi_sys_sendfile, int to, int from, int64_t *offset, size_t bytes)
UNUSED(int, coroi_sys_accept, int fd, struct sockaddr *peer, socklen_t *length)
UNUSED(int, coroi_sys_connect, int fd, const struct sockaddr *to, socklen_t length)
UNUSED(int, coroi_sys_shutdown, int fd, int how)
UNUSED(int, coroi_sys_unsent, int fd)
UNUSED(int, coroi_sys_waiting, int fd)
UNUSED(void, coroi_sys_prompt, int fd)
UNUSED(int64_t, coroi_sys_pread, int fd, const struct iovec *v, int n, int64_t offset, bool now)
UNUSED(int64_t, coroi_sys_pwrite, int fd, const struct iovec *v, int n, int64_t offset, bool now)
UNUSED(int, coroi_sys_fsync, int fd)
UNUSED(int, coroi_sys_getaddrinfo, const char *node, const char *service,
       const struct addrinfo *hints, struct addrinfo **out)
UNUSED(void, coroi_sys_freeaddrinfo, struct addrinfo *list)
