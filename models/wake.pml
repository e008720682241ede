/*
 * wake.pml - the wake word, the join word and the reuse of a record: WKC1 to WKC5 and CAN1 to CAN4
 * of wait.c, JOI1 to JOI3 of join.c.
 *
 * There are two workers, two records and threads outside. Record 0 is the target, and is used a
 * second time. Record 1 is the joiner.
 *   SCENE 1  wakes  The target parks twice. Three threads wake it, one of them from a worker
 *                   (coro_wake at home, or a remote wake). So one wake-up may come too late.
 *   SCENE 2  joins  The target ends, and a coroutine joins it. Meanwhile a remote wake comes for
 *                   the target. With -DCANCEL all waits are cancelled. With -DGO a goroutine waits
 *                   for the target, too. With -DDETACH a thread detaches it.
 * With -DCANCEL_ONE one coroutine is cancelled. In scene 1 it is the target, which is cancelled
 * from outside, and by a canceler on worker 1, perhaps the target's home. The target then has one
 * wake-up less than it parks. In scene 2 it is the joiner, which is cancelled from outside. In both
 * scenes the record is then used by another coroutine, which parks once and is woken once, while
 * late wake-ups of the first user may still be on their way. Both coroutines move between the
 * workers by steals, and a thief drains the inbox of its victim.
 *
 * The model is in parts:
 *   wake_state.pml       records, workers, and what is not in the code
 *   wake_words.pml       WKC1 to WKC5, and CAN1
 *   wake_coroutines.pml  what the coroutines do: CAN2, CAN3, JOI1 to JOI3; and the workers
 *   wake_outside.pml     threads outside
 *
 * What is as in the code: coro_cancel, remote_wake (WKC1, WKC2), coroi_remote_wake_locked (WKC3,
 * WKC5), coroi_end_locked and free_word (WKC4), is_home_locked and wake_home_locked, coro_park,
 * coro_join with coroi_wait and unregister, coro_detach, Register and Take of join.go,
 * end_joinable_locked (JOI2), coroi_join_free (JOI3), coroi_deque_give, and cancel of life.c.
 *
 * What is abstracted
 *   words     A compare-and-swap in a loop is one step: it depends on nothing but the word. Loads
 *             of other words are steps of their own, in the order of the code. Memory is
 *             sequentially consistent.
 *   doors     are a lock. Steps inside it that touch only what the door protects are taken
 *             together.
 *   sleeping  A worker sees what is in its inbox: idle.pml is about that.
 *   run loop  Each step is one of a coroutine. Queues are sets. All permits of one remote wake are
 *             delivered together, as in the code.
 *
 * What is claimed
 *   - A record is in at most one inbox, once (assert in push). It is never freed while it is a
 *     node, nor twice (assert in put).
 *   - Permits are conserved: the second user of the record gets its own permit, and no other
 *     (asserts in end_target).
 *   - No wake-up and no event is lost: all coroutines end (invalid end state). None is left over
 *     (asserts in end_target and run_joiner).
 *   - A cancel reaches the coroutine that it is for: a coroutine that is not woken often enough
 *     ends by it (invalid end state). A cancel does not reach the next user of the record (asserts
 *     in end_target).
 *
 * Parameters: SCENE, CANCEL, CANCEL_ONE, GO, DETACH. LIMIT_DESTROY shows what a destroy would do
 * that does not wait for wakers from outside. Mutants: MUTANT_...
 */
#include "wake_state.pml"
#include "wake_words.pml"
#include "wake_coroutines.pml"
#include "wake_outside.pml"

init
{
	atomic {
		escaped[TARGET] = true;
		queue[0] = BIT(TARGET);
#if SCENE == 2
		parks = 0;
		home[JOINER] = 1;
#ifdef CANCEL_ONE
		escaped[JOINER] = true; /* its spawner knows it */
#endif
		queue[1] = BIT(JOINER);
#endif
		run worker(0);
		run worker(1);
		run waker(1, false);
#if SCENE == 1 && !defined(CANCEL_ONE)
		run waker(1, true);
		run waker(1, false);
#endif
#ifdef CANCEL_ONE
		run canceler_of_one(false);
#if SCENE == 1
		run canceler_of_one(true);
#endif
#endif
#ifdef CANCEL
		run canceler();
#endif
#ifdef GO
		run go();
#endif
#ifdef DETACH
		run detacher();
#endif
#ifdef LIMIT_DESTROY
		run destroyer();
#endif
		run spawner()
	};
	_nr_pr == 1;
	assert(freed[TARGET] && !node[TARGET] && gen[TARGET] == 3);
#if SCENE == 2
	assert(freed[JOINER] && !node[JOINER])
#endif
}
