"""The pods of one cluster as columns: each is looked at once, and what alike pods have in common is kept once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.kube.codec.memo import Shapes
from fairlead.kube.codec.requests import request_of_pod, resized
from fairlead.kube.objects.fixed import belongs_to_node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import Namespace
from fairlead.model.columns import Bool, Int, flags, ints
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population, Resident
from fairlead.model.progress import OnProgress, no_progress

Request = tuple[tuple[str, int], ...]
NOWHERE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePods:
    """One row a pod, those that belong to their node (`fixed`) before the `movable` ones.

    `node` is a code into `nodes` (NOWHERE for a pod that is on none), `resident` one into `residents`, `request` one
    into `requests`. A pod that has ended is on no node.
    """

    fixed: Sequence[Pod]
    movable: Sequence[Pod]
    node: Int
    nodes: tuple[str, ...]
    resident: Int
    residents: tuple[Resident, ...]
    request: Int
    requests: tuple[Request, ...]
    leaving: Bool

    def used(self, *, fixed: bool = False) -> dict[str, dict[str, int]]:
        """What the pods on each node ask for; of those that belong to their node where `fixed`."""
        last = len(self.fixed) if fixed else None
        node, request = self.node[:last], self.request[:last]
        there = node != NOWHERE
        pairs, counts = np.unique(node[there] * len(self.requests) + request[there], return_counts=True)
        used: dict[str, dict[str, int]] = {}
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
            name, asked = divmod(pair, len(self.requests))
            held = used.setdefault(self.nodes[name], defaultdict(int))
            for resource, amount in self.requests[asked]:
                held[resource] += amount * count
        return used

    def lost(self, nodes: NodeState) -> list[Pod]:
        """Pods on nodes that are not there."""
        codes = [code for code, name in enumerate(self.nodes) if name not in nodes.rows]
        pods = (*self.fixed, *self.movable) if codes else ()
        return [pods[row] for row in np.flatnonzero(np.isin(self.node, codes))]

    def fixed_on(self, nodes: NodeState) -> int:
        """How many pods that belong to their node are on one of these."""
        return int((self._rows(nodes)[: len(self.fixed)] != NOWHERE).sum())

    def population(self, nodes: NodeState, namespaces: Iterable[Namespace]) -> Population:
        """The pods on known nodes, those that look alike to selectors sharing one resident."""
        rows = self._rows(nodes)
        there = rows != NOWHERE
        own = self.resident[there]
        kinds, first, place = np.unique(own, return_index=True, return_inverse=True)
        known: dict[Resident, int] = {}
        codes = np.empty(len(kinds), dtype=np.int64)
        for kind in np.argsort(first):
            codes[kind] = known.setdefault(self.residents[int(kinds[kind])], len(known))
        return Population(
            residents=tuple(known),
            codes=ints(codes[place]),
            rows=ints(rows[there]),
            leaving=flags(self.leaving[there]),
            namespaces=labels_of(namespaces),
        )

    def _rows(self, nodes: NodeState) -> Int:
        """The row of each pod's node, NOWHERE where there is none."""
        known = np.array([*(nodes.rows.get(name, NOWHERE) for name in self.nodes), NOWHERE], dtype=np.int64)
        rows: Int = known[self.node]
        return rows


def labels_of(namespaces: Iterable[Namespace]) -> Mapping[str, Mapping[str, str]]:
    """The labels of each namespace, its name among them."""
    return {
        each.metadata.name: {"kubernetes.io/metadata.name": each.metadata.name, **each.metadata.labels}
        for each in namespaces
    }


def site_pods(
    pods: Sequence[Pod],
    refuse: Callable[[Pod, InputError], None] | None = None,
    on_progress: OnProgress = no_progress,
) -> SitePods:
    """The pods of a cluster as columns. `refuse` is told those whose spec cannot be read; without it they raise."""
    found = _Columns()
    for row, pod in enumerate(pods):
        if row % 1000 == 0:
            on_progress("looking at pods", row, len(pods))
        try:
            found.add(pod)
        except InputError as error:
            if refuse is None:
                raise
            refuse(pod, error)
    return found.table()


class _Columns:
    """Columns that grow pod by pod, codes in the order in which nodes, residents and requests are met."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        self._pods: list[Pod] = []
        self._fixed: list[bool] = []
        self._node: list[int] = []
        self._resident: list[int] = []
        self._request: list[int] = []
        self._nodes: dict[str, int] = {"": NOWHERE}
        self._residents: list[Resident] = []
        self._requests: dict[Request, int] = {}
        self._known: dict[int, tuple[int, int]] = {}

    def add(self, pod: Pod) -> None:
        """One more row. May raise `InputError`."""
        shape, who = self._shapes.of_pod(pod)
        codes = self._known.get(id(who))
        if codes is None:
            # Residents stay in the list, so that no other object gets this id.
            codes = self._known[id(who)] = len(self._residents), self._code(shape.request)
            self._residents.append(who)
        resident, request = codes
        if resized(pod.status):
            request = self._code(tuple(sorted(request_of_pod(pod).items())))
        name = "" if pod.finished else pod.spec.node_name
        self._pods.append(pod)
        self._fixed.append(belongs_to_node(pod))
        self._node.append(self._nodes.setdefault(name, len(self._nodes) - 1))
        self._resident.append(resident)
        self._request.append(request)

    def table(self) -> SitePods:
        """The rows, sorted."""
        fixed = [row for row, own in enumerate(self._fixed) if own]
        movable = [row for row, own in enumerate(self._fixed) if not own]
        order = np.array([*fixed, *movable], dtype=np.int64)
        return SitePods(
            fixed=[self._pods[row] for row in fixed],
            movable=[self._pods[row] for row in movable],
            node=ints(self._node)[order],
            nodes=tuple(self._nodes)[1:],
            resident=ints(self._resident)[order],
            residents=tuple(self._residents),
            request=ints(self._request)[order],
            requests=tuple(self._requests),
            leaving=flags([pod.metadata.deletion_timestamp is not None for pod in self._pods])[order],
        )

    def _code(self, asked: Request) -> int:
        return self._requests.setdefault(asked, len(self._requests))
