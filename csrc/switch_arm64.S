//go:build cgo && linux
#include "base/switch_arm64.S"
