//go:build ignore
/* unit.h - what a unit begins with. A unit is a C file that the go command compiles. */
#pragma once

/* The compiler does not follow where optimized code keeps each variable: the same code comes out,
 * and a unit is compiled in a tenth to a fifth less time. Debuggers show fewer local variables of
 * the core. clang has no such setting. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("no-var-tracking")
#endif
