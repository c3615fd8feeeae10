"""Clusters of gangs looked at from outside: what a watch shows, and shares and their order worked out a second time."""

import http.client
import json
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster import volcano

Key = tuple[str, str]
"""Namespace and name of a gang."""
LASTS = 2.0
"""Seconds. Evictions for one gang follow each other faster: those of a gang that goes as a whole are not all needed
before the other one starts.
"""
FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|\"[^\"]*\"|'[^']*'|\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A PodGroup with a ReplicaSet of `size` pods of one cpu, `least` of which start together."""

    key: Key
    queue: str
    size: int
    least: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Weights of queues and namespaces, and how many pods of one cpu there is room for."""

    queues: Mapping[str, int]
    namespaces: Mapping[str, int]
    whole: int


def deserved(gangs: Collection[Gang], land: Land) -> dict[str, Fraction]:
    """What every queue deserves: by weight, no more than it asks for."""
    asked: Counter[str] = Counter()
    for gang in gangs:
        asked[gang.queue] += gang.size
    right: dict[str, Fraction] = {}
    left, thirsty = Fraction(land.whole), set(asked)
    while thirsty:
        each = left / sum(land.queues[queue] for queue in thirsty)
        full = {queue for queue in thirsty if asked[queue] <= each * land.queues[queue]}
        for queue in full:
            right[queue] = Fraction(asked[queue])
            left -= asked[queue]
        if not full:
            right |= {queue: each * land.queues[queue] for queue in thirsty}
            break
        thirsty -= full
    return right


def distances(gangs: Collection[Gang], held: Mapping[Key, int], land: Land) -> dict[str, Fraction]:
    """By which part of the whole each queue differs from what it deserves."""
    has: Counter[str] = Counter()
    for gang in gangs:
        has[gang.queue] += held[gang.key]
    return {queue: abs(has[queue] - right) / land.whole for queue, right in deserved(gangs, land).items()}


def standing(gangs: Collection[Gang], held: Mapping[Key, int], land: Land) -> list[list[Fraction]]:
    """Where an allocation stands in the order that every grant and every eviction has to climb; higher is better.

    Priority by priority from the highest, for pods of that priority and above: shares of queues, shortfalls of
    queues, shares of namespaces, shares of gangs, pods; each as a sorted list, the lowest first.
    """
    right = deserved(gangs, land)
    result: list[list[Fraction]] = []
    for priority in sorted({gang.priority for gang in gangs}, reverse=True):
        queues: Counter[str] = Counter(dict.fromkeys(right, 0))
        spaces: Counter[tuple[str, str]] = Counter()
        jobs: list[Fraction] = []
        for gang in gangs:
            count = held[gang.key] if gang.priority >= priority else 0
            queues[gang.queue] += count
            spaces[gang.queue, gang.key[0]] += count
            jobs.append(Fraction(count))
        result += [
            sorted(min(Fraction(1), queues[queue] / right[queue]) for queue in right),
            sorted(-max(Fraction(0), right[queue] - queues[queue]) for queue in right),
            sorted(Fraction(count, land.namespaces.get(space, 1)) for (_, space), count in spaces.items()),
            sorted(jobs),
            [sum(jobs, Fraction(0))],
        ]
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """One line of the scheduler's log: whose pod went for whom, and the part of the order that decided."""

    victim: Key
    beneficiary: Key
    part: str
    before: list[float]
    after: list[float]


def evictions(log: str) -> Iterator[Evicted]:
    """The evictions that a log tells of, in order. Pods are those of ReplicaSets named like their gang."""
    for line in log.splitlines():
        if "] evicted " not in line:
            continue
        fields = {name: value.strip("\"'") for name, value in FIELD.findall(line)}
        space, _, pod = fields["pod"].partition("/")
        beneficiary = fields.get("beneficiary", "").split("/")
        yield Evicted(
            victim=(space, pod.rpartition("-")[0]),
            beneficiary=(beneficiary[-2], beneficiary[-1]) if len(beneficiary) > 2 else ("", ""),
            part=fields.get("potential", ""),
            before=json.loads(fields.get("before", "[]")),
            after=json.loads(fields.get("after", "[]")),
        )


def cases(found: Collection[Evicted]) -> list[tuple[Key, Counter[Key]]]:
    """Who was made room for, one after the other, and by how many pods of whom."""
    result: list[tuple[Key, Counter[Key]]] = []
    for each in found:
        if not result or result[-1][0] != each.beneficiary:
            result.append((each.beneficiary, Counter()))
        result[-1][1][each.victim] += 1
    return result


class Sight(threading.Thread):
    """Follows the pods of gangs by a watch of its own.

    An allocation is *settled* where every gang has all its pods and nobody waits for room that is being made. From
    `expect` on, every settled allocation that lasts for LASTS and differs from the one before is kept in `seen`.
    """

    def __init__(self, api: Api, spaces: Collection[str]) -> None:
        super().__init__(daemon=True)
        self.seen: list[dict[Key, int]] = []
        self.errors: list[str] = []
        self._api = api
        self._spaces = frozenset(spaces)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._pods: dict[Key, tuple[Key, str]] = {}
        self._counts: dict[Key, Counter[str]] = defaultdict(Counter)
        self._nodes: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()
        self._expected: dict[Key, int] = {}
        self._changed = time.monotonic()

    def run(self) -> None:
        """Follow until `close`."""
        while not self._stop.is_set():
            try:
                self._follow()
            except (OSError, ApiError, http.client.HTTPException) as error:
                self.errors.append(str(error))
                self._stop.wait(1)

    def close(self) -> None:
        """No further."""
        self._stop.set()

    def expect(self, gangs: Collection[Gang]) -> None:
        """These are all the gangs there are now; begin a new interval."""
        with self._lock:
            self._expected = {gang.key: gang.size for gang in gangs}
            self.seen = []
            self._changed = time.monotonic()

    def rests(self, seconds: float) -> bool:
        """Whether the allocation is settled and nothing has changed for so long."""
        with self._lock:
            self._keep()
            return self._settled() and time.monotonic() - self._changed > seconds

    def held(self) -> Counter[Key]:
        """Pods on nodes by gang, those that are leaving not among them."""
        with self._lock:
            return Counter({key: counts["bound"] for key, counts in self._counts.items()})

    def fullest(self) -> int:
        """The most pods on one node."""
        with self._lock:
            return max(self._nodes.values(), default=0)

    def words(self) -> str:
        """What is not at rest, in a few words."""
        with self._lock:
            short = {k: n for k, n in self._expected.items() if self._counts[k]["bound"] + self._waiting(k) != n}
            return f"{dict(self._totals)}, {len(short)} gangs without all their pods, {list(short.items())[:3]}"

    def _follow(self) -> None:
        path = "/api/v1/pods"
        found = self._api.get(path)
        with self._lock:
            there = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in found["items"]}
            for gone in self._pods.keys() - there:
                self._put(gone, None)
            for pod in found["items"]:
                self._see("ADDED", pod)
        for event in self._api.watch(path, seconds=300, resourceVersion=found["metadata"]["resourceVersion"]):
            if self._stop.is_set() or event["type"] == "ERROR":
                return
            with self._lock:
                self._see(event["type"], event["object"])

    def _see(self, kind: str, pod: dict[str, Any]) -> None:
        meta, status = pod["metadata"], pod.get("status", {})
        group = meta.get("annotations", {}).get(volcano.GROUP)
        if meta["namespace"] not in self._spaces or not group:
            return
        node = pod["spec"].get("nodeName", "")
        if kind == "DELETED" or status.get("phase") in ("Succeeded", "Failed"):
            state = None
        elif meta.get("deletionTimestamp"):
            state = f"leaving {node}"
        elif node:
            state = f"bound {node}"
        else:
            state = "nominated" if status.get("nominatedNodeName") else "waiting"
        self._put((meta["namespace"], meta["name"]), None if state is None else ((meta["namespace"], group), state))

    def _put(self, pod: Key, now: tuple[Key, str] | None) -> None:
        before = self._pods.get(pod)
        if before == now:
            return
        self._keep()
        for what, sign in ((before, -1), (now, 1)):
            if what is not None:
                state, _, node = what[1].partition(" ")
                self._counts[what[0]][state] += sign
                self._totals[state] += sign
                if node:
                    self._nodes[node] += sign
        if now is None:
            self._pods.pop(pod, None)
        else:
            self._pods[pod] = now
        self._changed = time.monotonic()

    def _keep(self) -> None:
        """Keep the allocation that there is if it has lasted; to be called before it changes, and at the end."""
        if time.monotonic() - self._changed > LASTS and self._settled():
            held = {key: self._counts[key]["bound"] for key in self._expected}
            if not self.seen or self.seen[-1] != held:
                self.seen.append(held)

    def _waiting(self, key: Key) -> int:
        return self._counts[key]["waiting"] + self._counts[key]["nominated"]

    def _settled(self) -> bool:
        totals = self._totals
        if not self._expected or totals["leaving"] or totals["nominated"]:
            return False
        if totals["bound"] + totals["waiting"] != sum(self._expected.values()):
            return False
        return all(self._counts[key]["bound"] + self._waiting(key) == size for key, size in self._expected.items())
