//go:build cgo && linux

/* switch_arm64.S - the switch, in package core: the go command assembles only what lies there. */
#include "base/switch_arm64.S"
