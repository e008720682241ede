/*
 * mutants.h - the mutants: wrong steps that an option makes the explored copy of the core take, or
 * a thread of a scenario. The steps themselves are in mutants.patch, in the scenarios and in
 * stand_io.c. Here:
 *
 *      M(name, the scenario in which the mutant is searched for, what is wrong)
 */
#define MUTANTS                                                                                    \
	M(NO_BARRIER, "door-thief", "a thief locks without membarrier")                            \
	M(PLAIN_ENTER, "door-exchange", "without membarrier, busy is set by a plain store")        \
	M(LDAPR, "door-exchange", "without membarrier, req is read before busy is set")            \
	M(NO_LOOK, "door-thief", "the owner does not look at req")                                 \
	M(BLIND_SERVE, "door-thief", "the owner serves without a compare-and-swap")                \
	M(LATE_SERVE, "door-thief", "req is free before the steal buffer is filled")               \
	M(STAY_IN, "door-foreign", "an owner that waits for its door stays busy")                  \
	M(NO_BUSY_CHECK, "door-thief", "a thief locks without a look at busy")                     \
	M(BLIND_LOCK, "door-thief", "a thief locks by a plain exchange")                           \
	M(BLIND_GIVE_UP, "door-thief", "a thief gives up by a plain exchange")                     \
	M(HASTY_SERVE, "door-thief", "a thief does not wait until its steal buffer is filled")     \
	M(SERVE_NOTHING, "door-collector", "an owner that serves a collector gives no credit up")  \
	M(LOCK_IN_VAIN, "door-collector", "a collector that locks collects nothing")               \
	M(HASTY_COLLECT, "door-collector", "a collector that was refused does not come again")     \
	M(PLAIN_LEAVE, "door-thief", "the owner leaves by a plain store")                          \
	M(PLAIN_SERVED, "door-thief", "req is freed by a plain store, after the steal buffer")     \
	M(BLIND_WAITER, "door-foreign", "an owner says by a plain exchange that it sleeps")        \
	M(NO_WAKE, "door-foreign", "an owner that sleeps at its door is not woken")                \
	M(STIR_INSIDE, "stir", "a busy thief knocks while it is inside its own door")              \
	M(FOLLOW_CURRENT, "follow", "a coroutine that has not suspended yet follows its waker")    \
	M(NEXT_KEPT, "steal-next-wake", "a stolen next stays with the victim, too")                \
	M(HOME_KEPT, "wake-steal-end", "the home of a stolen coroutine stays the victim")          \
	M(BLIND_PUSH, "push-park", "a push to an inbox overwrites another push")                   \
	M(WAKE_FIRST, "wake-park", "the sleeper's bit is read before the push")                    \
	M(CLAIM_FIRST, "push-park", "a sleeper is claimed before it counts as awake")              \
	M(BLIND_CLAIM, "run", "two threads claim the same sleeper")                                \
	M(NO_CALL, "push-park", "a sleeper is claimed and not woken")                              \
	M(NO_RECHECK, "push-park", "no second look before sleeping")                               \
	M(INBOX_ONLY, "steal-leaves", "the second look is at the inbox alone")                     \
	M(LATE_BIT, "push-park", "the bit is set after the second look")                           \
	M(TOKEN_KEPT, "claim-unpark", "a second claim leaves the sleeper counted as awake")        \
	M(STALE_EV, "claim-unpark",                                                                \
	  "a worker claimed before it sleeps does not wait for the wake-up")                       \
	M(BLIND_SLEEP, "push-park", "a sleeper does not see that it was woken before")             \
	M(NO_WAKE_ALL, "close", "workers are told to stop, and not woken")                         \
	M(NO_HAND_OVER, "third", "a worker that leaves its sleep lets no other look around")       \
	M(TWO_TOKENS, "claim-unpark",                                                              \
	  "a worker that was counted as awake twice is uncounted once")                            \
	M(DROP_FIRST, "push-park", "a worker no longer counts as awake before the second look")    \
	M(NO_GENERATION, "reuse", "a wake-up does not compare generations")                        \
	M(SAME_GEN, "reuse", "an end does not raise the generation")                               \
	M(CLEAR_FIRST, "detach-reuse",                                                             \
	  "a remote wake is cleared before a look whether x has ended")                            \
	M(PUSH_TWICE, "wake-steal-end", "a record is pushed to an inbox twice")                    \
	M(ANY_HOME, "wake-steal-end", "a remote wake is delivered where it is taken")              \
	M(FREE_NODE, "reuse", "a record that is still a node is freed")                            \
	M(NO_HOME_GENERATION, "reuse", "a wake-up at home does not compare generations")           \
	M(CANCEL_FORGOTTEN, "cancel-park", "a cancel that finds no wait is forgotten")             \
	M(CANCEL_LOOK_OUTSIDE, "cancel-steal",                                                     \
	  "a waiter looks outside its door whether it is canceled")                                \
	M(CANCEL_NO_WAKE, "cancel-park",                                                           \
	  "a cancel in the word is no remote wake: the record is pushed twice")                    \
	M(FREE_CANCELED, "cancel-park", "a record that is a node for a cancel alone is freed")     \
	M(CANCEL_ANY, "reuse-cancel", "a cancel does not compare generations")                     \
	M(SHIELD_IGNORED, "shield-end", "a cancel ends a wait in a shield section")                \
	M(SHIELD_FORGETS, "shield-end", "a cancel in a shield section is forgotten")               \
	M(SHIELD_WAITS_ON, "shield-deadline",                                                      \
	  "a wait does not end at the deadline of its shield section")                             \
	M(BLIND_JOIN, "join", "a joiner registers by a plain exchange")                            \
	M(STAYS_DONE, "join-join", "what ends with a joiner can be taken by another joiner")       \
	M(BLIND_TAKE, "join", "two find it ended, and both take it")                               \
	M(NO_UNREGISTER_CHECK, "close-join",                                                       \
	  "a joiner withdraws its registration by a plain exchange")                               \
	M(REST_COUNTED_LATE, "end", "a thread that waits for a rest is counted as it sleeps")      \
	M(COUNT_TOGETHER, "end-count", "the living are counted worker by worker")                  \
	M(DAEMON_END_LATE, "end-daemon", "a daemon's end is counted among daemons last")           \
	M(DAEMON_FIRST, "end-daemon", "a daemon is counted before its spawn")                      \
	M(QUIET_UNSEEN, "end-pending",                                                             \
	  "a worker that sleeps last does not look whether all is pending for daemons")            \
	M(PENDING_LATE, "pending",                                                                 \
	  "the thread that brings work from outside counts it as pending")                         \
	M(PENDING_EARLY, "pending", "work from outside is pending no longer before it is there")   \
	M(NO_SECOND_LOOK, "run", "a run ends after one look")                                      \
	M(LEFT_ASLEEP, "run-thief", "a thief leaves work with a sleeper and does not wake it")     \
	M(CALLS_AS_WAITING, "call-steal", "a coroutine can be woken out of its inline call")       \
	M(CALL_BLIND_SLEEP, "call-sleep", "OFF8 makes the word a 2 whatever it is")                \
	M(CALL_LOOKS_FIRST, "call-sleep", "OFF3 comes before OFF2")                                \
	M(NO_RISES, "run-inner", "a run ends after two looks that compare nothing")                \
	M(BLIND_DETACH, "batch", "BTW3 is a look, and a plain exchange")                           \
	M(DETACH_FIRST, "batch", "BTW3 comes before SLP1")                                         \
	M(NO_DETACH, "batch", "BTW3 is left out")                                                  \
	M(LOOK_THEN_ADD, "batch", "BTS2 looks whether the batch is detached before it adds")       \
	M(LOOK_FIRST, "batch", "the sleeper's bit is read before BTS2")                            \
	M(PUSH_FIRST, "batch", "BTS3 pushes before it clears DETACHED")                            \
	M(PUBLISH_LATE, "box-streams", "spawn.c looks for the sleeper before it adds to a batch")  \
	M(PUBLISH_CLEARS_LATE, "box-streams", "spawn.c pushes a batch before it clears DETACHED")  \
	M(CLOSE_APART, "batch", "BTS4 is an addition of its own, and pushes nothing")              \
	M(CLOSE_LEAVES, "batch", "a sender that closes never gives the batch back")                \
	M(CLOSE_DROPS, "batch", "a sender that closes always gives the batch back")                \
	M(LOOK_FOR_WANT_FIRST, "credit-wait", "wanted is read before credit is given back")        \
	M(WANT_LATE, "credit-wait", "wanted is written after the ask for a grant")                 \
	M(LEAN_KEEPS, "credit-wait", "a lean user keeps credit")                                   \
	M(NO_COLLECT, "credit-wait", "credit in hand is not collected")                            \
	M(NOT_WANTED_AGAIN, "credit-wait",                                                         \
	  "one that waits after others does not say that credit is wanted")                        \
	M(LATELY_SILENT, "credit-room", "after WANTED_LATELY the bell does not tell of room")      \
	M(QUIET_RAISE, "credit-map", "a thread that raises capacity does not ring the bell")       \
	M(EARLY_NO_MEMORY, "credit-last", "there is no memory if no credit is out any more")       \
	M(NO_LOOK_BACK, "credit-trim", "a grant does not look at the capacity afterwards")         \
	M(TRIM_LOOKS_FIRST, "credit-trim", "a trim looks at what is granted first")                \
	M(LEND_TOKEN_LATE, "lend-push", "a lender claims before it counts as awake")               \
	M(LEND_TOKEN_EARLY, "lend-push", "a lender no longer counts as awake while it runs")       \
	M(LEND_TOKEN_KEPT, "lend-two", "a lender that is second stays counted as awake")           \
	M(LEND_REFUSED, "lend-close", "a lender does not look whether a close has begun")          \
	M(LEND_AWAKE, "lend-push", "a lender does not look whether the own thread sleeps")         \
	M(LEND_DUE_KEPT, "lend-due", "deadlines that came during the lend are forgotten")          \
	M(LEND_BLIND_INBOX, "lend-push", "a lender's last look leaves the inbox out")              \
	M(LEND_BLIND_QUEUE, "lend-leaves", "a lender's last look leaves the queue out")            \
	M(LEND_LATE_BIT, "lend-push", "a lender sets the bit after its last look")                 \
	M(LEND_CLAIMED_TWICE, "lend-two",                                                          \
	  "a lender wakes the own thread, though another thread has claimed the worker")           \
	M(LEND_NOT_AWAITED, "lend-awaited", "a lender does not see that the own thread waits")     \
	M(LEND_ONE_LOOK, "lend-awaited", "the own thread waits without a second look at the bit")  \
	M(LEND_BLIND_RISE, "lend-awaited", "the own thread goes on while its worker is lent")      \
	M(LEND_STANDBY_STAYS, "lend-standby", "a standby whose worker is lent does not resign")    \
	M(LEND_ALONE, "lend-alone", "a lender does not look whether there is a standby")           \
	M(LEND_ANY_FRESH, "lend-park", "a lender runs what others have spawned")                   \
	M(LEND_NO_ESCAPE, "lend-steal", "a call's coroutine that suspends does not escape")        \
	M(LEND_STARTS_ALL, "lend-no-stack", "a lender starts what awaits a stack")                 \
	M(LEND_WAKE_LOST, "lend-brief", "a lender does not deliver the wake it lends itself for")  \
	M(LEND_INSIDE_DROPS, "call-inside", "the calls that were laid aside are forgotten")        \
	M(FD_ADD_SILENT, "fd-read", "what is ready when it is added to a set is not told")         \
	M(FD_CALL_FIRST, "fd-look", "FDC3 comes before FDC2")                                      \
	M(FD_BLIND_WAIT, "fd-look", "FDC5 is a plain exchange")                                    \
	M(FD_READY_LOST, "fd-look", "FDE3 forgets an event for which nobody waits")                \
	M(FD_NOT_STICKY, "fd-fin", "FDE2 is left out")                                             \
	M(FD_STICKY_LATE, "fd-fin", "FDE2 comes after FDE3")                                       \
	M(FD_RESET_IN_ALONE, "fd-reset", "a reset is an event for the reader alone")               \
	M(FD_NO_COMMIT, "fd-deadline",                                                             \
	  "a read that comes too late to withdraw ends without its event")                         \
	M(FD_OPENS_AGAIN, "fd-close", "FDE3 overwrites CLOSED")                                    \
	M(FD_CLOSE_SILENT, "fd-close", "FDX2 sends no events")                                     \
	M(FD_FREE_EARLY, "fd-close", "FDX3 comes before the last FDC7")                            \
	M(FD_SAME_GEN, "fd-again", "a close does not raise the generation")                        \
	M(FD_CLOSE_FIRST, "fd-again", "close(2) comes before the slot is free")                    \
	M(MODE_UNSHARED, "fd-mode", "MOD2 clears the flag though another shares")                  \
	M(MODE_UNLOCKED, "fd-mode", "MOD2 is done without the lock")                               \
	M(FD_MOVE_STAYS, "fd-move", "FDM2 does not remove from the old set")                       \
	M(FD_MOVE_UNLOCKED, "fd-both", "FDM1 is left out")                                         \
	M(FD_SELECT_LOSES, "fd-select", "FDS2 forgets an event for which another case was chosen") \
	M(FD_SELECT_SENDS, "fd-select", "FDS3 sends the event though another case was chosen")     \
	M(BUF_WORD_FIRST, "buffer-listed", "BUF1 sets the word before the length")                 \
	M(BUF_SAME_PASS, "buffer-owners", "BUF2 keeps the generation")                             \
	M(BUF_PLAIN_PASS, "buffer-owners", "BUF2 looks, and then stores")                          \
	M(BUF_BACK_ALL, "buffer-back", "what was not passed is taken back, too")                   \
	M(BUF_BACK_NONE, "buffer-back", "what was passed before the refusal stays passed")         \
	M(BUF_BACK_NEW, "buffer-back", "what is taken back keeps the new generation")              \
	M(BUF_PLAIN_USE, "buffer-owners", "BUF3 looks, and then stores")                           \
	M(BUF_SAME_FREE, "buffer-owners", "BUF4 keeps the generation")                             \
	M(BUF_PLAIN_FREE, "buffer-owners", "BUF4 looks, and then stores")                          \
	M(BUF_FREES_USED, "buffer-owners", "BUF4 frees what is used")                              \
	M(BUF_SPILL_LOSES, "buffer-lists", "a spill leaves one descriptor out")                    \
	M(BUF_SPILL_KEEPS, "buffer-lists", "what is spilled stays in the worker's list, too")      \
	M(BUF_DEPOT_OPEN, "buffer-lists", "who takes from the depot does not lock it")             \
	M(BUF_PLAIN_COUNT, "buffer-back", "threads count by a load and a store")                   \
	M(STREAM_LOOK_FIRST, "stream-waits", "STM3 looks at the word before it sets WAITED")       \
	M(STREAM_LATE_CLEAR, "stream-writes", "STM4 clears WAITED after the wake")                 \
	M(STREAM_COUNT_FIRST, "stream-reads", "STM1 counts bytes before they are written")         \
	M(STREAM_FREE_FIRST, "stream-writes", "STM2 counts bytes before they are read")            \
	M(STREAM_SILENT_WRITE, "stream-waits", "STM1 tells no reader that waits")                  \
	M(STREAM_LATE_CODE, "stream-reads", "STM5 stores the code after the bit")                  \
	M(STREAM_SILENT_CLOSE, "stream-reads", "STM5 wakes nobody")                                \
	M(STREAM_CASE_ALONE, "stream-select",                                                      \
	  "the waiter of a stream's case does not share chosen")                                   \
	M(STREAM_CASE_STAYS, "stream-select", "a select leaves a stream's case in the queue")      \
	M(FD_SELECT_BLIND, "fd-select", "FDS3 is a load and a store")                              \
	M(FD_SELECT_STAYS, "fd-select", "FDS4 leaves the registration")                            \
	M(FD_SELECT_UNLOCKED, "fd-select", "FDS4 is done without the lock")                        \
	M(OUTSIDE_NOT_ENDED, "fd-select-here",                                                     \
	  "a wait that ends by a channel stays counted among those for descriptors")               \
	M(OUTSIDE_UNCOUNTED, "fd-read",                                                            \
	  "a worker sleeps, no work pends, and coroutines wait for descriptors")                   \
	M(RISE_NO_TOKEN, "fd-read",                                                                \
	  "a worker that comes back with events does not count as awake")                          \
	M(RISE_TOKEN_KEPT, "set-event",                                                            \
	  "a worker that comes back with events, and was claimed, counts twice")                   \
	M(SET_CLAIMED_DROPS, "set-event",                                                          \
	  "a worker that was claimed drops the events it has fetched")                             \
	M(SET_FUTEX, "fd-read", "a worker that watches something sleeps on its futex")             \
	M(SET_NO_RING, "set-claim",                                                                \
	  "a worker that sleeps in its set is claimed, and the bell is not rung")                  \
	M(SET_BLIND_SLEEP, "set-claim", "SET1 does not look at w->ev")                             \
	M(SET_PLAIN_BED, "set-claim", "SET1 stores the bed by a plain store")                      \
	M(SET_BELL_KEPT, "set-claim", "a bell that has rung is not cleared")                       \
	M(SET_BELL_EDGE, "set-bell", "the bell is edge-triggered: a look takes the ring")          \
	M(SET_NO_LOOK, "set-busy", "a busy worker does not look into its set")                     \
	M(SET_STANDBY_BLIND, "set-standby", "the standby looks into no set")                       \
	M(SET_LENT_DROPS, "set-lent",                                                              \
	  "an own thread whose worker is lent drops the events it has fetched")                    \
	M(SET_LENT_AS_WORKER, "set-lent",                                                          \
	  "an own thread whose worker is lent sends events as the worker")                         \
	M(BOX_REST_STORE, "box-outside", "TRN4 looks, and then stores")                            \
	M(BOX_ENDED_RESTS, "box-exits",                                                            \
	  "where a coroutine ends, a TRN4 that fails starts no turn")                              \
	M(BOX_HOME_STOLEN, "box-thief", "HOM2 does not look whether the turn was stolen")          \
	M(BOX_HOME_BLIND, "box-local", "HOM2 does not look at the box")                            \
	M(BOX_HOME_STORE, "box-home", "HOM5 looks, and then stores")                               \
	M(BOX_LEAVE_STORE, "box-leaves", "a turn that begins elsewhere leaves home by a store")    \
	M(BOX_LINGER_BLIND, "box-computes", "HOM4 does not look at the box")                       \
	M(BOX_NO_ASK, "box-asks", "HOM3 does not ask")                                             \
	M(BOX_ASK_LATE, "box-asks", "who asks while a worker looks is forgotten")                  \
	M(BOX_SLEEPS, "box-home", "a worker that sleeps lets actors linger")                       \
	M(BOX_NO_AWAIT, "box-close", "a close does not wait for those who send")                   \
	M(BOX_TAKE_STORE, "box-outside", "TRN1 looks, and then stores")                            \
	M(BOX_NOT_ACTIVE, "box-two", "an active box without a message is dormant")                 \
	M(BOX_PENDING_LATE, "box-again", "pending is written after TRN3's start")                  \
	M(BOX_EARLY_FREE, "box-itself", "a message is given back before it is read")               \
	M(BOX_SAME_GEN, "box-stop", "END1 does not raise the generation")                          \
	M(BOX_REST_BLIND, "box-itself", "TRN4 does not look at CONTROL")                           \
	M(BOX_UNMARK_STORE, "box-urgent", "CTL3 takes CONTROL by a store")                         \
	M(BOX_MARK_FIRST, "box-urgent", "CTL2 comes before CTL1")                                  \
	M(BOX_OVERTAKES_URGENT, "box-itself", "urgent messages overtake each other")               \
	M(BOX_BLIND_WITHDRAW, "box-withdraw", "a sender takes another's message back")             \
	M(LATER_NO_LOOK, "box-later", "LTR1 does not look at the box")                             \
	M(LATER_SLEEPS_ON, "box-later", "LTR2 lets the clock sleep")                               \
	M(LATER_TAKEN_STAYS, "later-clock", "what has left is taken back once more")               \
	M(LATER_ANY_NUMBER, "later-clock", "LTR3 takes another message back, which has the place") \
	M(LATER_BACK_SLEEPS, "later-clock",                                                        \
	  "who takes the last message back lets the clock sleep")                                  \
	M(LATER_UNLOCKED, "later-clock", "LTR3 is done without the lock")                          \
	M(LATER_BACK_NO_LOOK, "later-close", "LTR3 does not look at the box")                      \
	M(ASK_BEGIN_BLIND, "ask-deadline", "ASK2 is left out")                                     \
	M(ASK_BEGIN_STORE, "ask-deadline", "ASK2 looks, and then stores")                          \
	M(ASK_TAKES_BEGUN, "ask-deadline", "ASK5 takes back what has begun")                       \
	M(ASK_TAKES_STORE, "ask-deadline", "ASK5 looks, and then stores")                          \
	M(ASK_WRITES_LATE, "ask-deadline", "ASK4 writes the answer when it has woken the asker")   \
	M(ASK_SILENT, "ask-again", "ASK4 wakes nobody")                                            \
	M(ASK_NO_SECTION, "ask-cancel", "ASK5 waits in no section for what has begun")             \
	M(ASK_LEFT_BEGUN, "ask-left", "ASK3 is left out")                                          \
	M(ASK_LEFT_SILENT, "ask-left", "ASK3 wakes nobody")                                        \
	M(ASK_BURIES_BLIND, "ask-stop", "who buries does not begin")                               \
	M(ASK_SAME_NUMBER, "ask-again",                                                            \
	  "a question that is free again has the number that it had")                              \
	M(ASKS_COUNT_STORE, "ask-all-kept", "ASK6 counts by a load and a store")                   \
	M(ASKS_COUNT_FIRST, "ask-all-kept", "ASK6 counts before ASK4 has answered")                \
	M(ASKS_WRONG_WAKE, "ask-all-kept", "ASK6 wakes by the semaphore of the last question")     \
	M(ASKS_OUT_KEPT, "ask-all", "the asker does not count what it takes back")                 \
	M(ASKS_NO_LOOK, "ask-all", "the asker waits on, when it has itself come to 0")             \
	M(BOX_LENT_ANY, "box-lent", "a lender runs the turns of actors that are not brief")        \
	M(LEND_OUTSIDE_KEPT, "set-lender",                                                         \
	  "a wait for a descriptor that began during the lend is forgotten")                       \
	M(ASKED_UNSEEN, "host-leave", "SLP2 does not look whether the host is to change")          \
	M(ASK_LATE, "host-leave", "a host is claimed before it is asked to leave")                 \
	M(LEAVE_FORGOTTEN, "host-leave", "a host that is to leave before it has come stays")       \
	M(MANY_WAITER_LATE, "many-steal", "MNY1 counts the leader out before it sets `waiter`")    \
	M(MANY_PLAIN_TAKE, "many-cancel", "MNY2 takes `waiter` by a load and a store")             \
	M(MANY_ONE_LOOK, "many-cancel", "MNY3 does not look at `left` again")                      \
	M(MANY_LOOKS_FIRST, "many-lends", "MNY4 looks at `state` before it sets `handle`")         \
	M(FORK_TAIL_FIRST, "fork-one", "FRK1 publishes the tail before the slot")                  \
	M(FORK_NO_LOOK, "fork-one", "a join takes its fork without a look at req (DRO3)")          \
	M(FORK_HEAD_OUTSIDE, "fork-one", "a thief moves head when it has left the door")           \
	M(FORK_CREDIT_KEPT, "fork-one", "FST1 spends no credit")                                   \
	M(FORK_COUNTED_LATE, "fork-one", "a stolen child is counted when it has told its end")     \
	M(FORK_EARLY_END, "fork-one", "FST3 comes before the result")                              \
	M(FORK_PLAIN_END, "fork-one", "FST3 is a load and a store")                                \
	M(FORK_PLAIN_WAIT, "fork-one", "FRK6 is a load and a store")                               \
	M(FORK_TOUCHED, "fork-one", "a fork is written to after FST3")                             \
	M(FORK_NO_ESCAPE, "fork-one", "a parent that waits (FRK6) has not escaped")                \
	M(FORK_PARENT_STAYS, "fork-move", "FMV1 is left out")                                      \
	M(FORK_PROMOTED_KEPT, "fork-promote", "what is promoted stays in the deque, too")          \
	M(FORK_FLAG_KEPT, "fork-promote", "COROI_HOLDS_FORKS stays when all forks are promoted")   \
	M(FORK_YIELD_PROMOTES, "fork-keep", "FSU1 promotes all forks")                             \
	M(FORK_STACK_LATE, "fork-yield", "FSU1 notes the stack of a fork that it has pushed")      \
	M(FORK_CANCEL_STOPS, "fork-cancel", "FCA1 is left out")                                    \
	M(FORK_PLAIN_CHILD, "fork-cancel", "FST2 is a load and a store")                           \
	M(FORK_PLAIN_CANCEL, "fork-cancel", "FCA2 is a load and a store")                          \
	M(FORK_EXIT_HASTY, "fork-abort", "FEX1 does not wait")                                     \
	M(FORK_LOST, "fork-credit-wait", "FSU2 without credit does not make a fork private")

enum {
	MUTANT_NONE,
#define M(name, scenario, what) MUTANT_##name,
	MUTANTS
#undef M
		MUTANT_COUNT
};
