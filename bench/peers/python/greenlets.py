"""Greenlets: of gevent, which has a scheduler; and bare ones, that switch to the next each."""

import platform
import sys
from time import perf_counter_ns as now_ns

import greenlet
import peer

VERSION = f"Python {platform.python_version()}, greenlet {greenlet.__version__}"


def empty():
    pass


def spawn(n):
    start = now_ns()
    greenlets = [gevent.spawn(empty) for _ in range(n)]
    middle = now_ns()
    gevent.joinall(greenlets)
    return middle - start, now_ns() - middle


def transfers(n, switches):
    laps = max(switches // n, 1)

    def member(following):
        home.switch()
        switch = ring[following].switch
        for _ in range(laps):
            switch()

    home = greenlet.getcurrent()
    ring = [greenlet.greenlet(member) for _ in range(n)]
    for i, g in enumerate(ring):
        g.switch((i + 1) % n)
    # The first one ends first, and so goes back to its parent, which is here.
    start = now_ns()
    ring[0].switch()
    return (now_ns() - start) / (n * laps)


if sys.argv[2:3] == ["gevent"]:
    import gevent

    VERSION += ", gevent " + gevent.__version__

peer.main(VERSION, spawns={"gevent": spawn}, switches={"transfer": transfers})
