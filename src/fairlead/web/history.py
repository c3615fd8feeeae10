"""What happened while the page was open: samples of the whole, what changed, and each workload over time. Bounded."""

from collections import deque
from collections.abc import Sequence
from typing import Any

SAMPLES = 720
CHANGES = 200
WORKLOADS = 500
SPANS = 100
QUEUES = 30
"""How much is kept: samples, changes in words, workloads that are followed, spans of each, and queues of a sample."""


class History:
    """Fed with each new plan; times are seconds since 1970."""

    def __init__(self) -> None:
        self._samples: deque[dict[str, Any]] = deque(maxlen=SAMPLES)
        self._changes: deque[dict[str, Any]] = deque(maxlen=CHANGES)
        self._last: dict[str, dict[str, Any]] = {}
        self._spans: dict[str, deque[list[Any]]] = {}

    def add(
        self,
        now: float,
        overview: dict[str, Any],
        workloads: Sequence[dict[str, Any]],
        queues: Sequence[dict[str, Any]] = (),
    ) -> None:
        """A new plan: its overview, the rows of the view `workloads`, the sites of the view `queues`."""
        now = round(now, 1)
        self._samples.append(
            {
                "time": now,
                "replicas": overview["replicas"],
                "waiting": overview["waiting"],
                "queues": _queues(queues),
            }
        )
        known = {each["workload"]: each for each in workloads}
        if self._last:
            self._changes.extend({"time": now, **each} for each in _changes(self._last, known))
        for key in [key for key in self._spans if key not in known]:
            del self._spans[key]
        for key, each in known.items():
            self._follow(now, key, each)
        self._last = known

    def _follow(self, now: float, key: str, each: dict[str, Any]) -> None:
        """A span is [from, running, starting, waiting] and lasts until the next."""
        state = [each["running"], each["placed"], each["waiting"]]
        spans = self._spans.get(key)
        if spans is None:
            if len(self._spans) >= WORKLOADS:
                return
            spans = self._spans[key] = deque(maxlen=SPANS)
        if not spans or spans[-1][1:] != state:
            spans.append([now, *state])

    def record(self) -> dict[str, Any]:
        """Samples and changes, oldest first, and the spans of each workload."""
        return {
            "planned": True,
            "samples": list(self._samples),
            "changes": list(self._changes),
            "spans": {key: list(spans) for key, spans in self._spans.items()},
        }


def _queues(sites: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each queue uses and deserves, by cluster and name."""
    found = {
        f"{site['cluster']}/{queue['name']}".lstrip("/"): {"used": queue["used"], "deserved": queue["deserved"]}
        for site in sites
        for queue in site["queues"]
        if queue["namespaces"]
    }
    return dict(list(found.items())[:QUEUES])


def _changes(old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry a workload that came, went or changed its counts."""
    found: list[dict[str, Any]] = []
    for key in {**old, **new}:
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        title = (after or before or {}).get("title", key)
        kind = "new" if before is None else "gone" if after is None else "changed"
        found.append(
            {"workload": key, "title": title, "kind": kind, "before": _counts(before), "after": _counts(after)}
        )
    return found


def _counts(row: dict[str, Any] | None) -> dict[str, int] | None:
    return None if row is None else {name: row[name] for name in ("replicas", "running", "placed", "waiting")}
