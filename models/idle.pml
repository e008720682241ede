/*
 * idle.pml - workers that sleep and are woken, and the end of everything: SLP1 to SLP6 and WKW1 to
 * WKW4 of idle.c, with the standby, pauses, ends, pending-work tokens and timed waits.
 *
 * There are three workers. SCENE says what coroutines and threads outside do:
 *   1  flow     Two threads outside spawn. There is a queue to steal from, and a remote wake for a
 *               coroutine that is parked elsewhere. Then the scheduler is closed.
 *   2  loop     Two coroutines never return. What they spawned, what they woke (the next one) and
 *               the remote wakes in their workers' inboxes must be done by others. The end is never
 *               told.
 *   3  pending  A call is offloaded. Its completion comes by a push, from a thread that holds a
 *               pending-work token. Then the scheduler is closed.
 *   4  pause    There are two runs that come to rest. Spawns come before, during and between the
 *               runs, and remote wakes between workers.
 *   5  finish   One coroutine stays parked. The thread that waits for the end must never be told
 *               that all have ended.
 *   6  timed    A coroutine arms a timer for another, whose end arms one more. Their worker sleeps
 *               with a pending-work token until the timer is due, or is woken, or another fires the
 *               timer (a thief, the standby). Then the scheduler is closed. WAKE: the coroutine
 *               that waits may be woken first. BUSY: what wakes the worker is a coroutine that
 *               never returns, and others must fire the timers.
 *   7  outside  Each worker has a coroutine that waits for its driver, and so a pending-work token
 *               while it sleeps. Drivers have events, at any time; one is for a coroutine that never
 *               returns, with another one behind it. That must be done by another worker.
 *
 * The model is in parts:
 *   idle_state.pml    parameters, words, and what is not in the code
 *   idle_claims.pml   tokens and claims: WKW1 to WKW4
 *   idle_bodies.pml   what coroutines do
 *   idle_steal.pml    inboxes and steals: SLP6
 *   idle_sleep.pml    the standby, and sleeping: SLP5
 *   idle_worker.pml   a worker: SLP1 to SLP5
 *   idle_outside.pml  threads outside
 *
 * What is as in the code: activity, sleepers, ev and its futex, mode, hungry, standby, rests and
 * its futex. Each is read and written in the order of the code, one step each, by claim, claim_any,
 * coroi_notify_hungry, coroi_notify_pushed, coroi_wake_all, coroi_search, steal and take, park,
 * unpark, stand_by, stand_down, hand_over, look_around, sleep_until_claimed, worker_main,
 * resume_all, pause_at_rest, coroi_finished, coroi_rest_await and stop_threads, and by pushed of
 * submit.go. `turns` and `seen` are exact: moved[v] has the bit of each worker that has not noted
 * v's last turn.
 *
 * What is abstracted
 *   the door     What happens inside a door is one step: door.pml is about doors. What follows a
 *                step in the same door (notify_hungry after a drain) comes after the step. So
 *                others may do more in between than in the code.
 *   memory       is sequentially consistent. Every word that the protocol needs is changed by
 *                sequentially consistent operations only. The queue is behind the door. `hungry`
 *                and the lengths, which are read relaxed, are hints.
 *   coroutines   are bits. A queue is a set: its lowest member runs first, and its highest member
 *                is stolen first. Undelivered spawns count as queued: both are inside the door, and
 *                has_work and coroi_is_stuck look at both.
 *   time         Spinning ends at any time. The time-out of the standby comes when it would change
 *                something. So a state in which no process can do anything is a state without
 *                steps, and an error unless all is done. With HOLDS_OFF each worker that goes to
 *                sleep may hold off from stealing, until a time-out of its own. Until then it is
 *                not woken for a surplus, and becomes the standby in place of any other. Else the
 *                back-off from steals that do not pay only delays. Deadlines come one after the
 *                other, at any time (come). Then any worker that looks fires them, in the door of
 *                their worker, and the sleep of a worker that sleeps with a deadline ends. How late
 *                the standby is, is a matter of time, and not looked at.
 *   knocking     is never refused (a refusal costs a later look).
 *   stacks       are always to be had: no coroutine awaits a stack.
 *
 * What is claimed
 *   - Rest is not seen (activity zero in a run) while anything is owed: queued, the next one,
 *     running, or sent by a sender that is done with sending. Nor is rest seen while a queue has
 *     something, or a worker has a next one, whose sender is not done (assert in awake_end).
 *   - The thread that waits for the end is told, once the end is there, and not before. Every
 *     thread stops (asserts in closer, runner).
 *   - No worker sleeps on with something to do. With a standby, nothing stays behind a coroutine
 *     that computes (invalid end state, and assert in init).
 *
 * Some mutants are the code as it was before this model: MUTANT_COUNT_TOGETHER, MUTANT_NO_RISES,
 * MUTANT_WATCHES_UNSEEN, MUTANT_NO_LOOK_AT_STANDBY, MUTANT_NO_HAND_OVER, MUTANT_NO_HELPER, MUTANT_NO_HAND_OVER_AWAKE.
 *
 * Parameters: SCENE, N (workers), ASLEEP, HOLDS_OFF, TWO (senders), BATCH (two coroutines in one
 * push, to worker 0, which sleeps while the others are awake), READY, NO_STANDBY, WAKE, BUSY.
 * Mutants: MUTANT_..., each named where it changes something.
 */
#include "idle_state.pml"
#include "idle_claims.pml"
#include "idle_bodies.pml"
#include "idle_steal.pml"
#include "idle_sleep.pml"
#include "idle_worker.pml"
#include "idle_outside.pml"

init
{
	atomic {
#if SCENE == 1 || SCENE == 4
		spawned[LAST] = 1;      /* coroutine 8, parked there */
#elif SCENE == 2 || SCENE == 3
		spawned[0] = 1;         /* coroutine 8 or 2, parked there */
#elif SCENE == 5
		spawned[1] = 1;         /* stays parked */
#endif
		run worker(0);
		run worker(1);
#if N > 2
		run worker(2);
#endif
	#if SCENE == 7
		run event(1, 0);
#ifndef HOLDS_OFF
		run event(2, 1);
#endif
		if
		:: run event(8 | 16, 0)
		:: run event(8 | 16, 1)
		fi;
#else
		run sender_a();
#endif
#if defined(TWO)
		run sender_b();
#endif
#if SCENE == 3
		run offload();
#endif
#if SCENE == 6
		run clock();
#if defined(WAKE) || defined(BUSY)
		run waker();
#endif
#endif
#if SCENE == 4
		run runner();
#else
#if SCENE != 2 && SCENE != 7 && !defined(BUSY)
		run closer();
#endif
#endif
	};
#if SCENE == 2
	timeout;                        /* no process has anything to do */
#ifdef READY
	assert(done == (2 | 4 | 8))
#else
	assert(done == (2 | 8))
#endif
#endif
#if SCENE == 7
	timeout;
#ifdef HOLDS_OFF
	assert(done == (1 | 16));
#else
	assert(done == (1 | 2 | 16));
#endif
#endif
#ifdef BUSY
	timeout;
	assert(done == (1 | 2 | 4));
#endif
#if SCENE == 5
	timeout;
#ifdef BATCH
	assert(done == (1 | 2 | 4))
#else
	assert(done == (1 | 2))
#endif
#endif
}
