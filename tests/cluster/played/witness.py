"""Whether a target may leave: every cause that a person or a taint gives is written down, and every target that left.

A target that stood in a binding and stands there no more must have had a cause for it while it left.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

LATE = 30.0
"""Seconds after its end in which a cause still explains a target that leaves: controllers on a busy machine lag."""


@dataclass(slots=True)
class Cause:
    """Something that asks targets on a cluster to leave, from `began` until `ended`. An empty binding means all."""

    what: str
    cluster: str
    binding: str = ""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def explains(self, cluster: str, binding: str) -> bool:
        if self.cluster != cluster or self.binding not in ("", binding):
            return False
        return self.ended is None or time.monotonic() - self.ended < LATE


class Witness:
    """Sees the bindings as the controllers see them."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()
        self.unexplained: list[str] = []
        self._causes: list[Cause] = []
        self._targets: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def ask(self, what: str, cluster: str, binding: str = "") -> Cause:
        """Targets on the cluster are asked to leave from now on."""
        cause = Cause(what, cluster, binding)
        with self._lock:
            self._causes.append(cause)
        return cause

    def look(self, bindings: list[dict[str, Any]]) -> None:
        """Compare with what was there at the last look."""
        with self._lock:
            for each in bindings:
                name = each["metadata"]["name"]
                now = {target["name"] for target in each["spec"].get("clusters") or []}
                for gone in self._targets.get(name, set()) - now:
                    self._judge(name, gone)
                self._targets[name] = now

    def _judge(self, binding: str, cluster: str) -> None:
        why = next((each.what for each in self._causes if each.explains(cluster, binding)), None)
        if why is None:
            self.unexplained.append(f"{binding} left {cluster}")
        else:
            self.left[why] += 1
