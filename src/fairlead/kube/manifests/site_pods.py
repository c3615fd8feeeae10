"""The pods of one cluster as columns: each is looked at once, and what alike pods have in common is kept once."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kube.codec.memo import MOST, Shapes, looks
from fairlead.kube.codec.requests import request_of_pod, resized
from fairlead.kube.manifests.controllers import Owners, owner_key
from fairlead.kube.objects.fixed import MIRROR, belongs_to_node
from fairlead.kube.objects.pod import ENDED, Pod
from fairlead.kube.objects.policy import Namespace
from fairlead.model.columns import Bool, Int, flags, ints
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population, Resident
from fairlead.model.progress import OnProgress, no_progress

Request = tuple[tuple[str, int], ...]
NOWHERE = -1
_OFTEN = 1000
"""Pods after which progress is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePods:
    """One row a pod, those that belong to their node (`fixed`) before the `movable` ones.

    `node` is a code into `nodes` (NOWHERE for a pod that is on none), `resident` one into `residents`, `request` one
    into `requests`, `owner` one into `owners`, which are pods of different controllers (NOWHERE for a pod of none). A
    pod that has ended is on no node.
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
    ended: Bool
    owner: Int
    owners: tuple[Pod, ...]

    def owned(self, replica_sets: Owners, *, fixed: bool = False) -> dict[str, list[Pod]]:
        """As `pods_by_owner` of the movable pods, or of those that belong to their node."""
        pods, rows = (self.fixed, slice(len(self.fixed))) if fixed else (self.movable, slice(len(self.fixed), None))
        keys = [owner_key(pod, replica_sets) for pod in self.owners]
        found: dict[str, list[Pod]] = defaultdict(list)
        for pod, owner, ended in zip(pods, self.owner[rows].tolist(), self.ended[rows].tolist(), strict=True):
            if not ended:
                found[owner_key(pod, replica_sets) if owner == NOWHERE else keys[owner]].append(pod)
        return found

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
    for row in range(0, len(pods), _OFTEN):
        on_progress("looking at pods", row, len(pods))
        found.add(pods[row : row + _OFTEN], refuse)
    return found.table()


class _Template(NamedTuple):
    """What pods of one template have in common."""

    resident: int
    request: int
    fixed: bool
    owner: int


class _Columns:
    """Columns that grow pod by pod, codes in the order in which nodes, templates and requests are met."""

    def __init__(self) -> None:
        self._shapes = Shapes()
        self._pods: list[Pod] = []
        self._node: list[int] = []
        self._ended: list[bool] = []
        self._template: list[int] = []
        self._leaving: list[int] = []
        """Rows of pods that are being deleted."""
        self._resized: dict[int, int] = {}
        """Rows of pods whose request is not that of their template."""
        self._nodes: dict[str, int] = {"": NOWHERE}
        self._known: dict[bytes, int] = {}
        self._templates: list[_Template] = []
        self._residents: list[Resident] = []
        self._requests: dict[Request, int] = {}
        self._owners: dict[tuple[str, str, str], int] = {}
        self._owned: list[Pod] = []

    def add(self, pods: Sequence[Pod], refuse: Callable[[Pod, InputError], None] | None) -> None:
        """A row for each pod that can be read. One loop without further calls, for there may be very many."""
        known, nodes, rows = self._known, self._nodes, self._pods
        ended, node, template = self._ended.append, self._node.append, self._template.append
        for pod in pods:
            meta, spec, status = pod.metadata, pod.spec, pod.status
            key = looks(spec, (meta.namespace, meta.labels, meta.owner_references, MIRROR in meta.annotations))
            code = known.get(key)
            try:
                if code is None:
                    code = self._learnt(key, pod)
                if status.resources is not None or status.container_statuses or status.init_container_statuses:
                    self._heed(pod, len(rows))
            except InputError as error:
                if refuse is None:
                    raise
                refuse(pod, error)
                continue
            over = status.phase in ENDED
            if meta.deletion_timestamp is not None:
                self._leaving.append(len(rows))
            rows.append(pod)
            ended(over)
            node(nodes.setdefault("" if over else spec.node_name, len(nodes) - 1))
            template(code)

    def _learnt(self, key: bytes, pod: Pod) -> int:
        """The code of a template that is new, or forgotten since."""
        code = self._made(pod)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[key] = code
        return code

    def _heed(self, pod: Pod, row: int) -> None:
        """The status of the pod may say what it holds while it is resized."""
        if resized(pod.status):
            self._resized[row] = self._code(tuple(sorted(request_of_pod(pod).items())))

    def _made(self, pod: Pod) -> int:
        """The code of a template that is like the pod."""
        shape, who = self._shapes.of_pod(pod)
        controller, owner = pod.metadata.controller, NOWHERE
        if controller is not None:
            owner = self._owners.setdefault(
                (pod.metadata.namespace, controller.kind, controller.name), len(self._owners)
            )
            if owner == len(self._owned):
                self._owned.append(pod)
        self._residents.append(who)
        made = _Template(len(self._residents) - 1, self._code(shape.request), belongs_to_node(pod), owner)
        self._templates.append(made)
        return len(self._templates) - 1

    def table(self) -> SitePods:
        """The rows, sorted."""
        template = ints(self._template)
        resident, request, fixed, owner = ints(self._templates).reshape(-1, len(_Template._fields)).T
        order = np.argsort(fixed[template] == 0, kind="stable")
        asked = request[template]
        asked[list(self._resized)] = list(self._resized.values())
        leaving = np.zeros(len(template), dtype=np.bool_)
        leaving[self._leaving] = True
        pods, own = [self._pods[row] for row in order.tolist()], int(fixed[template].sum())
        return SitePods(
            fixed=pods[:own],
            movable=pods[own:],
            node=ints(self._node)[order],
            nodes=tuple(self._nodes)[1:],
            resident=resident[template][order],
            residents=tuple(self._residents),
            request=asked[order],
            requests=tuple(self._requests),
            leaving=flags(leaving[order]),
            ended=flags(self._ended)[order],
            owner=owner[template][order],
            owners=tuple(self._owned),
        )

    def _code(self, asked: Request) -> int:
        return self._requests.setdefault(asked, len(self._requests))
