/*
 * mutants.h - the wrong steps that the core can be made to take, and where each is looked for.
 *
 *      M(name, scenario, what is wrong)
 */
#define MUTANTS                                                                                                  \
	M(NO_BARRIER, "door-thief", "a thief locks without membarrier")                                          \
	M(PLAIN_ENTER, "door-exchange", "without membarrier, busy is set by a plain store")                      \
	M(LDAPR, "door-exchange", "without membarrier, req is read before busy is set")                          \
	M(NO_LOOK, "door-thief", "the owner does not look at req")                                               \
	M(BLIND_SERVE, "door-thief", "the owner serves without a compare-and-swap")                              \
	M(LATE_SERVE, "door-thief", "req is free before the steal buffer is there")                              \
	M(STAY_IN, "door-foreign", "an owner that waits for the door stays busy")                                \
	M(NO_BUSY_CHECK, "door-thief", "a thief locks without a look at busy")                                   \
	M(BLIND_LOCK, "door-thief", "a thief locks by a plain exchange")                                         \
	M(BLIND_GIVE_UP, "door-thief", "a thief gives up by a plain exchange")                                   \
	M(HASTY_SERVE, "door-thief", "a thief does not wait until its steal buffer is there")                    \
	M(PLAIN_LEAVE, "door-thief", "the owner leaves by a plain store")                                        \
	M(PLAIN_SERVED, "door-thief", "req is freed by a plain store, after the steal buffer")                   \
	M(BLIND_WAITER, "door-foreign", "an owner says by a plain exchange that it sleeps")                      \
	M(NO_WAKE, "door-foreign", "an owner that sleeps at its door is not woken")                              \
	M(NEXT_KEPT, "steal-next-wake", "a stolen next one stays there too")                                     \
	M(HOME_KEPT, "wake-steal-end", "a stolen one's home stays the victim")                                   \
	M(BLIND_PUSH, "push-park", "a push to an inbox overwrites another's")                                    \
	M(WAKE_FIRST, "wake-park", "the sleeper's bit is read before the push")                                  \
	M(CLAIM_FIRST, "push-park", "a sleeper is claimed before it has a token")                                \
	M(BLIND_CLAIM, "claim-unpark", "two claim the same sleeper")                                             \
	M(NO_CALL, "push-park", "a sleeper is claimed and not woken")                                            \
	M(NO_RECHECK, "push-park", "no second look before sleeping")                                             \
	M(INBOX_ONLY, "steal-leaves", "the second look is at the inbox alone")                                   \
	M(LATE_BIT, "push-park", "the bit is set after the second look")                                         \
	M(TOKEN_KEPT, "claim-unpark", "a claim that comes second keeps its token")                               \
	M(STALE_EV, "claim-unpark",                                                                              \
	  "one who was claimed on its way to sleep does not wait for the wake-up")                               \
	M(BLIND_SLEEP, "push-park", "a sleeper does not see that it was woken before")                           \
	M(NO_WAKE_ALL, "close", "workers are told to stop, and not woken")                                       \
	M(NO_HAND_OVER, "third",                                                                                 \
	  "who leaves its sleep does not see to it that somebody looks around")                                  \
	M(TWO_TOKENS, "claim-unpark", "one of two tokens is not given back")                                     \
	M(DROP_FIRST, "push-park", "the token is dropped before the second look")                                \
	M(NO_GENERATION, "reuse", "a wake-up does not compare generations")                                      \
	M(SAME_GEN, "reuse", "an end does not raise the generation")                                             \
	M(CLEAR_FIRST, "detach-reuse",                                                                           \
	  "a remote wake is taken off the word before it is seen whether the coroutine has ended")               \
	M(PUSH_TWICE, "wake-steal-end", "a record is put into an inbox twice")                                   \
	M(ANY_HOME, "wake-steal-end", "a remote wake is delivered where it is taken")                            \
	M(FREE_NODE, "reuse", "a record that is still a node is freed")                                          \
	M(NO_HOME_GENERATION, "reuse", "a wake-up at home does not compare generations")                         \
	M(CANCEL_FORGOTTEN, "cancel-park", "a cancel that finds nobody waiting is forgotten")                    \
	M(CANCEL_LOOK_OUTSIDE, "cancel-steal",                                                                   \
	  "whoever waits looks outside its door whether it is cancelled")                                        \
	M(CANCEL_NO_WAKE, "cancel-park",                                                                         \
	  "a word with a cancel alone counts as one without a remote wake: a record is put into an inbox twice") \
	M(FREE_CANCELED, "cancel-park", "a record that is a node for a cancel alone is freed")                   \
	M(CANCEL_ANY, "reuse-cancel", "a cancel does not compare generations")                                   \
	M(BLIND_JOIN, "join", "a joiner registers by a plain exchange")                                          \
	M(STAYS_DONE, "join-join", "what ends with a joiner can be taken by another")                            \
	M(BLIND_TAKE, "join", "two find it ended, and both take it")                                             \
	M(NO_UNREGISTER_CHECK, "close-join",                                                                     \
	  "a joiner takes its registration back without a look who was first")                                   \
	M(COUNT_TOGETHER, "end-count", "the living are counted worker by worker")                                \
	M(PENDING_LATE, "pending", "what comes from outside is granted by who brings it")                        \
	M(PENDING_EARLY, "pending", "what comes from outside is given back before it is there")                  \
	M(NO_SECOND_LOOK, "run", "a batch ends by one look")                                                     \
	M(LEFT_ASLEEP, "run-thief",                                                                              \
	  "a thief leaves something with a sleeper and does not wake it")                                        \
	M(CALLS_AS_WAITING, "call-steal", "one that calls Go inline can be woken out of its call")               \
	M(NO_RISES, "run-inner", "a batch ends by two looks that compare nothing")                               \
	M(BLIND_DETACH, "batch", "B3 is a look, and a plain exchange")                                           \
	M(DETACH_FIRST, "batch", "B3 comes before P1")                                                           \
	M(NO_DETACH, "batch", "B3 is left out")                                                                  \
	M(LOOK_THEN_ADD, "batch", "A2 looks whether it is detached before it adds")                              \
	M(LOOK_FIRST, "batch", "the sleeper's bit is read before A2")                                            \
	M(PUSH_FIRST, "batch", "A3 pushes before it takes DETACHED away")                                        \
	M(CLOSE_APART, "batch", "A4 in an addition of its own, and no push")                                     \
	M(CLOSE_LEAVES, "batch", "who closes never gives the batch back")                                        \
	M(CLOSE_DROPS, "batch", "who closes always gives the batch back")

enum {
	MUTANT_NONE,
#define M(name, scenario, what) MUTANT_##name,
	MUTANTS
#undef M
		MUTANT_COUNT
};
