package harness

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Machine says where and when something was measured.
type Machine struct {
	Processor string `json:"processor"`
	CPUs      int    `json:"cpus"`
	System    string `json:"system"` // such as linux/amd64
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
	Compiler  string `json:"compiler"` // of C
	Date      string `json:"date"`     // in UTC
}

// ThisMachine is the machine that this process runs on. It runs the C compiler to ask its version.
func ThisMachine(now time.Time) Machine {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		kernel = []byte("of an unknown version")
	}
	release, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-")
	return Machine{
		Processor: processor(),
		CPUs:      runtime.NumCPU(),
		System:    runtime.GOOS + "/" + runtime.GOARCH,
		Kernel:    "Linux " + release,
		Go:        runtime.Version(),
		Compiler:  compiler(),
		Date:      now.UTC().Format("2006-01-02 15:04 UTC"),
	}
}

func (m Machine) String() string {
	return fmt.Sprintf("%s, %d CPUs, %s, %s, %s, %s, %s", m.Processor, m.CPUs, m.System, m.Kernel,
		m.Go, m.Compiler, m.Date)
}

func compiler() string {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	version, err := exec.Command(cc, "-dumpfullversion").Output()
	if err != nil {
		return "no C compiler"
	}
	return cc + " " + strings.TrimSpace(string(version))
}

func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if key, value, ok := strings.Cut(sc.Text(), ":"); ok &&
			strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// A Noise is how long one fixed loop took, by two clocks. The clock on the wall runs on while other
// programs have the CPU, the thread's does not; both are longer on a CPU that is slower than
// before.
type Noise struct {
	WallMS float64 `json:"wall_ms"`
	CPUMS  float64 `json:"cpu_ms"`
}

const (
	noiseSteps = 20_000_000 // of dependent arithmetic: some 20 ms
	noiseRuns  = 5
)

// Listen runs the fixed loop some times. The result is the median by each clock.
func Listen() Noise {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var wall, cpu []float64
	for range noiseRuns {
		start, began := time.Now(), threadTime()
		runtime.KeepAlive(steps(noiseSteps))
		wall = append(wall, float64(time.Since(start))/1e6)
		cpu = append(cpu, float64(threadTime()-began)/1e6)
	}
	return Noise{round(Median(wall)), round(Median(cpu))}
}

func steps(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// threadTime is the CPU time of the calling thread.
func threadTime() time.Duration {
	const clockThreadCPUTime = 3
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPUTime,
		uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		return 0
	}
	return time.Duration(t.Nano())
}

func (n Noise) String() string {
	return fmt.Sprintf("A fixed loop takes %.1f ms of time, and %.1f ms of its thread's CPU time.",
		n.WallMS, n.CPUMS)
}

// Since compares with an earlier Noise, in a sentence.
func (n Noise) Since(before Noise) string {
	verdict := "The machine is as fast as before."
	switch {
	case n.WallMS > 1.1*n.CPUMS || before.WallMS > 1.1*before.CPUMS:
		verdict = "Other programs had the CPUs, too: take the ratios, not the figures."
	case n.CPUMS > 1.1*before.CPUMS || before.CPUMS > 1.1*n.CPUMS:
		verdict = "The CPUs have changed their speed: take the ratios, not the figures."
	}
	return n.String() + " " + verdict
}
