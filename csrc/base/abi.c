//go:build ignore
/* abi.c - the symbol that each copy of coro.h refers to: see CORO_VERSION. */
#include "coro.h"

extern const char coroi_abi __asm__(CORO_ABI_NAME) __attribute__((visibility("hidden")));

const char coroi_abi __attribute__((used)) = 0;
