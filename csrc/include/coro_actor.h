/*
 * coro_actor.h - actors: state that belongs to nobody but one function, to which others send
 * messages. coro.h tells what holds for all calls.
 *
 * An actor has a reference, a mailbox, a state, and a behaviour: a function that is called with
 * messages, oldest first. It is called by a coroutine of the actor's scheduler, which starts when a
 * message comes to an empty mailbox, and ends when the mailbox is empty again: a turn. No two turns
 * of one actor overlap, so that the state needs no lock. Between turns an actor is 32 bytes.
 *
 *   Order      Messages of one sender to one actor are handled in the order of the sends.
 *   Fairness   A turn that has lasted for 20 us ends, and the actor goes to the back of its
 *              worker's queue. A coroutine that sends into a mailbox with more than 256 messages
 *              yields once. Neither bounds a mailbox; see coro_actor_kind.room.
 *   Where      An actor runs on the worker of the coroutine that woke it, until another worker
 *              steals its turn. One that is woken from a dedicated worker, or from outside, runs on
 *              a general one; one that is pinned (coro_actor_spawn_on), on its worker.
 *   Accepted   A message that was accepted (CORO_OK) is handled, or becomes a dead letter, or its
 *              sender has taken it back (coro_actor_ask_lend, coro_actor_take_back): one of the
 *              three, once. Each is
 *              counted. A message that was not accepted is nowhere.
 *   End        An actor with messages is work: coro_scheduler_wait and coro_scheduler_run wait for
 *              it. An idle actor is none. It ends with its scheduler, at the latest.
 */
#ifndef CORO_ACTOR_H
#define CORO_ACTOR_H

#include "coro.h"

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Names one actor of the process. A reference whose actor has ended is stale: calls with it return
 * CORO_ESTALE. So they do with a number that was never a reference. 0 is none. A place for actors
 * is used 65 535 times, each time with another reference, and then no more. */
typedef uint64_t coro_actor;

#define CORO_MESSAGE_BYTES 48 /* most bytes of a message */

/* Memory that a message owns. If destroy is not NULL it is called once, when the message was
 * handled or has become a dead letter, unless coro_message_take has taken the block. It may send,
 * and must return. */
typedef struct coro_block {
	void *data;
	size_t bytes;
	void (*destroy)(void *data, size_t bytes);
} coro_block;

/* A message, while its behaviour is called. The behaviour may write to the payload. */
typedef struct coro_message {
	struct coro_message *next_; /* the core's */
	uint16_t depth_;
	uint8_t flags_;
	uint8_t bytes; /* of the payload */
	uint32_t kind; /* the sender's; from CORO_MESSAGE_SYSTEM on the core's */
	union {
		unsigned char payload[CORO_MESSAGE_BYTES];
		uint64_t words[CORO_MESSAGE_BYTES / 8];
		coro_block block; /* of coro_actor_send_block */
	};
} coro_message;

#define CORO_MESSAGE_SYSTEM UINT32_C(0xffff0000) /* kinds that no sender may use */

/* A turn, as its behaviour sees it. */
typedef struct coro_actor_turn {
	void *place_; /* the core's */
	coro_actor self;
	/* How many messages of the batch are done: 0 when the behaviour is called. It counts only
	 * if the behaviour does not return: see coro_behaviour. */
	uint32_t handled;
	uint32_t flags_;
	coro_message *last_;
} coro_actor_turn;

/*
 * What an actor does with its messages: n of them, 1 or more, oldest first. They are gone when the
 * call returns. The behaviour may send, wait, park, call Go, spawn, and do what any coroutine may,
 * while other messages wait. What it defers (coro_defer) runs, and what it has allocated
 * (coro_malloc) is freed, when the call has returned.
 *
 * Returns: how many messages are handled, the first ones. Usually n. Those that are left, and what
 * came meanwhile, are for the next call, which has another behaviour after coro_actor_become, and
 * does not come after coro_actor_stop: they are dead letters then.
 *
 * A behaviour that ends its coroutine ends the turn, not the actor. turn->handled messages were
 * handled before. The one behind them is handled too if it was coro_exit; if it was coro_abort or
 * coro_fail, it is a dead letter (CORO_DEAD_FAILED). The others of the batch come with the next
 * turn. So a behaviour that may end so counts in turn->handled, or has a batch of 1. If its
 * coroutine was canceled (coro_cancel), the turn ends after this call, and the next turn is not
 * canceled.
 *
 * A behaviour that never returns keeps its actor's messages waiting for ever, and the scheduler
 * from its end, as any coroutine does.
 */
typedef size_t (*coro_behaviour)(coro_actor_turn *turn, void *state, coro_message *const *messages,
				 size_t n);

/* Why an actor has ended, and why a message is a dead letter. */
enum {
	CORO_DEAD_STOPPED = 1, /* by coro_actor_stop, or behind coro_actor_drain */
	CORO_DEAD_FAILED = 2, /* of messages alone: the behaviour has aborted, or failed, with it */
	CORO_DEAD_CLOSED = 3, /* the scheduler was closed */
	CORO_DEAD_IDLE = 4,   /* of actors alone: see coro_actor_kind.idle */
	CORO_DEAD_CAUSES = 5
};

/* What several actors have in common. It must stay, unchanged, while they live. Zero it, set
 * behave, then what is wanted. */
typedef struct coro_actor_kind {
	uint32_t size; /* sizeof(coro_actor_kind), or 0 */
	/* Most messages of one call, 1 to 64, however long they take; 0: 64, and fewer where a
	 * message takes long. */
	uint32_t batch;
	coro_behaviour behave;
	/* Called once, when the actor has ended, in its last turn, after its messages; or by the
	 * thread that closes the scheduler, if cause is CORO_DEAD_CLOSED. To its own reference it
	 * can send no more. NULL: nothing. */
	void (*end)(void *state, int cause);
	uint32_t room;  /* most messages that wait, at most CORO_ROOM_MAX; 0: no limit */
	uint32_t flags; /* CORO_ACTOR_BRIEF, or 0 */
	/* An actor that had no message for so long, ns, ends (CORO_DEAD_IDLE), after 1 to 1.5 times
	 * that. CORO_IDLE_MIN at least; 0: never. A message that comes meanwhile decides: it is
	 * handled, and the actor goes on, or it is refused. It costs a look at the clock a turn,
	 * and a walk over all actors 8 times in the shortest idle time of a kind. */
	uint64_t idle;
	/* Which words of the actor's messages, and of its answers, hold buffers (coro_buffer.h):
	 * bits of coro_buffer_word. 0: none. See CORO_CARRY_BYTES. */
	uint32_t buffers, answer_buffers;
} coro_actor_kind;

/*
 * The behaviour, and `end`, keep the promise of CORO_BRIEF (coro.h): a call takes some
 * microseconds, never blocks its thread, and needs nothing that a sender holds. So where a thread
 * that is no worker sends to such an actor, and a worker sleeps, the actor's turn runs on the
 * sender's thread before the send returns: no thread is woken, and an answer is there at once. What
 * comes of it, and is brief, runs there too, for 15 us at most; all else is the worker's. Pinned
 * actors never run so. The flag counts at the spawn of an actor, and not in coro_actor_become.
 * 512 functions of a process can be brief: those of further kinds are not.
 */
#define CORO_ACTOR_BRIEF UINT32_C(1)

/*
 * Buffers in messages. Each message that is sent to an actor of a kind with `buffers` has a
 * coro_buffer, or 0, in these words, as far as they lie within its bytes; those of the core, and of
 * coro_actor_send_block, have none. The behaviour owns the buffers of a message that it handles,
 * and frees them or sends them on. The buffers of a message that is accepted and not handled are
 * freed, after the hook of dead letters, which may send them on. An answer of such an actor passes
 * the buffers in the words `answer_buffers`: who asks owns them.
 *
 *   Sent        The sender's handle is stale. With an error nothing has changed: CORO_EINVAL also
 *               for a buffer that is stale, CORO_EBUSY for one that Go uses.
 *   Taken back  coro_actor_take_back, and coro_actor_ask_lend with CORO_ETIMEDOUT or
 *               CORO_ECANCELED: the sender owns the buffers by the handles that it has sent, but
 *               for those that a call of the behaviour has freed or sent on. A handle that such a
 *               call keeps, of a message it has left, is wrong: it may name the buffer again.
 *   Late        An answer to one that waits no more is CORO_ESTALE, and the buffers stay those of
 *               the one that answers.
 *   Size        A message to a kind with `buffers` has CORO_CARRY_BYTES at most, and so has an
 *               answer with buffers that comes as a message (coro_actor_ask_then).
 *   Cost        Some 50 ns a message. Such actors are at home nowhere.
 */
#define CORO_CARRY_BYTES 40

#define CORO_ROOM_MAX (UINT32_C(1) << 30)
#define CORO_IDLE_MIN (UINT64_C(1) << 22) /* 4 ms */

/*
 * coro_actor_spawn - a new actor of s (NULL: the scheduler of the calling coroutine), with a state.
 * No turn begins before the first message.
 *
 * Blocking: may map 2 MiB.
 * Cost:     some 20 ns.
 * Returns:  CORO_OK and *out, CORO_EINVAL, CORO_EPERM (s is NULL outside of a scheduled coroutine),
 *           CORO_ENOMEM, CORO_ECLOSED.
 */
int coro_actor_spawn(coro_scheduler *s, const coro_actor_kind *kind, void *state, coro_actor *out);

/*
 * coro_actor_spawn_on - the same, and all turns of the actor run on one worker, as pinned
 * coroutines do: a library that wants all calls from one thread, or data that lies in one core's
 * cache. worker as in coro_attr: its number + 1, or CORO_HERE; 0: as coro_actor_spawn. Use a
 * dedicated worker, or the main one (coro_scheduler_host), where others shall not keep the actor
 * waiting, nor it them.
 *
 * Cost:    waking it from another worker as much as a wake-up of a coroutine there, from its own
 *          30 ns more than another actor.
 * Returns: as coro_actor_spawn; CORO_EINVAL: the scheduler has no such worker.
 */
int coro_actor_spawn_on(coro_scheduler *s, uint32_t worker, const coro_actor_kind *kind,
			void *state, coro_actor *out);

/*
 * coro_actor_send - send a message of a kind, with a payload of 0 to CORO_MESSAGE_BYTES bytes,
 * which are copied. From any coroutine or thread.
 *
 * Suspends: a coroutine, once, if more than 256 messages wait already; not in a no-wait section.
 * Blocking: of a thread that is no worker of the actor's scheduler: for a mutex, as
 *           coro_scheduler_spawn.
 * Cost:     10 ns, 50 from outside; handling it as much again.
 * Returns:  CORO_OK: accepted. CORO_ESTALE; CORO_EINVAL; CORO_ENOMEM: no message can be had (see
 *           coro_actor_limit), or no turn be started; CORO_ECLOSED from outside.
 */
int coro_actor_send(coro_actor to, uint32_t kind, const void *payload, size_t bytes);

/*
 * coro_actor_send_many - the same n times, with payloads that lie one behind the other. They follow
 * each other in the mailbox, with no other message between them.
 *
 * Cost:    5 ns a message.
 * Returns: as coro_actor_send. With an error none was accepted.
 */
int coro_actor_send_many(coro_actor to, uint32_t kind, const void *payloads, size_t bytes,
			 size_t n);

/* coro_actor_send_block - send memory that the message owns from now on. With an error the block
 * is the caller's as before. Returns: as coro_actor_send. */
int coro_actor_send_block(coro_actor to, uint32_t kind, const coro_block *block);

/* coro_message_take - the block of a message is the behaviour's from now on, and not destroyed
 * with it. Returns: CORO_OK and *out; CORO_EINVAL: the message has none, or it was taken. */
int coro_message_take(coro_message *m, coro_block *out);

/*
 * coro_actor_send_until - as coro_actor_send, but where the actor's kind has a room, and that is
 * full, wait until the deadline for a space. coro_actor_send and its like return CORO_EOVERFLOW
 * then. coro_actor_send_many takes all its spaces or none. A message has its space until it is
 * handled. coro_actor_drain, coro_actor_stop and coro_actor_send_urgent need none.
 *
 * Suspends; a thread waits.
 * Cost:    some 60 ns more, for a mailbox that has a room.
 * Returns: also CORO_ETIMEDOUT; CORO_ECANCELED; CORO_ENOWAIT; CORO_EDEADLK: from the actor itself,
 *          whose turn would wait for itself.
 */
int coro_actor_send_until(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			  uint64_t deadline);

/* Names a message that is to be sent later. One whose message is there no more names none. Zero it
 * for none. */
typedef struct coro_later {
	coro_actor to_;     /* the core's */
	uint64_t words_[2]; /* the core's */
} coro_later;

/*
 * coro_actor_send_after - as coro_actor_send, ns nanoseconds from now. The message is accepted now:
 * if the actor ends before, it becomes a dead letter at once, with the cause of the end. Until it
 * is sent, or dead, it is work: the end of the scheduler waits for it. It is never early, and late
 * by some 100 us. Messages that are due at the same time come in the order of the calls. If out is
 * not NULL, *out names the message for coro_actor_take_back.
 *
 * Cost:    some 100 ns, and as many when it is sent; some 90 bytes until then.
 * Returns: as coro_actor_send.
 */
int coro_actor_send_after(coro_actor to, uint64_t ns, uint32_t kind, const void *payload,
			  size_t bytes, coro_later *out);

/*
 * coro_actor_take_back - take a message of coro_actor_send_after back: it is not handled, and no
 * work any more. Thread: any.
 *
 * Blocking: for a mutex, as coro_actor_send_after.
 * Cost:     some 100 ns; the logarithm of how many messages are to be sent later.
 * Returns:  CORO_OK: the message is gone, and what it owned destroyed. CORO_ESTALE: it was sent,
 *           and is handled or will be; or it is a dead letter, or was taken back. CORO_EINVAL:
 *           later is NULL. CORO_ECLOSED from outside, where a close has begun.
 */
int coro_actor_take_back(const coro_later *later);

/* coro_actor_send_urgent - as coro_actor_send, but the message overtakes those that wait, except
 * other urgent ones. Cost: 50 ns more; the first one to an actor makes an allocation. */
int coro_actor_send_urgent(coro_actor to, uint32_t kind, const void *payload, size_t bytes);

/*
 * coro_actor_watch - send `watcher` one message of kind CORO_MESSAGE_ENDED, with a coro_ended, when
 * target has ended: exactly one for each call, also if it had ended before, when the cause is 0. It
 * comes when target accepts no message any more; its kind's `end` may not have been called. None is
 * sent when the scheduler closes. Both are of one scheduler.
 *
 * Cost:    50 ns; the first watcher of an actor makes an allocation.
 * Returns: CORO_OK; CORO_ESTALE: watcher has ended; CORO_ENOMEM; CORO_EPERM: target is another
 *          scheduler's; CORO_ECLOSED from outside.
 */
int coro_actor_watch(coro_actor watcher, coro_actor target);

/* coro_actor_unwatch - take one such call back. Cost: a look at each watcher of target. Returns:
 * CORO_OK: no message comes of it; CORO_ESTALE: there is none to take back. */
int coro_actor_unwatch(coro_actor watcher, coro_actor target);

typedef struct coro_ended {
	coro_actor actor;
	int32_t cause; /* CORO_DEAD_...; 0: it had ended before */
	uint32_t unused;
} coro_ended;

/* Kinds of messages that the core sends. */
#define CORO_MESSAGE_ENDED      CORO_MESSAGE_SYSTEM       /* payload: coro_ended */
#define CORO_MESSAGE_UNANSWERED (CORO_MESSAGE_SYSTEM + 1) /* words[0]: the kind of the answer */

#define CORO_ASK_BYTES 32 /* most bytes of a message that asks */

typedef struct coro_answer {
	size_t bytes;
	union {
		unsigned char payload[CORO_MESSAGE_BYTES];
		uint64_t words[CORO_MESSAGE_BYTES / 8];
	};
} coro_answer;

/*
 * coro_actor_ask - send a message, of CORO_ASK_BYTES at most, and wait for its answer. From a
 * coroutine or a thread. In a behaviour the turn waits, and with it the actor's messages:
 * coro_actor_ask_then does not.
 *
 * Suspends; a thread waits.
 * Cost:    200 ns more than a message there and one back.
 * Returns: CORO_OK and *answer. CORO_ENDED: it was handled without an answer, or has become a dead
 *          letter. CORO_EDEADLK: to ask the actor itself, or one that waits for the answer of one
 *          that waits ... for that of the actor: see coro_actor_on_deadlock. CORO_ETIMEDOUT,
 *          CORO_ECANCELED: an answer that comes later is dropped. CORO_ENOWAIT, and what
 *          coro_actor_send_until returns.
 */
int coro_actor_ask(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
		   coro_answer *answer, uint64_t deadline);

/*
 * coro_actor_ask_lend - as coro_actor_ask, and the payload may have addresses of the asker's
 * memory, of its stack too. The behaviour may use that memory during the call that has the message,
 * until it answers it; and the ask returns before that, or afterwards, never between:
 *
 *   taken back    The deadline comes, or a cancel, and no call has the message: none will. The ask
 *                 returns CORO_ETIMEDOUT or CORO_ECANCELED. The message is neither handled nor a
 *                 dead letter; coro_actor_stats.taken_back counts it when the actor comes to it.
 *   begun         A call has it. The ask waits on, whatever its deadline, and a cancel is held off,
 *                 until the message is answered, or the call returns, or ends by a failure.
 *   left          The call returns, and leaves the message for the next call. Between the two it
 *                 is not begun. The deadline counts again.
 *
 * So a behaviour that is to be left soon returns soon: a deadline does not interrupt it. It reads
 * and writes nothing that was lent after its answer. The message cannot be kept (coro_message_keep
 * returns CORO_EINVAL), as nobody could say then whether the asker is still there. The hook of dead
 * letters may use the memory, too.
 *
 * Suspends; a thread waits.
 * Cost:    as coro_actor_ask, and some 40 ns; in a coroutine the first time an allocation.
 * Returns: as coro_actor_ask; CORO_ENOWAIT in a no-wait section, whatever the deadline.
 *          CORO_ENOMEM: nothing was sent.
 */
int coro_actor_ask_lend(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			coro_answer *answer, uint64_t deadline);

/* One question of coro_actor_ask_all. Zero it, then set to, and what is wanted. */
typedef struct coro_ask {
	coro_actor to;
	const void *payload;
	size_t bytes; /* of the payload, CORO_ASK_BYTES at most */
	uint32_t kind;
	uint32_t flags;     /* CORO_ASK_LENDS, or 0 */
	int status;         /* what has become of it: as coro_actor_ask, or coro_actor_ask_lend */
	coro_answer answer; /* if status is CORO_OK */
} coro_ask;

#define CORO_ASK_LENDS UINT32_C(1) /* as coro_actor_ask_lend */
#define CORO_ASKS_MOST 64          /* most questions of one call */

/*
 * coro_actor_ask_all - ask several actors, or one several times, and wait for all answers, by one
 * deadline. All messages are sent before the first answer is waited for, in order; the caller waits
 * once, and goes on with the last answer. Each question comes to an end of its own: those that were
 * answered when the deadline or a cancel comes have their answers. In a behaviour the turn waits.
 *
 * Suspends, for the answers and for spaces in bounded mailboxes; a thread waits.
 * Cost:    less than as many calls of coro_actor_ask: one wait.
 * Returns: CORO_OK: all were answered; else the first status in order that is not CORO_OK. Nothing
 *          was sent, and all have that status: CORO_ENOMEM, CORO_ENOWAIT, CORO_EINVAL for a flag
 *          that is none. CORO_EINVAL, and no status is written: n is more than CORO_ASKS_MOST, or
 *          asks is NULL.
 */
int coro_actor_ask_all(coro_ask *asks, size_t n, uint64_t deadline);

/* coro_actor_ask_then - send a message, of CORO_ASK_BYTES at most, whose answer comes to `asker` as
 * one more message, of answer_kind; or, if there is none, as CORO_MESSAGE_UNANSWERED. Both are of
 * one scheduler. Returns: as coro_actor_send, and CORO_EPERM. */
int coro_actor_ask_then(coro_actor to, uint32_t kind, const void *payload, size_t bytes,
			coro_actor asker, uint32_t answer_kind);

/* coro_message_answer - answer a message that asks, once. Returns: CORO_OK; CORO_EINVAL: it does
 * not ask, or was answered, or a buffer of the payload is stale; CORO_ESTALE: nobody waits any
 * more; CORO_ENOMEM, CORO_EBUSY: try again, with the same message. */
int coro_message_answer(coro_message *m, const void *payload, size_t bytes);

/* Who waits for an answer. */
typedef struct coro_asker {
	uint64_t words[2];
} coro_asker;

/* coro_message_keep - answer later, from anywhere, by coro_asker_answer, once; or never, which
 * leaves the asker to its deadline. Returns: CORO_OK and *out; CORO_EINVAL: it does not ask, or was
 * answered, or lends (coro_actor_ask_lend). */
int coro_message_keep(coro_message *m, coro_asker *out);
int coro_asker_answer(const coro_asker *asker, const void *payload, size_t bytes);

/* coro_actor_on_deadlock - for the whole process, what is called when a coro_actor_ask would wait
 * for itself: actor 0 asks actor 1, which waits for the answer of actor 2, and so on; the last
 * waits for that of actor 0. NULL: a line to stderr. The hook must not wait. Returns: the hook
 * before. */
typedef void (*coro_deadlock_hook)(const coro_actor *cycle, size_t n);
coro_deadlock_hook coro_actor_on_deadlock(coro_deadlock_hook hook);

/* coro_actor_become - the next call has this kind's behaviour, batch and end. Room, idle time and
 * the words of buffers stay: kind has the same. Thread: the actor's behaviour. Returns: CORO_OK,
 * CORO_EINVAL. */
int coro_actor_become(coro_actor_turn *turn, const coro_actor_kind *kind);

/*
 * coro_actor_stop - end the actor when the call of its behaviour that is under way has returned, or
 * at once. What is in its mailbox then becomes dead letters. It overtakes all messages. A second
 * stop changes nothing. A behaviour may stop its own actor.
 *
 * Returns: CORO_OK, CORO_ESTALE; nothing has changed: CORO_ENOMEM, CORO_ECLOSED from outside.
 */
int coro_actor_stop(coro_actor actor);

/* coro_actor_drain - the same when all messages were handled that are accepted by now. Those that
 * are accepted later become dead letters. Returns: as coro_actor_send. */
int coro_actor_drain(coro_actor actor);

/* coro_actor_limit - the most bytes of memory for messages (64 each, in chunks of 256 KiB) that the
 * actors of s may use; 0: no limit. Returns: CORO_OK, CORO_EINVAL, CORO_ENOMEM, CORO_ECLOSED. */
int coro_actor_limit(coro_scheduler *s, size_t bytes);

typedef struct coro_actor_stats {
	uint64_t actors;                 /* that live */
	uint64_t spawned;                /* until now */
	uint64_t accepted;               /* messages */
	uint64_t handled;                /* of those */
	uint64_t dead[CORO_DEAD_CAUSES]; /* of those, by cause */
	uint64_t taken_back;             /* of those, by their senders */
	uint64_t message_bytes;          /* memory for messages, in use or spare */
	uint64_t retired;                /* places whose references are used up */
} coro_actor_stats;

/* coro_actor_stats_of - figures of the actors of s, also after its close. While messages are sent
 * they do not fit together exactly; at rest accepted is handled, all dead, and taken_back.
 * Returns: CORO_OK, CORO_EINVAL. */
int coro_actor_stats_of(coro_scheduler *s, coro_actor_stats *out);

/* A message that was accepted, and is not handled. */
typedef struct coro_dead_letter {
	coro_actor to;
	const coro_message *message;
	int cause;
} coro_dead_letter;

typedef void (*coro_dead_letter_hook)(const coro_dead_letter *);

/* coro_actor_on_dead_letter - for the whole process, what is called with each dead letter, before
 * its block is destroyed: by the actor's last turn, or the thread that closes the scheduler. It
 * must not wait. Returns: the hook before; NULL: none. */
coro_dead_letter_hook coro_actor_on_dead_letter(coro_dead_letter_hook hook);

#ifdef __cplusplus
}
#endif

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#endif
