/* idle_state.pml - part of idle.pml: parameters, words, and what is not in the code. */

#ifndef SCENE
#define SCENE 1
#endif

#define WORKERS 3
#ifndef N
#define N WORKERS
#endif
#define LAST (N - 1)

#define BIT(i) (1 << (i))
#define MANY(set) ((set & (set - 1)) != 0)

/* ev */
#define NONE 0
#define SLEEPS 1
#define WOKEN 2

/* mode */
#define RUNNING 0
#define PAUSED 1
#define STOPPING 2

/* hungry */
#define SURPLUS 1
#define ALONE 2

/* activity */
#ifdef BATCH
byte awake = N - 1, pending; /* worker 0 sleeps */
#elif SCENE == 7
byte awake = 0, pending = N; /* each worker has a coroutine that waits for its driver */
#elif defined(ASLEEP)
byte awake = 0, pending;
#else
byte awake = N, pending;
#endif
bit searching;

#ifdef BATCH
byte sleepers = 1;
#elif defined(ASLEEP)
byte sleepers = (1 << N) - 1;
#else
byte sleepers;
#endif
byte ev[WORKERS];
#ifdef BATCH
byte hungry;             /* a worker has been woken for ALONE */
#else
byte hungry = ALONE;
#endif
byte standby;
#if SCENE == 7
byte reserve[2];
byte events[WORKERS];     /* coroutines for which a worker's driver has an event */
#define READY(v) (events[v] != 0)
#define HAS_RESERVE (reserve[0] != 0 || reserve[1] != 0)
#ifdef MUTANT_WATCHES_UNSEEN
#define WATCHES false
#else
#define WATCHES true
#endif
#else
#define READY(v) false
#define HAS_RESERVE false
#define WATCHES false
#endif
#ifdef HOLDS_OFF
byte off;                /* workers that hold off, and sleep */
#define OFF(v) ((off & BIT(v)) != 0)
#define CALLABLE (sleepers & ~off)
#else
#define OFF(v) false
#endif
bool rest_new;           /* rests_told has changed since its one reader read it */
bool rise_new;           /* rises has changed since its one reader read it */
byte rest_waiters;
bool rest_down;          /* the waiter is in futex_wait on rests */
#if SCENE == 4
byte mode = PAUSED;
#else
byte mode = RUNNING;
#endif

byte queue[WORKERS], next[WORKERS], inbox[WORKERS];
#if SCENE == 2
byte moved[WORKERS];
#endif
#if SCENE == 2 || SCENE == 4
hidden byte spawned[WORKERS], ended[WORKERS]; /* not read here */
#else
byte spawned[WORKERS], ended[WORKERS];
#endif

#if SCENE == 6
byte due[WORKERS];       /* deadlines that are armed on a worker */
byte come;               /* deadlines that have passed */
byte home;               /* 1 + the worker where the first one was armed */
#define DUE(v) ((due[v] & come) != 0)
#endif

/* Not in the code. */
byte owed;               /* coroutines that must run */
byte done;               /* coroutines that have run to their end */
byte exited;             /* number of workers that have stopped */
byte inner;              /* remote wakes by coroutines that lie in an inbox */
bool handed;             /* the thread has the offloaded call */

#define AT_REST (awake == 0 && pending == 0)
#define HAS(v) (queue[v] != 0 || next[v] != 0 || inbox[v] != 0)
#if SCENE == 2
#define STUCK(w, v) (HAS(v) && (moved[v] & BIT(w)) == 0)
#elif SCENE == 6 && !defined(MUTANT_BLIND_STANDBY)
#define STUCK(w, v) (HAS(v) || DUE(v))
#else
#define STUCK(w, v) HAS(v)
#endif
#define OTHER(w, k) ((w + k) % WORKERS)

#if SCENE == 4
/* From the end of resume_all to the pause. A rest outside of that is told to nobody. */
bool in_run;
#define IN_RUN in_run
#else
#define IN_RUN (mode == RUNNING)
#endif

/* The lowest and the highest member of a set. */
#define LOWEST(set) (set & (255 - set + 1))
#define HIGHEST(set) (set & 128 -> 128 : (set & 64 -> 64 : (set & 32 -> 32 : (set & 16 -> 16 : \
	(set & 8 -> 8 : (set & 4 -> 4 : (set & 2 -> 2 : (set & 1))))))))
