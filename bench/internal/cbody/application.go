package cbody

// #include "application.h"
import "C"

import "time"

// The forms of Application.
const (
	AppNewStack    = int(C.CB_APP_NEW_STACK)
	AppKeptStack   = int(C.CB_APP_KEPT_STACK)
	AppLightSwitch = int(C.CB_APP_LIGHT_SWITCH)
	AppCallback    = int(C.CB_APP_CALLBACK)
)

// AppSlots is how many connections are open at once.
const AppSlots = int(C.CB_APP_SLOTS)

// Served is the thread's CPU time of a run of Application: all of it, and the server's turns alone.
// Sum is that of all answers.
type Served struct {
	All, Server time.Duration
	Sum         uint64
}

// Application serves connections, with that many requests each, in such a form.
func Application(form, connections, requests int) (Served, error) {
	var out C.struct_cb_app_result
	failed := C.cb_application(cApp(form, connections, requests), &out)
	return Served{time.Duration(out.ns), time.Duration(out.server_ns), uint64(out.sum)},
		errno(failed)
}

// ApplicationSum is what the sum of all answers has to be.
func ApplicationSum(connections, requests int) uint64 {
	return uint64(C.cb_application_sum(cApp(0, connections, requests)))
}

func cApp(form, connections, requests int) *C.struct_cb_app {
	return &C.struct_cb_app{C.int64_t(form), C.int64_t(connections), C.int64_t(requests)}
}
