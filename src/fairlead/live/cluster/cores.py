"""Bound cores: which pieces of which cores of a node are promised to which pod.

A pin is a recorded intent: it is written as annotations with the binding, and the kubelet does not read it. What is
promised is read back from the annotations of pods that have their node, so it survives a restart, and no piece is
promised twice.
"""

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from fairlead.kube.objects.node import Node
from fairlead.levels.node import cores
from fairlead.levels.node.capacity import fit
from fairlead.levels.node.constraints.reasons import CORES_TAKEN
from fairlead.levels.node.pins import pins
from fairlead.levels.node.request import SHARE_BASE, NodeRequest
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.records import CORES, Pieces, PodRecord
from fairlead.model.amounts import CPU, exact
from fairlead.model.columns import Bool
from fairlead.model.errors import InputError
from fairlead.model.nodes import Room
from fairlead.model.reasons import Reason
from fairlead.model.selectors import integer

NUMA_NODE = "fairlead.io/numa-node"
"""Annotation of a pod: the NUMA node whose cores it got."""
LAYOUT = "fairlead.io/numa-cores"
"""On a Node: `0=0-15,32-47;1=16-31,48-63`, the cores of each NUMA node. Cores that are not named are not offered."""
MOST_CORES = 4096

Layout = Mapping[str, str]
"""Core to NUMA node, empty where that is not known."""


class Cores:
    """What every node has and what is promised of it. A core has 100 pieces."""

    def __init__(self) -> None:
        self._layouts: dict[str, Layout] = {}
        self._held: dict[str, dict[str, Pieces]] = defaultdict(dict)
        """By node and uid of the pod."""
        self._promised: dict[str, tuple[str, Pieces, str]] = {}
        """By uid of the pod: node, pieces and NUMA node."""

    def lay_out(self, node: Node) -> bool:
        """Note which cores a node has; True where they are others than before.

        A layout that cannot be read offers no cores; `unreadable_layout` tells what is wrong with it.
        """
        name = node.metadata.name
        try:
            found = _layout_of(node)
        except InputError:
            found = {}
        before = self._layouts.get(name)
        self._layouts[name] = found
        return before is not None and before != found

    def drop(self, node: str) -> None:
        """Forget a node."""
        self._layouts.pop(node, None)

    def count(self, pod: PodRecord, node: str) -> None:
        """The pod is on the node: with the cores its annotations tell, or with new ones if it is about to be bound.

        What was promised to a pod stays promised while its bind may be under way.
        """
        uid = pod.metadata.uid
        if pod.node:
            self._promised.pop(uid, None)
            self._held[node][uid] = pod.cores
            return
        if uid not in self._promised or self._promised[uid][0] != node:
            chosen = pins(fit([self._room(node)], NodeRequest(pieces=pod.pieces)), 0, 1)
            if not chosen:
                return
            self._promised[uid] = node, tuple(sorted(chosen[0].cores.items())), chosen[0].numa or ""
        self._held[node][uid] = self._promised[uid][1]

    def uncount(self, pod: PodRecord, node: str) -> None:
        """The pod is not counted there any more."""
        self._held[node].pop(pod.metadata.uid, None)
        if not self._held[node]:
            del self._held[node]

    def forget(self, uid: Uid) -> None:
        """The bind failed, or the pod is gone: nothing is promised to it."""
        self._promised.pop(uid, None)

    def notes(self, pod: PodRecord) -> dict[str, str]:
        """The annotations that its binding carries."""
        promised = self._promised.get(pod.metadata.uid)
        if promised is None:
            return {}
        _, held, zone = promised
        annotations = {CORES: ",".join(f"{core}={pieces}" for core, pieces in held)}
        return {**annotations, NUMA_NODE: zone} if zone else annotations

    def passing(self, pod: PodRecord, names: tuple[str, ...]) -> dict[Reason, Bool]:
        """Which of the nodes have cores for the pod; nothing where it asks for none."""
        if not pod.pieces:
            return {}
        free = [list(self.free(name).values()) for name in names]
        width = max(map(len, free), default=0)
        matrix = np.array([row + [cores.ABSENT] * (width - len(row)) for row in free], dtype=np.int64)
        return {CORES_TAKEN: cores.capacity(matrix.reshape(len(names), width), pod.pieces, SHARE_BASE) > 0}

    def free(self, node: str) -> dict[str, int]:
        """Pieces left of every core."""
        left = dict.fromkeys(self._layouts.get(node, ()), SHARE_BASE)
        for held in self._held.get(node, {}).values():
            for core, pieces in held:
                if core in left:
                    left[core] = max(left[core] - pieces, 0)
        return left

    def bound(self, node: str) -> dict[str, Pieces]:
        """What pods that are bound hold on a node, for checks."""
        held = self._held.get(node, {})
        return {uid: pieces for uid, pieces in sorted(held.items()) if uid not in self._promised}

    def _room(self, node: str) -> Room:
        zones = {core: zone for core, zone in self._layouts.get(node, {}).items() if zone}
        return Room(name=node, cores=self.free(node), numa=zones)


def unreadable_layout(node: Node) -> InputError | None:
    """What of a node's cores cannot be read, None where all can."""
    try:
        _layout_of(node)
    except InputError as error:
        return error
    return None


def _layout_of(node: Node) -> Layout:
    count = exact(CPU, node.status.capacity.get(CPU, 0), "status.capacity.cpu") // 1000
    return _layout(node.metadata.annotations.get(LAYOUT, ""), min(count, MOST_CORES))


@lru_cache(maxsize=1024)
def _layout(text: str, count: int) -> Layout:
    """The cores of a node; without an annotation as many as it has, all alike."""
    if not text:
        return {str(number): "" for number in range(count)}
    found: dict[str, str] = {}
    for part in text.split(";"):
        zone, sign, listed = part.strip().partition("=")
        if not (zone and sign):
            raise InputError(LAYOUT, f"{part!r}; expected NUMA=CORES such as 0=0-15,32-47")
        for each in listed.split(","):
            first, _, last = each.strip().partition("-")
            low, high = integer(first), integer(last or first)
            if low is None or high is None or not 0 <= low <= high < MOST_CORES:
                raise InputError(LAYOUT, f"{each!r} is no range of cores; expected such as 0-15")
            found.update((str(core), zone) for core in range(low, high + 1))
    return found
