//go:build linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// machine looks at the kernel and at limits, as the C core does at start.
func machine() []finding {
	guard := guards()
	return []finding{kernel(), workers(), doors(), guard, clock(), reads(),
		mappings(guard.grade), threads(), descriptors(), addresses()}
}

func kernel() finding {
	text := readLine("/proc/sys/kernel/osrelease")
	if text == "" {
		text = "of unknown release: /proc is not there"
	}
	return finding{good, "kernel", text, ""}
}

// The numbers of system calls that package syscall has not, on amd64 and on arm64.
func number(amd64, arm64 uintptr) uintptr {
	if runtime.GOARCH == "arm64" {
		return arm64
	}
	return amd64
}

// refused tells whether the kernel does not know a system call, or a filter does not let it pass.
func refused(e syscall.Errno) bool { return e == syscall.ENOSYS || e == syscall.EPERM }

func doors() finding {
	const query, expedited, register = 0, 1 << 3, 1 << 4
	membarrier := number(324, 283)
	commands, _, e := syscall.Syscall(membarrier, query, 0, 0)
	if e == 0 && commands&expedited != 0 {
		if _, _, e = syscall.Syscall(membarrier, register, 0, 0); e == 0 {
			return finding{good, "doors", "asymmetric (membarrier)", ""}
		}
	}
	return finding{slower, "doors", "an exchange, for membarrier is refused: about 5 ns a switch",
		"a container's filter (seccomp) must let membarrier(2) pass"}
}

// guards asks for one, and looks whether it holds: emulators report success for every advice that
// they do not know.
func guards() finding {
	const install = 102 // MADV_GUARD_INSTALL
	page, err := syscall.Mmap(-1, 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err == nil {
		defer syscall.Munmap(page)
		at := uintptr(unsafe.Pointer(unsafe.SliceData(page)))
		_, _, no := syscall.Syscall(syscall.SYS_MADVISE, at, uintptr(len(page)), install)
		_, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETRES, 1, at, 0)
		if no == 0 && e == syscall.EFAULT {
			return finding{good, "guards", "no mapping each (MADV_GUARD_INSTALL)", ""}
		}
	}
	return finding{slower, "guards", "two mappings a stack (mprotect), of vm.max_map_count",
		"Linux 6.13 has MADV_GUARD_INSTALL"}
}

func clock() finding {
	none := ^uintptr(0)
	_, _, e := syscall.Syscall6(441, none, 0, 0, 0, 0, 0) // epoll_pwait2
	if refused(e) {
		return finding{slower, "deadlines", "of descriptors: in milliseconds, for " +
			"epoll_pwait2 is refused", "Linux 5.11 has it; a container's filter must " +
			"let it pass"}
	}
	return finding{good, "deadlines", "of nanoseconds (epoll_pwait2)", ""}
}

func reads() finding {
	const nowait = 8 // RWF_NOWAIT
	f := finding{slower, "files", "each read goes by the pool, for preadv2 is refused",
		"Linux 4.14 has RWF_NOWAIT; a container's filter must let preadv2 pass"}
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		f.text, f.remedy = "not known: "+err.Error(), "mount /proc"
		return f
	}
	defer file.Close()
	var b [1]byte
	v := syscall.Iovec{Base: &b[0], Len: 1}
	preadv2 := number(327, 286)
	_, _, e := syscall.Syscall6(preadv2, file.Fd(), uintptr(unsafe.Pointer(&v)), 1, 0, 0,
		nowait)
	switch {
	case refused(e):
	case e == syscall.EOPNOTSUPP:
		f.text = "each read goes by the pool on this file system"
		f.remedy = "ext4, xfs and btrfs have RWF_NOWAIT"
	default:
		f = finding{good, "files", "what is in memory is read at once (preadv2)", ""}
	}
	return f
}

// mappings: with light guards a stack is part of a larger mapping.
func mappings(guards grade) finding {
	text := readLine("/proc/sys/vm/max_map_count")
	f := finding{good, "mappings", "vm.max_map_count is " + text, ""}
	most, err := strconv.Atoi(text)
	if err == nil && guards != good {
		f.grade, f.remedy = slower, fmt.Sprintf("about %d stacks at a time, others wait: "+
			"sysctl -w vm.max_map_count=1048576 for more", most/2)
	}
	return f
}

const (
	limitProcesses = 6 // RLIMIT_NPROC
	enoughThreads  = 512
	enoughFiles    = 4096
)

func threads() finding {
	most, text := limit(limitProcesses)
	f := finding{good, "threads", "RLIMIT_NPROC is " + text, ""}
	if pids := cgroupPids(); pids != "" {
		f.text += ", pids.max is " + pids
		if n, err := strconv.ParseUint(pids, 10, 64); err == nil {
			most = min(most, n)
		}
	}
	if most < enoughThreads {
		f.grade, f.remedy = slower, "New fails where no thread is left: ulimit -u, or the "+
			"container's limit of processes, for more"
	}
	return f
}

// cgroupPids is the limit of processes of this process's control group.
func cgroupPids() string {
	for line := range strings.Lines(readAll("/proc/self/cgroup")) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			for _, dir := range []string{"/sys/fs/cgroup" + path, "/sys/fs/cgroup"} {
				if text := readLine(dir + "/pids.max"); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

func descriptors() finding {
	most, text := limit(syscall.RLIMIT_NOFILE)
	f := finding{good, "descriptors", "RLIMIT_NOFILE is " + text, ""}
	if most < enoughFiles {
		f.grade, f.remedy = slower, "each connection needs one: ulimit -n, or "+
			"systemd's LimitNOFILE=, for more"
	}
	return f
}

func addresses() finding {
	most, text := limit(syscall.RLIMIT_AS)
	f := finding{good, "addresses", "RLIMIT_AS is " + text, ""}
	if most < 4<<30 {
		f.grade, f.remedy = slower, "stacks take addresses, used or not, and New may "+
			"return ErrNoMemory: ulimit -v for more"
	}
	return f
}

// limit is the soft limit, which Go has raised to the hard one for descriptors.
func limit(resource int) (uint64, string) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil {
		return ^uint64(0), err.Error()
	}
	if l.Cur == ^uint64(0) {
		return l.Cur, "unlimited"
	}
	return l.Cur, strconv.FormatUint(l.Cur, 10)
}

func readAll(file string) string {
	text, _ := os.ReadFile(file) // one that is not there is told by its lack
	return string(text)
}

func readLine(file string) string { return oneLine(readAll(file)) }
