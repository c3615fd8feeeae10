"""The cluster as the scheduler sees it: kept by watches, a step ahead of them for what it has just placed.

An *assumed* pod counts on its node from the moment it is placed. The watch confirms it, or a failed bind takes it
back. Which pod is meant goes by uid: another one may have its name by then (`docs/decisions/0210`). Everything here is
plain and synchronous: events come in order on the loop.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import msgspec
import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change, Key, deliver
from fairlead.kube.codec.nodes import node_record
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.policy import Namespace
from fairlead.kube.volumes.claim_cache import ClaimCache
from fairlead.live.cluster.columns import NodeColumns, Residents
from fairlead.live.cluster.cores import Cores, unreadable_layout
from fairlead.live.cluster.identity import PodKey, Wake
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.rules import DisruptionRules
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population, Resident
from fairlead.model.reasons import Reason

NAME_LABEL = "kubernetes.io/metadata.name"

About = Key | Resident | None
"""What something that happened is about: a claim, a pod as others see it, or all that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What one cycle reads."""

    nodes: NodeState
    population: Population
    rank: Int
    cores: Callable[[PodRecord, tuple[str, ...]], Mapping[Reason, Bool]] = lambda pod, names: {}
    """Which of the nodes have cores for a pod that asks for bound ones."""


class PodEvent(msgspec.Struct, frozen=True, gc=False):
    """A change of a pod that the cache has taken in; every other store of pods is told of it (`Stores.on_pod`)."""

    pod: PodRecord
    deleted: bool
    assumed: str
    """The node that it counts on before the server says so; empty where there is none."""
    settled: bool
    """Whether it was assumed until now: the watch tells what became of its bind."""


class Cache:
    """`on_room` is called when something happened that may let a waiting pod in: the word says what, and then, where it
    does not concern all of them, the claim that changed or the pod that was bound as others see it.
    """

    def __init__(self, on_room: Callable[[Wake, About], None] = lambda what, about: None) -> None:
        self.pods: dict[PodKey, PodRecord] = {}
        self.waiting: dict[PodKey, PodRecord] = {}
        self.assumed: dict[PodKey, str] = {}
        self._nodes = NodeColumns()
        self._residents = Residents()
        self._homeless: dict[str, set[PodKey]] = defaultdict(set)
        """By the node they name and that is not known."""
        self._astray: dict[PodKey, str] = {}
        """The same the other way round: pod to node."""
        self._counted: dict[PodKey, tuple[PodRecord, str]] = {}
        self._here: dict[str, set[PodKey]] = defaultdict(set)
        self._per_controller: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._on_room = on_room
        self.storage = ClaimCache(lambda claim: on_room(Wake.VOLUME, claim))
        self.cores = Cores()
        self.rules = DisruptionRules(lambda: on_room(Wake.BUDGET, None))

    def on_node(self, change: Change[Node]) -> None:
        """A node came, changed or went."""
        name = change.object.metadata.name
        if change.kind == "deleted":
            for key in list(self._here.get(name, ())):
                self._uncount(key)
                self._lose(key, name)
            self._nodes.drop(name)
            self.cores.drop(name)
            self._on_room(Wake.NODE, None)
            return
        # A node whose amounts cannot be read is set aside: what was known of it stays.
        record = node_record(change.object, {})
        changed = self.cores.lay_out(change.object)
        if self._nodes.put(record) or changed:
            for key in list(self._homeless.get(name, ())):
                self._place(self.pods[key])
            self._on_room(Wake.NODE, None)
        error = unreadable_layout(change.object)
        if error is not None:
            raise error

    def on_pod(self, change: Change[PodRecord]) -> PodEvent:
        """A pod came, changed or went."""
        pod, deleted = change.object, change.kind == "deleted"
        key = pod.key
        was_assumed = key in self.assumed
        if deleted:
            self._gone(pod)
        else:
            self._seen(pod)
        assumed = self.assumed.get(key, "")
        return PodEvent(pod, deleted, assumed, was_assumed and not assumed)

    def _gone(self, pod: PodRecord) -> None:
        self.pods.pop(pod.key, None)
        self.waiting.pop(pod.key, None)
        self.assumed.pop(pod.key, None)
        self.cores.forget(pod.metadata.uid)
        self._find(pod.key)
        if pod.key in self._counted:
            self._uncount(pod.key)
            self._on_room(Wake.POD_LEFT, None)

    def _seen(self, record: PodRecord) -> None:
        key = record.key
        known = self._counted.get(key)
        before = self.pods.get(key)
        if before is not None and before.metadata.uid != record.metadata.uid:
            self.assumed.pop(key, None)
            self.cores.forget(before.metadata.uid)
        self.pods[key] = record
        assumed = None
        if record.node or record.finished or record.leaving:
            assumed = self.assumed.pop(key, None)
        self._place(record)
        if known and key not in self._counted:
            self._on_room(Wake.POD_LEFT, None)
        elif record.holds_room and (not known or assumed is not None):
            self._on_room(Wake.POD_BOUND, record.resident)
        elif known and not (_takes_the_same(known[0], record) and _looks_the_same(known[0], record)):
            # It takes less than before, is going, or looks different to others.
            self._on_room(Wake.POD_LEFT, None)
            self._on_room(Wake.POD_BOUND, record.resident)

    def on_namespace(self, change: Change[Namespace]) -> None:
        """A namespace came, changed or went."""
        meta = change.object.metadata
        if change.kind == "deleted":
            self._namespaces.pop(meta.name, None)
        else:
            self._namespaces[meta.name] = {NAME_LABEL: meta.name, **meta.labels}
            self._on_room(Wake.NAMESPACE, None)

    def assume(self, key: PodKey, node: str) -> None:
        """Count a waiting pod on a node before the server says so."""
        self.assumed[key] = node
        self._place(self.pods[key])

    def forget(self, pod: PodRecord) -> bool:
        """The bind failed: the pod waits again; False where it is gone, or another one has its name."""
        self.cores.forget(pod.metadata.uid)
        known = self.pods.get(pod.key)
        if known is None or known.metadata.uid != pod.metadata.uid:
            return False
        if self.assumed.pop(pod.key, None) is not None:
            self._place(known)
        return True

    def expects(self, pod: PodRecord, node: str) -> bool:
        """Whether this very pod is still about to be bound to the node, and both are there."""
        known = self.pods.get(pod.key)
        return (
            known is not None
            and known.metadata.uid == pod.metadata.uid
            and self.assumed.get(pod.key) == node
            and node in self._nodes.rows
        )

    def knows(self, node: str) -> bool:
        """Whether there is such a node."""
        return node in self._nodes.rows

    def view(self) -> ClusterView:
        """The nodes and replicas now, the assumed ones among them."""
        return ClusterView(
            nodes=self._nodes.snapshot(),
            population=self._residents.snapshot(self._namespaces),
            rank=self._nodes.rank,
            cores=self.cores.passing,
        )

    def labels_of(self, node: str) -> Mapping[str, str]:
        """The labels of a node; none where it is not known."""
        return self._nodes.labels_of(node)

    def still_waiting(self, pod: PodRecord) -> PodRecord | None:
        """The pod as it is known now, if it has no node and is not being bound."""
        known = self.waiting.get(pod.key)
        return known if known is not None and known.metadata.uid == pod.metadata.uid else None

    def present(self, controller: str) -> Mapping[int, int]:
        """Pods of a controller by node row; a bare pod has no others."""
        rows = self._nodes.rows
        return {rows[node]: count for node, count in self._per_controller.get(controller, {}).items()}

    def per_node(self, controller: str) -> Int:
        """The same as a column."""
        counts = np.zeros(len(self._nodes.names), dtype=np.int64)
        for row, count in self.present(controller).items():
            counts[row] = count
        return counts

    def differences(self, nodes: Iterable[Node], pods: Iterable[PodRecord]) -> list[str]:
        """How the columns differ from those made afresh of a list; empty where all is well. Assumed pods are kept."""
        fresh = Cache()
        for node in nodes:
            deliver(fresh.on_node, Change("added", node))
        for record in pods:
            deliver(fresh.on_pod, Change("added", record))
        for key, place in self.assumed.items():
            known = fresh.pods.get(key)
            if known is not None and not known.node and known.metadata.uid == self.pods[key].metadata.uid:
                fresh.assume(key, place)
        return compare(self.summary(), fresh.summary())

    def summary(self) -> dict[str, object]:
        """Everything that columns hold, by name instead of by row."""
        state, population = self._nodes.snapshot(), self._residents.snapshot({})
        facts: dict[str, object] = {}
        for name, row in self._nodes.rows.items():
            facts[f"node {name} used"] = self._nodes.used(row)
            facts[f"node {name} labels"] = {
                key: column.values[column.codes[row]] for key, column in state.labels.items() if column.codes[row] >= 0
            }
            facts[f"node {name} allocatable"] = {
                resource: int(state.allocatable[row, column])
                for column, resource in enumerate(state.resources)
                if state.allocatable[row, column]
            }
            facts[f"node {name} taints"] = state.taint_profiles[int(state.taint_profile[row])]
            facts[f"node {name} features"] = state.features[row]
            facts[f"node {name} cores"] = self.cores.bound(name)
            facts[f"node {name} cordoned"] = bool(state.unschedulable[row])
            who = [population.residents[code] for code in population.codes[population.rows == row].tolist()]
            facts[f"node {name} residents"] = sorted(map(repr, who))
        facts["waiting"] = sorted(self.waiting)
        facts["per controller"] = {
            controller: {node: count for node, count in sorted(counts.items()) if count}
            for controller, counts in sorted(self._per_controller.items())
            if any(counts.values())
        }
        return facts

    def _place(self, record: PodRecord) -> None:
        """Count the pod where it is now, and nowhere else."""
        key = record.key
        node = record.node or self.assumed.get(key, "")
        known = self._counted.get(key)
        if known is not None:
            if known[1] == node and _takes_the_same(known[0], record):
                if not _looks_the_same(known[0], record):
                    self._residents.put(key, record.resident, self._nodes.rows[node], record.leaving)
                self._counted[key] = record, node
                return
            self._uncount(key)
        elif key in self._astray:
            self._find(key)
        if node and not record.finished:
            self.waiting.pop(key, None)
            if node in self._nodes.rows:
                self._count(key, record, node)
            else:
                self._lose(key, node)
        elif record.waits:
            self.waiting[key] = record
        else:
            self.waiting.pop(key, None)

    def _lose(self, key: PodKey, node: str) -> None:
        """The pod names a node that is not known, or not any more."""
        self._homeless[node].add(key)
        self._astray[key] = node

    def _find(self, key: PodKey) -> None:
        """The pod is gone, or will be counted where it is now."""
        node = self._astray.pop(key, None)
        if node is not None:
            self._homeless[node].discard(key)
            if not self._homeless[node]:
                del self._homeless[node]

    def _count(self, key: PodKey, record: PodRecord, node: str) -> None:
        row = self._nodes.rows[node]
        self._nodes.use(row, record.request, 1)
        self._residents.put(key, record.resident, row, record.leaving)
        if not record.bare:
            self._per_controller[record.controller][node] += 1
        self._counted[key] = record, node
        if record.volumes:
            self.storage.count(record, node)
        if record.pieces:
            self.cores.count(record, node)
        self._here[node].add(key)

    def _uncount(self, key: PodKey) -> None:
        record, node = self._counted.pop(key)
        if record.volumes:
            self.storage.uncount(record, node)
        if record.pieces:
            self.cores.uncount(record, node)
        here = self._here[node]
        here.discard(key)
        if not here:
            del self._here[node]
        self._nodes.use(self._nodes.rows[node], record.request, -1)
        self._residents.drop(key)
        if record.bare:
            return
        counts = self._per_controller[record.controller]
        counts[node] -= 1
        if not counts[node]:
            del counts[node]
            if not counts:
                del self._per_controller[record.controller]


def _takes_the_same(old: PodRecord, new: PodRecord) -> bool:
    """Whether the pod takes from its node what it took before: most news of a pod that has its node is of this kind."""
    return (
        old.metadata.uid == new.metadata.uid
        and old.request == new.request
        and old.controller == new.controller
        and old.claims == new.claims
        and (not new.pieces or (old.node, old.pieces, old.cores) == (new.node, new.pieces, new.cores))
        and not new.finished
    )


def _looks_the_same(old: PodRecord, new: PodRecord) -> bool:
    """Whether other pods see it as before; Kubernetes gives it the zone and region of its node as labels."""
    return old.resident is new.resident and old.leaving == new.leaving


def compare(mine: Mapping[str, object], fresh: Mapping[str, object]) -> list[str]:
    """A line for every fact that is not the same in both."""
    return [
        f"{fact}: {mine.get(fact)!r} in the cache, {fresh.get(fact)!r} in a fresh list"
        for fact in sorted({*mine, *fresh})
        if mine.get(fact) != fresh.get(fact)
    ]
