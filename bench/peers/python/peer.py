"""What the peers in Python share: their arguments, and how they tell.

    spawn VARIANT WORKERS N
    switching VARIANT N SWITCHES
"""

import json
import sys


def main(version, spawns, switches):
    """Does twice what the arguments say, and tells what the second time has returned.

    spawns[VARIANT](n) returns the ns of spawning and of running n; switches[VARIANT](n, switches)
    the ns of one switch.
    """
    what, variant, first, second = sys.argv[1:]
    if what == "spawn":
        spawns[variant](int(second))
        spawn, run = spawns[variant](int(second))
        told = {"spawn_ms": spawn / 1e6, "run_ms": run / 1e6, "total_ms": (spawn + run) / 1e6}
    else:
        switches[variant](int(first), int(second))
        told = {"ns_per_switch": switches[variant](int(first), int(second))}
    print(json.dumps(told | {"version": version}))
