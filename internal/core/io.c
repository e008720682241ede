//go:build cgo && linux && (amd64 || arm64)
/* io.c - the room io as one unit, which is compiled in less time than its
 * files one by one. */
#include "base/unit.h"

#include "io/blocking.c"
#include "io/fd.c"
#include "io/file.c"
#include "io/linger.c"
#include "io/mode.c"
#include "io/resolve.c"
#include "io/serve.c"
#include "io/set.c"
#include "io/slot.c"
#include "io/source.c"
#include "io/transfer.c"
