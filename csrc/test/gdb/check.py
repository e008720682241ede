# check.py - run by gdb over subject: what a debugger shows of coroutines, and that looking changes nothing.
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import gdb

# What runs the program, where this machine does not: words, of which the first is a program of the kind of qemu-user.
EMULATOR = os.environ.get("CORO_GDB_EMULATOR", "").split()
emulated = None

SWITCHES = ("coroi_switch", "coroi_switch_within", "coroi_swap", "coroi_jump", "coroi_restart", "coroi_entry", "coroi_entry_again", "coroi_base")

NATIVE = ("clone3", "clone", "thread_start", "main", "_start")


def say(text):
    """gdb's own messages go to stdout, and are nobody's business."""
    print(text, file=sys.__stderr__, flush=True)


def functions(lines):
    """The function of each frame, innermost first."""
    names = []
    for line in lines:
        m = re.match(r"#\d+\s+(?:0x[0-9a-f]+ in )?(\activity+) \(", line)
        if m:
            names.append(m.group(1))
    return names


def check(ok, what, text):
    if not ok:
        say("FAIL: %s\n%s" % (what, text))
        if emulated:
            emulated.kill()
        os._exit(1)


def ends_cleanly(text, want, base="coroi_entry"):
    names = functions(text.splitlines())
    check(names[: len(want)] == want, "expected " + " ".join(want), text)
    check(names[-1] == base, "the last frame is to be " + base, text)
    check("Backtrace stopped" not in text and "??" not in text, "it is to end by itself", text)


def run(command):
    return gdb.execute(command, to_string=True)


def start_emulated():
    """The emulator waits for us at a socket before the first instruction."""
    global emulated
    socket = os.path.join(tempfile.mkdtemp(), "gdb")
    emulated = subprocess.Popen(EMULATOR + ["-g", socket, gdb.current_progspace().filename])
    while not os.path.exists(socket) and emulated.poll() is None:
        time.sleep(0.01)
    run("target remote " + socket)
    shutil.rmtree(os.path.dirname(socket))


def steps():
    """Through a switch, instruction by instruction: the backtrace is whole at each."""
    n = 0
    while gdb.newest_frame().name() in SWITCHES:
        text = run("backtrace")
        names = functions(text.splitlines())
        check(names[-1] in ("coroi_entry", "coroi_base") + NATIVE, "the end of the stack, at a step", text + run("x/i $pc"))
        check("Backtrace stopped" not in text and "??" not in text, "it is to end by itself, at a step", text + run("x/i $pc"))
        run("stepi")
        n += 1
    return n


def main():
    run("set pagination off")
    run("set confirm off")
    run("set width 0")
    run("break stop_here")
    try:
        if EMULATOR:
            start_emulated()
        run("continue" if EMULATOR else "run")
    except gdb.error as e:
        if "ptrace" not in str(e).lower():
            raise
        say("skipped: this machine does not let gdb trace a process (%s)" % e)
        return

    # A running one.
    ends_cleanly(run("backtrace"), ["stop_here", "runs_inner", "runs"])
    before = run("info registers")

    # A parked one, by its handle; one resumed by hand; and the list.
    text = run("coro bt parked")
    check("parked" in text.splitlines()[0] and "<parks>" in text.splitlines()[0], "a title", text)
    ends_cleanly(text, ["parks_inner", "parks_outer", "parks"])
    ends_cleanly(run("coro bt held"), ["gives_inner", "gives"])
    text = run("coro list")
    check(re.search(r"^0x[0-9a-f]+ parked worker 0 .*<parks>$", text, re.M), "the parked one", text)
    check(re.search(r"^0x[0-9a-f]+ runs   worker 0 .*<runs>$", text, re.M), "the running one", text)
    check(len(text.splitlines()) == 2, "two in the list", text)
    text = run("coro list 1")
    check(len(text.splitlines()) == 2 and text.splitlines()[1] == "and 1 more", "one in the list", text)
    text = run("coro bt all")
    check("parks_inner" in text and "runs " in text, "all", text)
    try:
        run("coro bt parked + 0x100000000")
        check(False, "a stale handle", "")
    except gdb.error as e:
        check("stale" in str(e), "a stale handle", str(e))
    check(run("info registers") == before, "registers are as they were", before)

    # Every instruction of all later switches, into new stacks too; and a body on the stack of coro_call_on_stack.
    for name in SWITCHES[:4]:
        run("break *" + name)
    run("set scheduler-locking step")
    n = stepped = seen = 0
    while True:
        try:
            run("continue")
            if not gdb.selected_inferior().pid:
                break
            if gdb.newest_frame().name() == "stop_here":
                if seen == 0:
                    ends_cleanly(run("backtrace"), ["stop_here", "runs_inner", "on_another"])
                else:
                    text = run("backtrace")
                    names = functions(text.splitlines())
                    check(names[:2] == ["stop_here", "serves"], "who stands in for Go", text)
                    check(names[-1] in NATIVE and "Backtrace stopped" not in text and "??" not in text, "it is to end by itself", text)
                    ends_cleanly(run("coro bt caller"), ["calls_inner", "runs"])
                seen += 1
            else:
                stepped += 1
                n += steps()
        except gdb.error as e:
            if "not being run" in str(e):
                break
            raise
    check(seen == 2, "the body on another stack, and the call from a coroutine into Go", "")
    check(stepped >= 4 and n >= 50, "switches seen", "%d, %d instructions" % (stepped, n))
    check(gdb.parse_and_eval("$_exitcode") == 0, "the program ends well", "")
    say("ok: gdb sees running, parked and hand-resumed coroutines; %d instructions of %d switches" % (n, stepped))


try:
    main()
except Exception as e:  # gdb would go on, and end with success
    check(False, "%s: %s" % (type(e).__name__, e), "")
