"""What happened while the page was open: samples of the whole, what changed, and each workload over time. Bounded."""

from collections import deque
from collections.abc import Sequence
from typing import Any

from fairlead.web.evictions import SeenEviction

SAMPLES = 720
CHANGES = 200
WORKLOADS = 500
SPANS = 100
QUEUES = 30
EVICTIONS = 500
"""How much is kept: samples, changes in words, jobs that are followed, spans of each, queues of a sample, evictions."""
TOGETHER_S = 2.0
"""Pods of one job that are evicted for the same one within this are one entry."""


class History:
    """Fed with each new plan; times are seconds since 1970."""

    def __init__(self) -> None:
        self._samples: deque[dict[str, Any]] = deque(maxlen=SAMPLES)
        self._changes: deque[dict[str, Any]] = deque(maxlen=CHANGES)
        self._last: dict[str, dict[str, Any]] = {}
        self._spans: dict[str, deque[list[Any]]] = {}
        self._evictions: deque[dict[str, Any]] = deque(maxlen=EVICTIONS)

    def evicted(self, now: float, seen: SeenEviction) -> None:
        """A pod is about to go."""
        now = round(now, 1)
        last = self._entry(seen)
        if last is not None and now - last["time"] <= TOGETHER_S:
            last["count"] += 1
        else:
            entry = {"time": now, "count": 1, "job": seen.job, "for": seen.beneficiary, "by": seen.by}
            self._evictions.append(entry)

    def spared(self, seen: SeenEviction) -> None:
        """The eviction of a pod was refused after it was told."""
        entry = self._entry(seen)
        if entry is not None:
            entry["count"] -= 1
            if not entry["count"]:
                self._evictions.remove(entry)

    def _entry(self, seen: SeenEviction) -> dict[str, Any] | None:
        """The last entry of that job, by and for the same."""
        what = {"job": seen.job, "for": seen.beneficiary, "by": seen.by}.items()
        return next((each for each in reversed(self._evictions) if what <= each.items()), None)

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
        jobs = _jobs(workloads)
        for key in self._spans.keys() - jobs.keys():
            self._follow(now, key, GONE)
        for key, state in jobs.items():
            self._follow(now, key, state)
        self._last = known

    def _follow(self, now: float, key: str, state: list[int]) -> None:
        """A span is [from, running, starting, waiting] and lasts until the next; what is gone stays while it can."""
        spans = self._spans.get(key)
        if spans is None:
            if len(self._spans) >= WORKLOADS and not self._dropped():
                return
            spans = self._spans[key] = deque(maxlen=SPANS)
        if not spans or spans[-1][1:] != state:
            spans.append([now, *state])

    def _dropped(self) -> bool:
        """Forget the job that is gone for longest; whether there was one."""
        gone = [(spans[-1][0], key) for key, spans in self._spans.items() if spans[-1][1:] == GONE]
        if gone:
            del self._spans[min(gone)[1]]
        return bool(gone)

    def record(self) -> dict[str, Any]:
        """Samples, changes and evictions, oldest first, and the spans of each job.

        Made in a thread while the loop adds to them, so each is copied at once before it is gone through.
        """
        return {
            "planned": True,
            "samples": list(self._samples),
            "changes": list(self._changes),
            "spans": {key: list(spans) for key, spans in tuple(self._spans.items())},
            "evictions": [dict(each) for each in tuple(self._evictions)],
        }


GONE = [0, 0, 0]


def _jobs(workloads: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    """What runs, starts and waits of each job: a gang as a whole, another workload by itself."""
    found: dict[str, list[int]] = {}
    for each in workloads:
        state = found.setdefault(each["gang"] or each["workload"], [0, 0, 0])
        for place, name in enumerate(("running", "placed", "waiting")):
            state[place] += each[name]
    return found


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
