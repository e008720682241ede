//go:build cgo && linux
#include "base/switch_amd64.S"
