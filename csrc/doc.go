// Package csrc is the folder of the C core of coro. It declares nothing.
//
// The rooms of the core are the folders base, kernel, border, sync, dispatch, io and actor. The
// public headers are in include: the command coro copies them to where C code needs them. The
// binding, by which Go calls the core, is in internal/core.
package csrc
