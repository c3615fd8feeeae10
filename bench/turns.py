"""Turns of the live scheduler while everything is full: gangs wait, others run, evictions are allowed.

Four queues with weights 1 to 4; two of them hold the whole cluster. A turn searches for victims within its budget
(docs/decisions/0247); the first turn after a change puts all jobs together anew, later ones only what changed.
"""

from dataclasses import replace

from bench.goals import Figure
from bench.measure import CPU, Report, best, milliseconds
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.queue.search_budget import FIRST, LEAST

CORES, GANG = 4, 10
SIZES = ((100, GANG, 500), (1_000, GANG, 5_000), (10_000, 1, 5_000))
"""Waiting gangs, pods of each, nodes."""


CONTESTED = ((1_000, 1, 5_000), (5_000, 1, 5_000), (10_000, 1, 5_000))


def run(report: Report) -> None:
    """Print seconds of one core a turn, by size."""
    rows = [
        [f"{waiting:,}", str(pods), f"{nodes:,}", *map(milliseconds, _measured(waiting, pods, nodes))]
        for waiting, pods, nodes in SIZES
    ]
    names = ["waiting gangs", "pods each", "nodes", "first turn", "later turns", "least budget"]
    report.table("a contested turn, seconds of one core", names, rows)


def contested() -> Figure:
    """Seconds of a later turn while jobs of one pod wait: everything is full, and victims are looked for."""
    turns = [_measured(*size) for size in CONTESTED]
    return Figure(
        sizes=tuple(f"{waiting:,} jobs" for waiting, _, _ in CONTESTED),
        values=tuple(later for _, later, _ in turns),
        note=f"first turn {turns[-1][0]:.2f} s",
    )


def _measured(waiting: int, pods: int, nodes: int) -> tuple[float, float, float]:
    """Seconds of the first turn, of later ones, and of later ones with the least budget."""
    # The cluster in memory is the tests' own.
    from tests.live.queue_world import World

    world = World(policy=SharePolicy(preempt=True, budget=FIRST, elastic=1))
    for number in range(nodes):
        world.node(f"n{number}", CORES)
    for name, weight in zip("abcd", (1, 2, 3, 4), strict=True):
        world.queue(name, weight=weight)
    places = (f"n{place // CORES}" for place in range(nodes * CORES))
    for gang in range(nodes * CORES // GANG):
        world.group(f"r{gang}", GANG, queue="ab"[gang % 2])
        for number in range(GANG):
            world.pod(f"r{gang}-{number}", group=f"r{gang}", on=next(places))
    for gang in range(waiting):
        world.group(f"w{gang}", pods, queue="abcd"[gang % 4])
        world.pods(pods, f"w{gang}", group=f"w{gang}")

    def turn() -> None:
        """A turn after a pod came anew: what did not change is kept, and something always changes."""
        world.gone(world.pod("w0-0", group="w0"))
        world.pod("w0-0", group="w0")
        world.turn()

    first = best(turn, repeats=1, clock=CPU)
    later = best(turn, repeats=3, clock=CPU)
    world.terms = replace(world.terms, policy=replace(world.terms.policy, budget=LEAST))
    least = best(turn, repeats=3, clock=CPU)
    return first, later, least
