"""Arrivals and outages drawn by a seed: the same seed, the same story, on every machine."""

from collections.abc import Iterator, Sequence

from fairlead.model.amounts import Quantity
from fairlead.model.errors import InputError
from fairlead.sim.durations import milliseconds
from fairlead.sim.events import Arrival, Outage
from fairlead.sim.inputs import arrival, request_of, shape_of, tier_of
from fairlead.sim.rng import Draws
from fairlead.sim.scenario import GenerateIn, LifeIn


def generated(written: GenerateIn, seed: int, until_ms: int, path: str) -> Iterator[Arrival]:
    """The arrivals of one generator, in no particular order of time."""
    start = milliseconds(written.at, f"{path}.at")
    length = until_ms - start if written.over is None else milliseconds(written.over, f"{path}.over")
    cpus, memories = _listed(written.cpu), _listed(written.memory)
    if len(cpus) != len(memories):
        raise InputError(f"{path}.memory", f"{len(memories)} sizes for {len(cpus)} of cpu; expected as many")
    sizes = [request_of(cpu, memory, {}, path) for cpu, memory in zip(cpus, memories, strict=True)]
    low, high = (written.replicas, written.replicas) if isinstance(written.replicas, int) else written.replicas
    if low > high:
        raise InputError(f"{path}.replicas", f"from {low} to {high}; expected the lower number first")
    if not sizes:
        raise InputError(f"{path}.cpu", "is an empty list; expected at least one size")
    spaces, queues = written.namespaces or {"default": 1}, written.queues or {"": 1}
    tier = tier_of(written.tier, f"{path}.tier")
    draws, count = Draws(seed, f"arrivals/{written.name}"), written.arrivals
    shapes = [[shape_of(space, size) for size in sizes] for space in spaces]
    columns = zip(
        draws.between(0, max(length - 1, 0), count).tolist(),
        draws.choices(list(spaces.values()), count).tolist(),
        draws.choices(list(queues.values()), count).tolist(),
        draws.between(0, len(sizes) - 1, count).tolist(),
        draws.between(low, high, count).tolist(),
        draws.exponential(milliseconds(written.duration, f"{path}.duration"), count).tolist(),
        strict=True,
    )
    queue_names = list(queues)
    for number, (at, space, queue, size, replicas, duration) in enumerate(columns, start=1):
        yield arrival(
            start + at // 1000 * 1000,
            f"{written.name}-{number}",
            shapes[space][size],
            replicas,
            max(duration // 1000, 1) * 1000,
            queue=queue_names[queue],
            priority=written.priority,
            gang=replicas if written.gang else 1,
            tier=tier,
        )


def lives(written: LifeIn, rows: Sequence[int], seed: int, until_ms: int, path: str) -> Iterator[Outage]:
    """The outages of nodes that live for a while, node by node."""
    mean = milliseconds(written.mean_life, f"{path}.meanLife")
    back = None if written.back is None else milliseconds(written.back, f"{path}.back")
    for row in rows:
        draws, at = Draws(seed, f"life/{path}/{row}"), 0
        while True:
            at += int(draws.exponential(mean, 1)[0]) // 1000 * 1000 + 1000
            if at >= until_ms:
                break
            yield Outage(at_ms=at, rows=(row,), back_ms=None if back is None else at + back)
            if back is None:
                break
            at += back


def _listed(value: Quantity | list[Quantity]) -> list[Quantity]:
    return value if isinstance(value, list) else [value]
