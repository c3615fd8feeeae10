"""The gate before the queue: which PodGroups may have their pods created (docs/decisions/0249)."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.objects.volcano import PodGroup
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.queue.gate import at_the_gate
from fairlead.live.queue.status import group_patch, phase
from tests.live.queue_world import NOW, World
from tests.queue.tables import TABLES, Table


class Gate:
    """A cluster, and its PodGroups with their phases as the server has them."""

    def __init__(self, *cpus: int, gated: bool = True, preempt: bool = False) -> None:
        self.world = World(*cpus, policy=SharePolicy(preempt=preempt))
        self.gated = gated
        self.groups: dict[tuple[str, str], PodGroup] = {}

    def job(self, name: str, cpu: int, queue: str, namespace: str = "ns") -> None:
        """A PodGroup as Volcano's job controller makes it, without pods."""
        amounts = {"cpu": str(cpu), "requests.cpu": str(cpu), "pods": str(cpu), "count/pods": str(cpu)}
        self.world.group(name, cpu, namespace=namespace, queue=queue, minResources=amounts)
        self._phase(name, namespace, "")

    def _phase(self, name: str, namespace: str, now_in: str) -> None:
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}, "status": {"phase": now_in}}
        self.groups[namespace, name] = msgspec.convert(body, PodGroup)

    def look(self) -> dict[str, str]:
        """One look: the phase of every group without pods, written down."""
        nodes = self.world.cache.view().nodes
        found = at_the_gate(self.world.promises, nodes, self.groups, NOW, gated=self.gated)
        for job, finding in found.values():
            self._phase(job.name, job.namespace, phase(job, finding))
        return {job.name: self.groups[job.namespace, job.name].status.phase for job, _ in found.values()}

    def follow(self) -> None:
        """What the job controller does: one pod of 1 cpu for each that a group was let in with; then they start."""
        for (namespace, name), group in list(self.groups.items()):
            job = f"PodGroup/{namespace}/{name}"
            if group.status.phase == "Inqueue" and job not in self.world.job_cache.entries:
                spec = self.world.job_cache.groups[
                    next(key for key in self.world.job_cache.groups if "/".join(key) == job)
                ]
                self.world.pods(spec.min_member, name, group=name, namespace=namespace)
        self.world.turn()


def test_group_in_a_closed_or_unknown_queue_is_never_let_in() -> None:
    """Not even for a moment, whether the gate is kept or not, and the reason is said."""
    for gated in (True, False):
        gate = Gate(4, gated=gated)
        gate.world.queue("shut", state="Closed")
        gate.job("a", 1, "shut")
        gate.job("b", 1, "nowhere")
        assert gate.look() == {"a": "Pending", "b": "Pending"}
        asking = at_the_gate(gate.world.promises, gate.world.cache.view().nodes, gate.groups, NOW, gated=gated)
        patch = group_patch(gate.groups["ns", "a"], *asking["PodGroup/ns/a"], "now")
        assert patch is not None
        assert patch["status"]["conditions"][0]["message"] == "queue shut is not open (QueueClosed)"
        gate.world.queue("shut")
        assert gate.look() == {"a": "Inqueue", "b": "Pending"}


def test_open_gate_lets_in_more_than_fits() -> None:
    """Pods exist and wait, as before."""
    gate = Gate(4, gated=False)
    gate.job("a", 4, "default")
    gate.job("b", 4, "default")
    assert gate.look() == {"a": "Inqueue", "b": "Inqueue"}


def test_room_is_given_once_while_pods_are_on_their_way() -> None:
    """Who was let in keeps its room until its pods exist; then they hold it themselves."""
    gate = Gate(4)
    gate.job("a", 3, "default")
    assert gate.look() == {"a": "Inqueue"}
    gate.job("b", 3, "default")
    assert gate.look() == {"a": "Inqueue", "b": "Pending"}
    gate.follow()
    assert gate.world.held() == {"PodGroup/ns/a": 3}
    assert gate.look() == {"b": "Pending"}
    for key in [key for key in gate.world.cache.pods if key[1].startswith("a-")]:
        gate.world.gone(gate.world.cache.pods[key])
    gate.groups.pop(("ns", "a"))
    assert gate.look() == {"b": "Inqueue"}


@pytest.mark.parametrize(("preempt", "want"), [(True, "Inqueue"), (False, "Pending")])
def test_group_is_let_in_where_its_queue_may_reclaim(preempt: bool, want: str) -> None:
    """The other queue holds everything; half of it is not its own."""
    gate = Gate(4, preempt=preempt)
    gate.world.queue("a")
    gate.world.queue("b")
    gate.world.pods(4, "x", owner="x", queue="a", on="n1")
    gate.job("late", 2, "b")
    assert gate.look() == {"late": want}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_namespace_tables_come_out_exactly_by_what_is_let_in(table: Table) -> None:
    """Jobs of one pod each: no pod exists that the tables do not give a place."""
    gate = Gate(16)
    for queue, (weight, _) in table.queues.items():
        gate.world.queue(queue, weight=weight)
    for row in table.rows:
        gate.world.weigh(row.namespace, str(row.weight))
    most = max(row.requested for row in table.rows)
    for number in range(most):
        for row in table.rows:
            if number < row.requested:
                gate.job(f"{row.queue}-{number}", 1, row.queue, row.namespace)
    gate.look()
    gate.follow()
    held = [job.split("/")[1:] for job in gate.world.held()]
    for row in table.rows:
        mine = [name for namespace, name in held if namespace == row.namespace and name.startswith(f"{row.queue}-")]
        assert len(mine) == row.assigned
    assert len(gate.world.job_cache.entries) == len(held)
