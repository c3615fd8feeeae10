"""Random inputs for every target, as many as asked for, with what became of them."""

import logging
import resource
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

import structlog

from tests.campaign import asking, targets
from tests.campaign.targets import DefectError, Target

SHARES = {
    "verbs": 26, "flags": 3, "api": 3, "config": 10, "manifests": 5, "webhook": 20, "wire": 18, "watch": 13,
    "components": 2,
}  # fmt: skip
"""Of a hundred inputs, how many go to which target."""
PATIENCE = 60
"""Seconds after which one call counts as a defect: nothing so small may take so long."""


@dataclass
class Fuzzed:
    """What a run came to. `ends` counts inputs by target and end, `defects` are told with their seed."""

    seed: int
    seconds: float = 0.0
    ends: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    defects: list[str] = field(default_factory=list)
    memory_mib: tuple[float, float] = (0.0, 0.0)
    """Largest resident size after a tenth of the inputs, and at the end."""

    @property
    def inputs(self) -> int:
        return sum(each.total() for each in self.ends.values())


def fuzz(number: int, seed: int, on_progress: Callable[[Fuzzed], None] = lambda found: None, only: str = "") -> Fuzzed:
    """Feed `number` inputs, to one target `only` where it is named; a defect is noted and the rest goes on."""
    found, begun = Fuzzed(seed=seed), time.monotonic()
    early = 0.0
    with tempfile.TemporaryDirectory() as folder, _quiet():
        these = _targets(Path(folder))
        shares = {only: 1} if only else SHARES
        fed: Counter[str] = Counter()
        while (total := fed.total()) < number:
            # The target that is furthest behind its share, so that small runs reach all of them.
            name = min(shares, key=lambda each: (fed[each] + 1) / shares[each])
            one = f"{seed}/{name}/{fed[name]}"
            fed[name] += _feed(found, name, these[name], one)
            early = early or (_resident() if total > number / 10 else 0.0)
            found.seconds, found.memory_mib = time.monotonic() - begun, (early, _resident())
            on_progress(found)
    return found


def replay(one: str) -> dict[str, int]:
    """The input of a defect again, by the seed that was told with it."""
    with tempfile.TemporaryDirectory() as folder:
        return _targets(Path(folder))[one.split("/")[1]](Random(one))


def _targets(folder: Path) -> dict[str, Target]:
    asked = {"flags": asking.flags, "api": asking.api, "manifests": targets.manifests(folder)}
    return {name: asked.get(name) or getattr(targets, name) for name in SHARES}


def _feed(found: Fuzzed, name: str, target: Target, one: str) -> int:
    """One call of a target; how many inputs it took."""
    try:
        with _patience(PATIENCE):
            ended = target(Random(one))
    except (DefectError, TimeoutError) as error:
        found.defects.append(f"{one}: {error}".encode(errors="backslashreplace").decode())
        ended = {"defect": 1}
    found.ends[name].update(ended)
    return max(sum(ended.values()), 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """What is logged of each input goes nowhere."""
    before = structlog.get_config()
    structlog.configure(processors=[_drop])
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
        structlog.configure(**before)


def _drop(logger: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    raise structlog.DropEvent


@contextmanager
def _patience(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
