/*
 * policy.h - what actors do to be fast, and could do without: as kernel/policy.h.
 */
#ifndef COROI_ACTOR_POLICY_H
#define COROI_ACTOR_POLICY_H

/* An actor that one worker's coroutines send to is at home there: H1 to H6 of box.h. */
#define COROI_HAS_HOME 1
/* A sender that is far ahead of an actor changes places with it: S3 of box.h. */
#define COROI_HAS_CHANGE_PLACES 1

#endif
