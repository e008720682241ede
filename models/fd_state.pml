/* fd_state.pml - part of fd.pml and fd_select.pml: the slot, the kernel's side, and who waits. */

#ifndef BYTES
#define BYTES 2
#endif

/* The values of a direction's word. */
#define EMPTY  0
#define READY  1
#define CLOSED 2
#define RECORD 3 /* + the coroutine's number */
#define SELECT 5 /* + the coroutine's number */

byte dir;              /* the direction's word */
byte set;              /* 1 + the worker; 0: none */
bool locked;           /* of `set`, and of a select's case */
byte gen, users;
bool is_open, closing;
bool drained;          /* the last read was short */

/* The kernel's. */
byte in_kernel;        /* bytes that were not read */
bool watched[2], edge[2];
bool number_free;      /* the kernel may give the number again */

/* By coroutine. */
bool event[2];

/* Not in the code. */
bool waits[2];         /* the coroutine may have an event */
byte got[2];           /* bytes that it has read */
byte freed;
bool gave_up;

inline byte_comes()
{
	in_kernel++;
	edge[0] = edge[0] || watched[0];
	edge[1] = edge[1] || watched[1]
}

/* send_event - to the coroutine r, once. */
inline send_event(r)
{
	atomic { assert(waits[r] && !event[r]); event[r] = true }
}

inline lock_slot() { atomic { !locked -> locked = true } }
inline unlock_slot() { locked = false }
