/* wake_state.pml - part of wake.pml: records, workers, and what is not in the code. */

#ifndef SCENE
#define SCENE 1
#endif

#define BIT(i) (1 << (i))
#define TARGET 0
#define JOINER 1

mtype = { FREE, FRESH, ACTIVE, PARKED, JOINING, ENDED };
mtype = { NOBODY, COROUTINE, BY_GO, DONE, DETACHED, TAKEN, FOR_GO };

/* The wake words. */
byte gen[2] = 1;
bool escaped[2], event_bit[2], cancel_bit[2];
byte count[2];

/* The rest of the records. */
mtype state[2] = ACTIVE;
byte home[2];
byte permits[2];
bool event[2], coded[2];        /* coded: the wait ends with CORO_ECANCELED */
bool canceled[2];
mtype join = NOBODY;            /* the join word of the target */
byte join_gen = 1;

/* The workers. */
bool door[2];
byte queue[2], inbox[2];
bool cancel;

bool listed;                    /* the target is on the list of ended ones (done) */

/* Not in the code. */
bool node[2];                   /* a waker, an inbox or a worker has the record as a remote wake */
bool freed[2];
byte parks = 2;                 /* parks that the target's body still has to do */
byte stage;                     /* how far the joiner is */
byte given, taken;              /* permits of the second user */
bool over_1, over_2, over_j;    /* the first user, the second user and the joiner have ended */
bool destroyed;

#define IS_OVER(s) (s == ENDED || s == FREE)
#define GEN_OF(r) gen[r]
