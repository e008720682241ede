/*
 * border.h - the border's interface for the rooms above it, as kernel/kernel.h is the kernel's.
 * They include no other header of the border, and use no other name of it: scripts/rooms.sh checks
 * both.
 *
 *   coroi_bell_ring      tell Go that there is something to look at
 *   coroi_brief_declare, coroi_is_brief   functions that any thread may run
 *   coroi_task_lend      start a task that is brief, and run it on the calling thread
 *   coroi_task_promise   by which function's promise a task is brief
 */
#ifndef COROI_BORDER_H
#define COROI_BORDER_H

#include "border/brief.h"
#include "border/gobell.h"
#include "border/lend.h"

#endif
