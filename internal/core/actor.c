//go:build cgo && linux && (amd64 || arm64)
/* actor.c - the room actor as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "actor/actors.c"
#include "actor/ask.c"
#include "actor/carries.c"
#include "actor/change.c"
#include "actor/end.c"
#include "actor/gobridge.c"
#include "actor/home.c"
#include "actor/later.c"
#include "actor/open.c"
#include "actor/passive.c"
#include "actor/send.c"
#include "actor/side.c"
#include "actor/turn.c"
#include "actor/visit.c"
