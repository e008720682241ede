//go:build cgo && linux && (amd64 || arm64)
/* sync.c - the room sync as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "sync/awaited.c"
#include "sync/chan.c"
#include "sync/cond.c"
#include "sync/gowait.c"
#include "sync/latch.c"
#include "sync/mutex.c"
#include "sync/object.c"
#include "sync/once.c"
#include "sync/rwlock.c"
#include "sync/scope.c"
#include "sync/select.c"
#include "sync/sendcase.c"
#include "sync/sem.c"
#include "sync/stream.c"
#include "sync/streamcase.c"
#include "sync/waitq.c"
