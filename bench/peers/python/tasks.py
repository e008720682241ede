"""Tasks of asyncio, with its own event loop or uvloop's; and generators, which a loop resumes."""

import asyncio
import platform
import sys
from time import perf_counter_ns as now_ns

import peer

VERSION = "Python " + platform.python_version()


async def empty():
    pass


async def spawn(n):
    start = now_ns()
    tasks = [asyncio.create_task(empty()) for _ in range(n)]
    middle = now_ns()
    await asyncio.gather(*tasks)
    return middle - start, now_ns() - middle


async def yields(n, switches):
    laps = max(switches // n, 1)

    async def member():
        for _ in range(laps):
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(member()) for _ in range(n)]
    start = now_ns()
    await asyncio.gather(*tasks)
    return (now_ns() - start) / (n * laps)


def resumes(n, switches):
    members = n - 1
    laps = max(switches // (2 * members), 1)

    def forever():
        while True:
            yield

    generators = [forever() for _ in range(members)]
    for g in generators:
        next(g)
    start = now_ns()
    for _ in range(laps):
        for g in generators:
            next(g)
    return (now_ns() - start) / (2 * members * laps)


if sys.argv[2:3] == ["uvloop"]:
    import uvloop

    VERSION += ", uvloop " + uvloop.__version__
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

peer.main(
    VERSION,
    spawns={variant: lambda n: asyncio.run(spawn(n)) for variant in ("asyncio", "uvloop")},
    switches={"yield": lambda n, switches: asyncio.run(yields(n, switches)), "resume": resumes},
)
