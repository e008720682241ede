# check.py - run by gdb on subject.c: what cmd/coro/coro-gdb.py shows of coroutines, and that looking
# changes nothing.
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import gdb

# The command that runs the program where this machine cannot, such as qemu-user; or none.
EMULATOR = os.environ.get("CORO_GDB_EMULATOR", "").split()
emulated = None

SWITCHES = (
    "coroi_switch",
    "coroi_switch_within",
    "coroi_swap",
    "coroi_jump",
    "coroi_restart",
    "coroi_entry",
    "coroi_entry_again",
    "coroi_base",
)

NATIVE = ("clone3", "clone", "thread_start", "main", "_start")


def say(text):
    """Write to stderr: stdout has gdb's own messages, which go to a log."""
    print(text, file=sys.__stderr__, flush=True)


def functions(lines):
    """The function of each frame, innermost first."""
    names = []
    for line in lines:
        m = re.match(r"#\d+\s+(?:0x[0-9a-f]+ in )?(\S+) \(", line)
        if m:
            names.append(m.group(1))
    return names


def check(ok, what, text):
    if not ok:
        say("FAIL: %s\n%s" % (what, text))
        if emulated:
            emulated.kill()
        os._exit(1)


def is_whole(text):
    """Whether a backtrace ended by itself, with a name for each frame."""
    return "Backtrace stopped" not in text and "??" not in text


def ends_cleanly(text, want, base="coroi_entry"):
    names = functions(text.splitlines())
    check(names[: len(want)] == want, "expected " + " ".join(want), text)
    check(names[-1] == base, "the last frame must be " + base, text)
    check(is_whole(text), "the backtrace must end by itself", text)


def run(command):
    return gdb.execute(command, to_string=True)


def start_emulated():
    """Start the emulator. It waits at a socket for gdb, before the first instruction."""
    global emulated
    socket = os.path.join(tempfile.mkdtemp(), "gdb")
    emulated = subprocess.Popen(EMULATOR + ["-g", socket, gdb.current_progspace().filename])
    while not os.path.exists(socket) and emulated.poll() is None:
        time.sleep(0.01)
    run("target remote " + socket)
    shutil.rmtree(os.path.dirname(socket))


def steps():
    """Step through a switch: the backtrace is whole at each instruction. Returns their number."""
    n = 0
    while gdb.newest_frame().name() in SWITCHES:
        text = run("backtrace")
        names = functions(text.splitlines())
        known = names[-1] in ("coroi_entry", "coroi_base") + NATIVE
        check(known, "the last frame, at a step", text + run("x/i $pc"))
        check(is_whole(text), "the backtrace must end by itself, at a step", text + run("x/i $pc"))
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

    # A running coroutine.
    ends_cleanly(run("backtrace"), ["stop_here", "runs_inner", "runs"])
    before = run("info registers")

    # A parked coroutine, by its handle; one resumed by hand; the list.
    text = run("coro bt parked")
    title = text.splitlines()[0]
    check("parked" in title and "<parks>" in title, "a title", text)
    ends_cleanly(text, ["parks_inner", "parks_outer", "parks"])
    ends_cleanly(run("coro bt held"), ["gives_inner", "gives"])
    text = run("coro list")
    parked = re.search(r"^0x[0-9a-f]+ parked worker 0 .*<parks>$", text, re.M)
    check(parked, "the parked coroutine", text)
    running = re.search(r"^0x[0-9a-f]+ runs   worker 0 .*<runs>$", text, re.M)
    check(running, "the running coroutine", text)
    many = re.search(r"^0x[0-9a-f]+ parked worker 0 .*<one_of_many>$", text, re.M)
    check(many, "one of many, by its own function", text)
    leader = r"^0x[0-9a-f]+ waits: join worker 0 leads calls of .*<one_of_many>$"
    check(re.search(leader, text, re.M), "what leads them", text)
    child = r"^0x[0-9a-f]+ parked worker 0 .*<%s>$"
    parent = r"^0x[0-9a-f]+ waits: fork worker 0 .*<%s>$"
    check(re.search(child % "parks_in_a_fork", text, re.M), "a child on its parents' stack", text)
    check(re.search(child % "parks_apart", text, re.M), "a child on another stack", text)
    check(len(re.findall(parent % "forks", text, re.M)) == 2, "parents on one stack", text)
    check(re.search(parent % "forks_and_yields", text, re.M), "a parent", text)
    check(len(text.splitlines()) == 9, "nine in the list", text)
    text = run("coro list 1")
    check(text.splitlines()[1:] == ["and 8 more"], "one in the list", text)
    text = run("coro bt all")
    check("parks_inner" in text and "runs " in text, "all", text)
    check(text.count("<parks_in_a_fork>\nin a join of ") == 1, "a stack is shown once", text)

    # Forks: one stack, whichever of those on it is asked for.
    text = run("coro bt forked")
    titles = [t for t in text.splitlines() if not t.startswith("#")]
    check(len(titles) == 3 and "<parks_in_a_fork>" in titles[0], "titles", text)
    check(all(t.startswith("in a join of ") and "<forks>" in t for t in titles[1:]), "titles", text)
    names = functions(text.splitlines())
    check(names[:2] == ["parks_inner", "parks_in_a_fork"], "the child's frames", text)
    check(names.count("forks") == 2 and names[-1] == "coroi_entry", "its parents'", text)
    check(is_whole(text), "the backtrace must end by itself", text)
    lowest = titles[2].split()[4]
    check(run("coro bt " + lowest) == text, "the same by the parent", text)
    ends_cleanly(run("coro bt taken"), ["parks_inner", "parks_apart"])
    try:
        run("coro bt parked + 0x100000000")
        check(False, "a stale handle", "")
    except gdb.error as e:
        check("stale" in str(e), "a stale handle", str(e))
    check(run("info registers") == before, "registers are unchanged", before)

    # Every instruction of all later switches, some into new stacks. A body on the stack of
    # coro_call_on_stack.
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
                    check(names[:2] == ["stop_here", "serves"], "the stand-in for Go", text)
                    whole = names[-1] in NATIVE and is_whole(text)
                    check(whole, "the backtrace must end by itself", text)
                    ends_cleanly(run("coro bt caller"), ["calls_inner", "runs"])
                seen += 1
            else:
                stepped += 1
                n += steps()
        except gdb.error as e:
            if "not being run" in str(e):
                break
            raise
    check(seen == 2, "the body on another stack, and a coroutine's call into Go", "")
    check(stepped >= 4 and n >= 50, "switches seen", "%d, %d instructions" % (stepped, n))
    check(gdb.parse_and_eval("$_exitcode") == 0, "the program ends well", "")
    kinds = "running, parked and hand-resumed coroutines"
    say("ok: gdb sees %s; %d instructions of %d switches" % (kinds, n, stepped))


try:
    main()
except Exception as e:  # gdb would go on, and exit with 0
    check(False, "%s: %s" % (type(e).__name__, e), "")
