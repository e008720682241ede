package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A process is a server that runs.
type process struct {
	cmd     *exec.Cmd
	address string
	dir     string // a folder that ends with it, or ""
}

func startServer(o options, system string, workers int) (*process, error) {
	if system == sysLwan {
		return startLwan(o, workers)
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := command(workers == 1, own, "-serve", system, "-workers", strconv.Itoa(workers))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = p.end()
		return nil, fmt.Errorf("the server %s has not begun: %w", system, err)
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

func command(pinned bool, args ...string) *exec.Cmd {
	if pinned {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	return cmd
}

// startLwan starts Lwan's sample, which reads a configuration of its own name in its folder.
func startLwan(o options, workers int) (*process, error) {
	path, err := filepath.Abs(o.lwan)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lwan")
	if err != nil {
		return nil, err
	}
	const address = "127.0.0.1:8080"
	config := fmt.Sprintf("threads = %d\nquiet = true\nlistener %s\nsite {\n\t&hello_world /\n}\n",
		workers, address)
	p := &process{cmd: command(workers == 1, path), address: address, dir: dir}
	p.cmd.Dir = dir
	file := filepath.Join(dir, filepath.Base(path)+".conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	for range 100 {
		if c, err := net.Dial("tcp", address); err == nil {
			return p, c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("lwan does not listen at %s", address), p.end())
}

// end kills the server: what it could still do is not measured.
func (p *process) end() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // it was killed
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// A cpuTime is what a process has used so far.
type cpuTime struct{ user, system time.Duration }

// cpu looks at the process. Linux counts whole ticks of user and system time, and takes the parts
// of the exact sum from these.
func (p *process) cpu() (cpuTime, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return cpuTime{}, err
	}
	// the name of the program, in brackets, may have blanks
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return cpuTime{}, fmt.Errorf("/proc/%d/stat has %d fields", p.cmd.Process.Pid, len(fields))
	}
	const tick = 10 * time.Millisecond // of USER_HZ, the same on every Linux
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return cpuTime{}, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return cpuTime{time.Duration(user) * tick, time.Duration(system) * tick}, err
}

// memory is how many bytes of the process are resident.
func (p *process) memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, err
	}
	return resident * int64(os.Getpagesize()), nil
}
