"""The course of gangs through a race: when each was submitted, let in, created and bound, as watches tell of it."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tools.controlplane.api import Api

from bench.contest import PODS

Raw = dict[str, Any]
STAGES = ("submitted", "PodGroup there", "let in", "first pod", "last pod", "first bind", "last bind")
JOB = "volcano.sh/job-name"


@dataclass
class Course:
    """Moments by gang and stage, of the first time that it came so far; `evicted` counts bound pods that went."""

    size: int
    moments: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    last_bind: float = 0.0
    evicted: int = 0
    _pods: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _bound: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _nodes: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reached(self, gang: str, stage: str) -> None:
        """The gang is so far now, if it was not before."""
        with self._lock:
            self.moments[gang].setdefault(stage, time.monotonic())

    def on_group(self, name: str, group: Raw | None) -> None:
        """A PodGroup came or changed."""
        if group is None:
            return
        gang = name.rpartition("-")[0]
        self.reached(gang, "PodGroup there")
        if group.get("status", {}).get("phase", "") not in ("", "Pending"):
            self.reached(gang, "let in")

    def on_pod(self, name: str, pod: Raw | None) -> None:
        """A pod came, changed or went."""
        if pod is None:
            self.evicted += bool(self._nodes.pop(name, ""))
            return
        gang = pod["metadata"]["labels"][JOB]
        self._counted(gang, self._pods[gang], name, "first pod", "last pod")
        if pod["spec"].get("nodeName") and name not in self._nodes:
            self._nodes[name] = pod["spec"]["nodeName"]
            self.last_bind = time.monotonic()
            self._counted(gang, self._bound[gang], name, "first bind", "last bind")

    def _counted(self, gang: str, names: set[str], name: str, first: str, last: str) -> None:
        names.add(name)
        self.reached(gang, first)
        if len(names) == self.size:
            self.reached(gang, last)

    def rows(self, start: float) -> Iterator[Sequence[str]]:
        """Of the gangs that were bound, for each stage: when the first and the last came so far; seconds since the
        stage before, the median and the most.
        """
        whole = [each for each in self.moments.values() if "last bind" in each]
        for before, stage in zip(("", *STAGES), STAGES, strict=False):
            at = [each[stage] - start for each in whole]
            took = [each[stage] - each[before] for each in whole] if before else [0.0]
            yield stage, f"{min(at):.1f}", f"{max(at):.1f}", f"{median(took):.2f}", f"{max(took):.2f}"


@contextmanager
def followed(api: Api, groups: str, course: Course) -> Iterator[tuple[Callable[[], Raw], Callable[[], Raw]]]:
    """Pods and PodGroups by name as watches tell of them; `course` hears of every change."""
    from tests.cluster.following import Followed, followed_until_end

    with ExitStack() as stack:
        made = [
            stack.enter_context(followed_until_end(Followed(api, path, told)))
            for path, told in ((PODS, course.on_pod), (groups, course.on_group))
        ]
        pods, podgroups = (each.pods for each in made)
        yield lambda: dict(pods), lambda: dict(podgroups)
