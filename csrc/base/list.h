/*
 * list.h - lists through links inside their elements. None allocates, and none can fail.
 *
 *   coroi_lifo    a word, atomic: any thread pushes, and one takes all at once (Treiber, "Systems
 *                 Programming: Coping with Parallelism", 1986; without a pop of one element there
 *                 is no ABA problem). Last in, first out
 *   coroi_fifo    {first, last}: first in, first out; linked one way
 *   coroi_dlist   {first, last}: the same, linked both ways: an element may leave from anywhere
 *   coroi_dstack  {first}: linked both ways, added to at the front
 *
 *      fifo    first -> x -> y -> z <- last         an empty one has first NULL, and any last
 *      dlist   first -> x <-> y <-> z <- last       an empty one has first and last NULL
 *      dstack  first -> x <-> y <-> z
 *
 * All but coroi_lifo belong to one thread, or are used under a lock. A list of zeros is empty. An
 * element that is in no list has links of any value.
 *
 * They are macros, since links have the types and names of their elements: `link` is the name of
 * the field with the next element; both ways, the fields are called next and prev.
 */
#ifndef COROI_LIST_H
#define COROI_LIST_H

#include "base/atomics.h"

#include <stddef.h>

/*
 * coroi_lifo_push - put a node at the front of the list in the word *head; link, of the node,
 * becomes what was there. A release of what is in the node; sequentially consistent
 * (docs/internals/memory-order.md).
 *
 * coroi_lifo_take_all - the front node, by whose link the others follow; 0: none. An acquire, which
 * pairs with the push of each of them.
 */
#define coroi_lifo_push(head, node, link)                          \
	({                                                         \
		__auto_type lifo_head = (head);                    \
		__auto_type lifo_front = at_load_rlx(lifo_head);   \
		do {                                               \
			(link) = lifo_front;                       \
		} while (!at_cas(lifo_head, &lifo_front, (node))); \
	})
#define coroi_lifo_take_all(head) at_xchg((head), 0)

/*
 * coroi_fifo_add - x becomes the last. coroi_fifo_add_first - x becomes the first.
 * coroi_fifo_take - the first one, which leaves the list; NULL: none.
 */
#define coroi_fifo_add(list, x, link)                   \
	({                                              \
		__auto_type fifo_list = (list);         \
		__auto_type fifo_x = (x);               \
		fifo_x->link = NULL;                    \
		if (fifo_list->first)                   \
			fifo_list->last->link = fifo_x; \
		else                                    \
			fifo_list->first = fifo_x;      \
		fifo_list->last = fifo_x;               \
	})
#define coroi_fifo_add_first(list, x, link)       \
	({                                        \
		__auto_type fifo_list = (list);   \
		__auto_type fifo_x = (x);         \
		fifo_x->link = fifo_list->first;  \
		if (!fifo_list->first)            \
			fifo_list->last = fifo_x; \
		fifo_list->first = fifo_x;        \
	})
#define coroi_fifo_take(list, link)                      \
	({                                               \
		__auto_type fifo_list = (list);          \
		__auto_type fifo_x = fifo_list->first;   \
		if (fifo_x)                              \
			fifo_list->first = fifo_x->link; \
		fifo_x;                                  \
	})

/*
 * coroi_dlist_add - x becomes the last. coroi_dlist_remove - x, which is in the list, leaves it.
 * coroi_dlist_remove_first - the same for one that is known to be the first. Usually there is none
 * beside it. coroi_dlist_add_first - x becomes the first.
 */
#define coroi_dlist_add(list, x)                              \
	({                                                    \
		__auto_type dlist_list = (list);              \
		__auto_type dlist_x = (x);                    \
		dlist_x->next = NULL;                         \
		dlist_x->prev = dlist_list->last;             \
		if (coroi_unlikely(dlist_list->last != NULL)) \
			dlist_list->last->next = dlist_x;     \
		else                                          \
			dlist_list->first = dlist_x;          \
		dlist_list->last = dlist_x;                   \
	})
#define coroi_dlist_remove(list, x)                          \
	({                                                   \
		__auto_type dlist_list = (list);             \
		__auto_type dlist_x = (x);                   \
		if (dlist_x->prev)                           \
			dlist_x->prev->next = dlist_x->next; \
		else                                         \
			dlist_list->first = dlist_x->next;   \
		if (dlist_x->next)                           \
			dlist_x->next->prev = dlist_x->prev; \
		else                                         \
			dlist_list->last = dlist_x->prev;    \
	})
#define coroi_dlist_remove_first(list, x)                  \
	({                                                 \
		__auto_type dlist_list = (list);           \
		__auto_type dlist_x = (x);                 \
		dlist_list->first = dlist_x->next;         \
		if (coroi_unlikely(dlist_x->next != NULL)) \
			dlist_x->next->prev = NULL;        \
		else                                       \
			dlist_list->last = NULL;           \
	})

#define coroi_dlist_add_first(list, x)                 \
	({                                             \
		__auto_type dlist_list = (list);       \
		__auto_type dlist_x = (x);             \
		dlist_x->prev = NULL;                  \
		dlist_x->next = dlist_list->first;     \
		if (dlist_x->next)                     \
			dlist_x->next->prev = dlist_x; \
		else                                   \
			dlist_list->last = dlist_x;    \
		dlist_list->first = dlist_x;           \
	})

/*
 * coroi_dstack_add - x becomes the first of the list in *head. coroi_dstack_remove - x, which is in
 * the list, leaves it.
 */
#define coroi_dstack_add(head, x)                        \
	({                                               \
		__auto_type dstack_head = (head);        \
		__auto_type dstack_x = (x);              \
		dstack_x->prev = NULL;                   \
		dstack_x->next = *dstack_head;           \
		if (*dstack_head)                        \
			(*dstack_head)->prev = dstack_x; \
		*dstack_head = dstack_x;                 \
	})
#define coroi_dstack_remove(head, x)                           \
	({                                                     \
		__auto_type dstack_head = (head);              \
		__auto_type dstack_x = (x);                    \
		if (dstack_x->prev)                            \
			dstack_x->prev->next = dstack_x->next; \
		else                                           \
			*dstack_head = dstack_x->next;         \
		if (dstack_x->next)                            \
			dstack_x->next->prev = dstack_x->prev; \
	})

#endif
