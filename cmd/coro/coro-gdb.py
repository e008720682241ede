# coro-gdb.py - gdb commands that show coroutines. In gdb: source coro-gdb.py
#
#   coro list [N]    the coroutines that run, wait or are queued, at most N (100): handle, state,
#                    home, function. An unstarted one has no record yet, unless the spawn asked for
#                    its handle
#   coro bt WHICH    the backtrace of a suspended coroutine: a handle, or an expression of type
#                    coro_t * or struct coroi_rec *. Of a coroutine whose join has called a fork's
#                    child: that of the child, which is on the same stack
#   coro bt all      the backtraces of all in the list
#
# The commands write neither registers nor memory, so they work on core files, too. They need the
# debug information of the C core. cgo keeps it, unless the linker drops it (-ldflags=-s, and so
# does `go test`).
#
# A suspended context is one word, see csrc/base/switch.h: the registers lie above the address in
# that word. For one backtrace, an unwinder tells gdb that this context is the caller of the newest
# frame; gdb does the rest.

import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

# By architecture: the saved registers, the names of pc and sp, the word of the saved pc, and the
# number of words; words are counted from the saved sp.
LAYOUT = {
    "i386:x86-64": (["r15", "r14", "r13", "r12", "rbx", "rbp"], "rip", "rsp", 6, 7),
    "aarch64": (["x%d" % n for n in range(19, 30)], "pc", "sp", 11, 20),
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
        # The frame is below all others: gdb would take a caller on a lower stack for a destroyed
        # frame.
        below = FrameId(gdb.Value(16).cast(here.type), pending.read_register(pc))
        info = pending.create_unwind_info(below)
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
    """The lines of gdb's backtrace of the context at sp, innermost frame first."""
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
    # Frame 0 is the thread's own: the others are renumbered from 0.
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("#1 ")), len(lines))

    def renumbered(line):
        return re.sub(r"^#(\d+) +", lambda m: "#%-3d" % (int(m.group(1)) - 1), line)

    return [renumbered(line) for line in lines[start:]]


def constant(name):
    return int(gdb.parse_and_eval(name))


def pointer_to(name):
    return gdb.lookup_type("struct " + name).pointer()


def function_at(address):
    """A C function, as gdb shows a pointer to it."""
    return gdb.Value(address).cast(gdb.lookup_type("coro_fn")).format_string(symbols=True)


def behaviour(address):
    """The behaviour of the actor in a place (csrc/actor/actors.h)."""
    kind = int(gdb.Value(address).cast(pointer_to("coroi_place"))["kind"])
    pointer = gdb.Value(kind & (1 << 48) - 1)
    if kind >> 48 & constant("COROI_P_SIDE"):
        return int(pointer.cast(pointer_to("coroi_side"))["kind"]["behave"])
    return int(pointer.cast(gdb.lookup_type("coro_actor_kind").pointer())["behave"])


# csrc/kernel/record.h: a handle is generation:32 | chunk:18 | record:14.
CHUNK_BYTES = 2 << 20


def wait_kinds():
    """The kinds of waits by number, as enum coro_wait_kind of coro.h has them."""
    prefix = "CORO_WAIT_"
    fields = gdb.lookup_type("enum coro_wait_kind").fields()
    return {f.enumval: f.name[len(prefix):].lower() for f in fields if f.name.startswith(prefix)}


class Record:
    """A scheduled coroutine: struct coroi_rec at an address."""

    def __init__(self, address):
        self.at = gdb.Value(address).cast(pointer_to("coroi_rec"))
        self.address = address

    def chunk(self):
        base = self.address & ~(CHUNK_BYTES - 1)
        return gdb.Value(base).cast(pointer_to("coroi_chunk"))

    def handle(self):
        chunk = self.chunk()
        record = (self.address - int(chunk)) // self.at.dereference().type.sizeof
        return int(self.at["wake"]) >> 32 << 32 | int(chunk["id"]) << 14 | record

    def state(self):
        if self.running():
            return "runs"
        waits = "waits: " + wait_kinds().get(int(self.at["waits"]), "unknown")
        names = {
            "COROI_FRESH": "fresh",
            "COROI_ACTIVE": "queued",
            "COROI_PARKED": "parked",
            "COROI_WAITING": waits,
            "COROI_COMMITTED": waits,
            "COROI_ENDED": "ended",
        }
        for name, text in names.items():
            if int(self.at["state"]) == constant(name):
                return text
        return "free"

    def scheduler(self):
        return self.chunk()["owner"]

    def running(self):
        """The thread id of the worker that runs this coroutine, or 0."""
        s = self.scheduler()
        for i in range(int(s["workers"])):
            w = s["worker"][i]
            if int(w["current"]) == self.address:
                return int(w["thread"]["tid"])
        return 0

    def is_away(self):
        """Dense, with its frames copied out (csrc/kernel/dense.h): its context is the copier's."""
        dense = self.scheduler()["worker"][int(self.at["home"])]["dense"]
        if int(dense) == 0 or self.running():
            return False
        return int(self.at["sp"]) == int(dense["copier_sp"])

    def payload(self, n):
        """The n-th word of the argument."""
        return word(self.address + CHUNK_BYTES // 2 + 8 * n)

    def has(self, flag):
        return int(self.at["more"]) & constant("COROI_M_" + flag) != 0

    def fork(self):
        """The fork that this child came of (csrc/kernel/inlined.h)."""
        fork = gdb.Value(self.payload(5)).cast(gdb.lookup_type("coro_fork").pointer())
        return fork.dereference()

    def chain(self):
        """The coroutines that share its stack, the innermost first: a child, its parent, ..."""
        r = self
        while r.has("INLINES"):
            r = Record(int(r.at["next"]))
        chain = [r]
        while r.has("INLINED"):
            r = Record(int(r.fork()["parent"]))
            chain.append(r)
        return chain

    def function(self):
        """The function that the user knows: the library's own bodies stand for one (inner.h)."""
        fn = self.at["fn"]
        text = fn.format_string(symbols=True)
        own = text.split("<")[-1].rstrip(">")
        if own == "coroi_many_one":
            one = gdb.Value(self.payload(0)).cast(pointer_to("coroi_one"))
            return function_at(int(one["of"]["fn"]))
        if own == "coroi_many_lead":
            many = gdb.Value(self.payload(0)).cast(pointer_to("coroi_many"))
            return "leads calls of " + function_at(int(many["fn"]))
        if own == "coroi_scope_child":
            return function_at(self.payload(1))
        if own == "coroi_scope_fork":  # struct child of csrc/sync/scope.c
            return function_at(word(int(self.fork()["arg"]) + self.fork().type.sizeof + 8))
        if own == "coroi_fork_run" and self.has("FORK"):
            return function_at(self.payload(4))
        if own == "coroi_fork_run":  # it has not begun
            fork = gdb.Value(self.payload(0)).cast(gdb.lookup_type("coro_fork").pointer())
            return function_at(int(fork["fn"]))
        if own == "coroi_turn":
            return "turn of an actor with " + function_at(behaviour(self.payload(0)))
        return text

    def __str__(self):
        fn = self.function()
        return "0x%x %-6s worker %d %s" % (self.handle(), self.state(), int(self.at["home"]), fn)


def records():
    """All records that are neither free nor ended."""
    kind = gdb.lookup_type("struct coroi_rec")
    offset = next(f.bitpos // 8 for f in kind.fields() if f.name == "state")
    count = CHUNK_BYTES // 2 // kind.sizeof
    states = ("FRESH", "ACTIVE", "PARKED", "WAITING", "COMMITTED")
    wanted = {constant("COROI_" + state) for state in states}
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
    """The saved sp and the title of what an argument of coro bt names."""
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
        raise gdb.GdbError("there was never a coroutine with that handle")
    r = Record(chunk + (handle & (1 << 14) - 1) * gdb.lookup_type("struct coroi_rec").sizeof)
    if r.handle() != handle:
        raise gdb.GdbError("stale: the coroutine with that handle has ended")
    return of_record(r)


def of_record(r):
    chain = r.chain()
    r = chain[0]
    if r.running():
        raise gdb.GdbError("it runs: look at the thread of LWP %d" % r.running())
    if int(r.at["sp"]) == 0:
        raise gdb.GdbError("it has not started: %s" % r)
    if r.is_away():
        raise gdb.GdbError("dense, with its frames copied out of the stack: %s" % r)
    return int(r.at["sp"]), "\n".join([str(r)] + ["in a join of " + str(p) for p in chain[1:]])


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
    """Show the backtrace of a suspended coroutine: coro bt WHICH.

    WHICH is a handle, an expression of type coro_t * or struct coroi_rec *, or the word all."""

    def __init__(self):
        super().__init__("coro bt", gdb.COMMAND_STACK)

    def invoke(self, arg, from_tty):
        if arg.strip() != "all":
            self.show(*find(arg))
            return
        for r in records():
            if r.has("INLINES"):  # shown with its child
                continue
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
