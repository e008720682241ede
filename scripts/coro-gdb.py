# coro-gdb.py - gdb commands that show coroutines. Source it in gdb: source scripts/coro-gdb.py
#
#   coro list [N]    the coroutines that run, wait or are queued, at most N (100): handle, state, home, function.
#                    One that has not started has no record yet, unless a handle of it was asked for
#   coro bt WHICH    the backtrace of a suspended one: a handle, or an expression of type coro_t * or struct coroi_rec *
#   coro bt all      of each in the list
#
# Nothing is written, neither registers nor memory: it works on the kernel's core files too. It needs the debug information of the
# core, which cgo keeps unless the linker is told otherwise (-ldflags=-s, and `go test` does so).
#
# A suspended context is one word, see csrc/switch.h: the registers lie above it. An unwinder that is switched on for one
# backtrace says that the caller of the newest frame is that context; gdb does the rest.

import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

# From the saved sp: words of the registers, of the place to go on, and of all.
LAYOUT = {
    "i386:x86-64": (["r15", "r14", "r13", "r12", "rbx", "rbp"], "rip", "rsp", 6, 7),
    "aarch64": (["x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"], "pc", "sp", 11, 20),
}


def word(address):
    return struct.unpack("<Q", bytes(gdb.selected_inferior().read_memory(address, 8)))[0]


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class Suspended(Unwinder):
    """The newest frame was called by the suspended context at sp."""

    def __init__(self):
        super().__init__("coro suspended")
        self.sp = None
        self.newest = None

    def __call__(self, pending):
        if self.sp is None:
            return None
        names, pc, sp, at, words = LAYOUT[pending.architecture().name()]
        here = pending.read_register(sp)
        if int(here) != self.newest:
            return None
        # A frame below all others: gdb takes a caller on a lower stack for a destroyed one.
        info = pending.create_unwind_info(FrameId(gdb.Value(16).cast(here.type), pending.read_register(pc)))
        for i, name in enumerate(names):
            info.add_saved_register(name, self.value(pending, name, word(self.sp + 8 * i)))
        info.add_saved_register(pc, self.value(pending, pc, word(self.sp + 8 * at)))
        info.add_saved_register(sp, self.value(pending, sp, self.sp + 8 * words))
        return info

    @staticmethod
    def value(pending, name, number):
        return gdb.Value(struct.pack("<Q", number), pending.read_register(name).type)


suspended = Suspended()
register_unwinder(None, suspended, replace=True)


def backtrace(sp):
    """The frames of the context at sp, innermost first, as gdb prints them."""
    selected = gdb.selected_frame()
    newest = gdb.newest_frame()
    suspended.newest = int(newest.read_register(LAYOUT[newest.architecture().name()][2]))
    suspended.sp = sp
    gdb.invalidate_cached_frames()
    try:
        text = gdb.execute("backtrace", to_string=True)
    finally:
        suspended.sp = None
        gdb.invalidate_cached_frames()
        if selected.is_valid():
            selected.select()
    # The newest frame is the thread's own: the others count from 0.
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("#1 ")), len(lines))
    return [re.sub(r"^#(\d+) +", lambda m: "#%-3d" % (int(m.group(1)) - 1), line) for line in lines[start:]]


def constant(name):
    return int(gdb.parse_and_eval(name))


class Record:
    """A scheduled coroutine: struct coroi_rec at an address."""

    def __init__(self, address):
        self.at = gdb.Value(address).cast(gdb.lookup_type("struct coroi_rec").pointer())
        self.address = address

    def handle(self):
        chunk_bytes = 2 << 20
        base = self.address & ~(chunk_bytes - 1)
        chunk = gdb.Value(base).cast(gdb.lookup_type("struct coroi_chunk").pointer())
        place = (self.address - base) // self.at.dereference().type.sizeof
        return int(self.at["wake"]) >> 32 << 32 | int(chunk["id"]) << 14 | place

    def state(self):
        if self.running():
            return "runs"
        waits = {"j": "joins", "g": "calls", "t": "sleeps", "b": "blocks"}.get(chr(int(self.at["waits"])), "waits")
        names = {"COROI_FRESH": "fresh", "COROI_ACTIVE": "queued", "COROI_PARKED": "parked", "COROI_WAITING": waits, "COROI_COMMITTED": waits,
                 "COROI_ENDED": "ended"}
        for name, text in names.items():
            if int(self.at["state"]) == constant(name):
                return text
        return "free"

    def scheduler(self):
        base = self.address & ~((2 << 20) - 1)
        return gdb.Value(base).cast(gdb.lookup_type("struct coroi_chunk").pointer())["owner"]

    def running(self):
        """The thread id of the worker that runs it, or 0."""
        s = self.scheduler()
        for i in range(int(s["workers"])):
            w = s["worker"][i]
            if int(w["current"]) == self.address:
                return int(w["tid"])
        return 0

    def is_away(self):
        """Dense, and copied out of its stack (csrc/dense.h): in the place of its context is that of the copier."""
        dense = self.scheduler()["worker"][int(self.at["home"])]["dense"]
        return int(dense) != 0 and int(self.at["sp"]) == int(dense["copier_sp"]) and not self.running()

    def __str__(self):
        fn = self.at["fn"].format_string(symbols=True)
        return "0x%x %-6s worker %d %s" % (self.handle(), self.state(), int(self.at["home"]), fn)


def records():
    """All that are neither free nor ended."""
    kind = gdb.lookup_type("struct coroi_rec")
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == "state")
    count = (2 << 20) // 2 // kind.sizeof
    wanted = {constant(n) for n in ("COROI_FRESH", "COROI_ACTIVE", "COROI_PARKED", "COROI_WAITING", "COROI_COMMITTED")}
    directory = gdb.parse_and_eval("coroi_chunk_dir")
    for i in range(directory.type.range()[1] + 1):
        base = int(directory[i])
        if base == 0:
            return
        memory = bytes(gdb.selected_inferior().read_memory(base, count * kind.sizeof))
        for k in range(1, count):
            if memory[k * kind.sizeof + offset] in wanted:
                yield Record(base + k * kind.sizeof)


def find(expression):
    """What an argument of coro bt names: a saved sp and a title."""
    value = gdb.parse_and_eval(expression)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        target = value.type.strip_typedefs().target().strip_typedefs()
        if target.name == "coro":
            return int(value["sp"]), "coro_t at 0x%x" % int(value)
        if target.name == "coroi_rec":
            return of_record(Record(int(value)))
    handle = int(value)
    chunk = int(gdb.parse_and_eval("coroi_chunk_dir")[handle >> 14 & (1 << 18) - 1])
    if chunk == 0 or handle & (1 << 14) - 1 == 0:
        raise gdb.GdbError("there was never a coroutine of that handle")
    r = Record(chunk + (handle & (1 << 14) - 1) * gdb.lookup_type("struct coroi_rec").sizeof)
    if r.handle() != handle:
        raise gdb.GdbError("stale: the coroutine of that handle has ended")
    return of_record(r)


def of_record(r):
    if r.running():
        raise gdb.GdbError("it runs: look at the thread of LWP %d" % r.running())
    if int(r.at["sp"]) == 0:
        raise gdb.GdbError("it has not started: %s" % r)
    if r.is_away():
        raise gdb.GdbError("dense, and its frames are not on a stack: %s" % r)
    return int(r.at["sp"]), str(r)


class Coro(gdb.Command):
    """Show coroutines: coro list [MOST], coro bt WHICH, coro bt all."""

    def __init__(self):
        super().__init__("coro", gdb.COMMAND_STACK, gdb.COMPLETE_NONE, True)


class List(gdb.Command):
    """List the coroutines that run, wait or are queued: coro list [MOST]."""

    def __init__(self):
        super().__init__("coro list", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        most = int(gdb.parse_and_eval(arg)) if arg.strip() else 100
        n = 0
        for r in records():
            n += 1
            if n <= most:
                print(r)
        if n > most:
            print("and %d more" % (n - most))


class Backtrace(gdb.Command):
    """Backtrace of a suspended coroutine: coro bt HANDLE, or an expression of type coro_t *, or all."""

    def __init__(self):
        super().__init__("coro bt", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        if arg.strip() != "all":
            self.show(*find(arg))
            return
        for r in records():
            if r.running() or int(r.at["sp"]) == 0 or r.is_away():
                print(r)
            else:
                self.show(*of_record(r))

    @staticmethod
    def show(sp, title):
        print(title)
        for line in backtrace(sp):
            print(line)


Coro()
List()
Backtrace()
