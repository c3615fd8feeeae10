"""The gate before the queue: which PodGroups may have their pods created (docs/decisions/0249)."""

from collections import Counter
from random import Random
from typing import Any

import msgspec
import pytest

from fairlead.kube.objects.volcano import PodGroup
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.identity import JobKey
from fairlead.live.queue.arrivals import LONGEST, MOST_SETTLE, SETTLE, Arrivals, Burst
from fairlead.live.queue.gate import ASKS, COMPLETED_WITHIN, NO_BURST, Asking, at_the_gate
from fairlead.live.queue.status import group_patch, phase
from tests.live.queue_world import AT, NOW, World
from tests.queue.tables import TABLES, Table


class Gate:
    """A cluster, and its PodGroups with their phases as the server has them."""

    def __init__(self, *cpus: int, gated: bool = True, preempt: bool = False) -> None:
        self.world = World(*cpus, policy=SharePolicy(preempt=preempt))
        self.gated = gated
        self.preempt = preempt
        self.groups: dict[tuple[str, str], PodGroup] = {}

    def job(self, name: str, cpu: int, queue: str, namespace: str = "ns") -> None:
        """A PodGroup as Volcano's job controller makes it, without pods."""
        amounts = {"cpu": str(cpu), "requests.cpu": str(cpu), "pods": str(cpu), "count/pods": str(cpu)}
        self.world.group(name, cpu, namespace=namespace, queue=queue, minResources=amounts)
        self._phase(name, namespace, "")

    def _phase(self, name: str, namespace: str, now_in: str) -> None:
        body: dict[str, Any] = {"metadata": {"name": name, "namespace": namespace}, "status": {"phase": now_in}}
        self.groups[namespace, name] = msgspec.convert(body, PodGroup)

    def ask(self, burst: Burst = NO_BURST, *let_in: str) -> Asking:
        """What the gate says of the groups without pods."""
        nodes = self.world.cache.view().nodes
        return at_the_gate(
            self.world.promises,
            nodes,
            self.groups,
            NOW,
            gated=self.gated,
            reclaims=self.preempt,
            burst=burst,
            let_in=[job_of(name) for name in let_in],
        )

    def look(self, burst: Burst = NO_BURST) -> dict[str, str]:
        """One look: the phase of every group that something is said of, written down."""
        found = self.ask(burst)
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


def job_of(name: str) -> JobKey:
    """The key of a group of the namespace `ns`."""
    return JobKey(f"PodGroup/ns/{name}")


def test_group_in_a_closed_or_unknown_queue_is_never_let_in() -> None:
    """Not even for a moment, whether the gate is kept or not, and the reason is said."""
    for gated in (True, False):
        gate = Gate(4, gated=gated)
        gate.world.queue("shut", state="Closed")
        gate.job("a", 1, "shut")
        gate.job("b", 1, "nowhere")
        assert gate.look() == {"a": "Pending", "b": "Pending"}
        asking = gate.ask()
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


def test_room_is_kept_for_the_pods_that_are_still_missing() -> None:
    """Two of three pods exist: the third has its room, for half a minute and not for ever."""
    gate = Gate(4)
    gate.job("a", 3, "default")
    gate.look()
    gate.world.pods(2, "a", group="a", created=AT)
    gate.job("b", 2, "default")
    assert gate.look() == {"b": "Pending"}
    late = at_the_gate(
        gate.world.promises,
        gate.world.cache.view().nodes,
        gate.groups,
        NOW + COMPLETED_WITHIN,
        gated=True,
        reclaims=False,
    )
    assert not late[job_of("b")][0].held_back


def test_group_that_was_let_in_counts_before_the_server_tells_so() -> None:
    """Its room is not given to one that deserves it more and comes before the news."""
    gate = Gate(4)
    for queue in ("a", "b"):
        gate.world.queue(queue)
    gate.job("first", 3, "a")
    gate.job("second", 3, "b")
    assert not gate.ask()[job_of("first")][0].held_back
    both = gate.ask(NO_BURST, "second")
    assert (both[job_of("first")][0].held_back, both[job_of("second")][0].held_back) == (True, False)


BURST = Burst(unsettled=frozenset(job_of(f"{queue}{number}") for queue in "ab" for number in range(8)))


def test_while_others_come_queues_get_no_more_than_their_right() -> None:
    """Of 18 cpu `a` may have 4, `b` 12 and `default` 2; when nobody comes any more, what nobody asks for is lent."""
    gate = Gate(18)
    gate.world.queue("a", weight=2)
    gate.world.queue("b", weight=6)
    for number in range(8):
        gate.job(f"a{number}", 1, "a")
    assert set(gate.look(BURST)) == {"a0", "a1", "a2", "a3"}
    for number in range(8):
        gate.job(f"b{number}", 2, "b")
    assert set(gate.look(BURST)) - {f"a{number}" for number in range(4)} == {f"b{number}" for number in range(6)}
    settled = gate.look()
    assert sum((1 if name[0] == "a" else 2) for name, now_in in settled.items() if now_in == "Inqueue") == 18


def test_young_groups_are_weighed_and_not_let_in() -> None:
    """They count for the share of those who are older, and nothing is said of them."""
    gate = Gate(4)
    gate.job("a", 1, "default")
    assert gate.look(Burst(young=frozenset({job_of("a")}))) == {}
    assert gate.look() == {"a": "Inqueue"}


def test_open_gate_waits_for_nobody() -> None:
    """Everybody is let in at once."""
    gate = Gate(4, gated=False)
    gate.job("a", 1, "default")
    assert gate.look(Burst(young=frozenset({job_of("a")}))) == {"a": "Inqueue"}


def test_arrivals_settle_when_nobody_new_comes() -> None:
    """Each newcomer holds up those who may not have it by right, for a bounded time."""
    arrivals, a, b = Arrivals(), job_of("a"), job_of("b")
    both = frozenset({a, b})
    assert arrivals.see([a], 0.0) == Burst(young=frozenset({a}), recent=frozenset({a}))
    assert arrivals.see([a, b], 0.4) == Burst(young=both, recent=both)
    assert arrivals.see([a, b], SETTLE) == Burst(young=frozenset({b}), unsettled=frozenset({a}), recent=both)
    assert arrivals.see([a, b], 0.4 + SETTLE).over
    crowd = [a]
    for number in range(40):
        crowd.append(job_of(f"c{number}"))
        burst = arrivals.see(crowd, 1.0 + number * 0.3)
        assert (a in burst.unsettled) == (1.0 + number * 0.3 < LONGEST)
    assert arrivals.see([], 20.0).over


def test_room_is_not_lent_while_as_many_as_came_are_expected_again() -> None:
    """Eight cpu, two queues of equal weight. One holds its half and has waited long for more; the other has asked for
    half of its half, just now and as others go on to come, so that much again is kept for it.
    """
    gate = Gate(8)
    gate.world.queue("a")
    gate.world.queue("b")
    for name, queue, cpu in (("a1", "a", 4), ("b1", "b", 2), ("a2", "a", 2)):
        gate.job(name, cpu, queue)
    gate._phase("a1", "ns", "Inqueue")
    gate._phase("b1", "ns", "Inqueue")
    assert gate.look(Burst(recent=frozenset({job_of("b1")})))["a2"] == "Pending"
    gate.follow()
    assert gate.look(Burst(recent=frozenset({job_of("b1")})))["a2"] == "Pending"
    assert gate.look(Burst(recent=frozenset({job_of("a2")})))["a2"] == "Inqueue"


@pytest.mark.parametrize(("lasted", "settles"), [(0.0, SETTLE), (0.4, SETTLE), (1.6, 1.6), (30.0, MOST_SETTLE)])
def test_a_burst_is_over_when_nobody_came_for_as_long_as_it_lasted(lasted: float, settles: float) -> None:
    """Within bounds; the next one begins anew."""
    arrivals, groups = Arrivals(), list[JobKey]()
    for number in range(int(lasted / 0.4) + 1):
        groups.append(job_of(f"g{number}"))
        arrivals.see(groups, number * 0.4)
    last = int(lasted / 0.4) * 0.4
    assert not arrivals.see(groups, last + settles - 0.01).over
    assert arrivals.see(groups, last + settles + 0.01).over
    assert not arrivals.see([*groups, job_of("next")], last + 100.0).over
    assert arrivals.see([*groups, job_of("next")], last + 100.0 + SETTLE).over


def test_groups_that_came_are_recent_until_nobody_comes() -> None:
    """Also those that were let in; not those of longer ago."""
    arrivals = Arrivals()
    arrivals.see([job_of("a")], 0.0)
    arrivals.see([job_of("b")], LONGEST - 0.1)
    assert arrivals.see([job_of("c")], LONGEST).recent == {job_of("b"), job_of("c")}
    assert arrivals.see([job_of("c")], LONGEST + SETTLE) == NO_BURST


def test_a_group_within_the_right_of_its_queue_waits_for_nobody_who_is_expected() -> None:
    """Others of its queue, in another namespace, came lately: what they may ask for again is not kept from it."""
    gate = Gate(4)
    gate.world.queue("a")
    gate.job("mine", 3, "a")
    gate.job("theirs", 1, "a", namespace="other")
    gate._phase("theirs", "other", "Inqueue")
    expected = frozenset({JobKey("PodGroup/other/theirs")})
    assert gate.look(Burst(recent=expected)) == {"mine": "Inqueue", "theirs": "Inqueue"}


def slow_submission(room: int, gap: float) -> tuple[int, dict[str, int]]:
    """Twice as many jobs of one pod as there is room for come one after another to queues 1:2:3; how many were evicted,
    and what the queues hold.

    Pods are there with the next look after their group was let in; those that are evicted come again.
    """
    gate, arrivals, lost = Gate(room, preempt=True), Arrivals(), 0
    for weight in (1, 2, 3):
        gate.world.queue(f"q{weight}", weight=weight)
    names = [f"q{queue}-{number}" for number in range(2 * room // 3) for queue in (1, 2, 3)]
    coming = Random(7).sample(names, len(names))
    for look in range(int(len(coming) * gap / 0.4) + 5):
        while coming and (len(names) - len(coming)) * gap <= look * 0.4:
            name = coming.pop()
            gate.job(name, 1, name[:2])
        asking = [job_of(name) for (_, name), group in gate.groups.items() if group.status.phase in ASKS]
        gate.look(arrivals.see(asking, look * 0.4))
        gate.follow()
        turn, _ = gate.world.turn()
        for order in turn.evictions:
            lost += 1
            gate.world.gone(order.pod)
            gate.world.pod(f"{order.pod.key[1]}-again", group=order.pod.key[1].rpartition("-")[0])
    held = Counter(job.split("/")[2][:2] for job, count in gate.world.held().items() for _ in range(count))
    return lost, dict(held)


def test_jobs_that_come_slowly_cost_no_eviction_while_others_follow() -> None:
    """Who waited long borrows nothing that as many as came lately would ask for again."""
    assert slow_submission(60, 0.4) == (0, {"q1": 10, "q2": 20, "q3": 30})


def test_room_is_lent_and_taken_back_where_nobody_can_know_of_the_next() -> None:
    """Each job comes after the gate has settled."""
    lost, held = slow_submission(30, 0.8)
    assert lost > 0
    assert held == {"q1": 5, "q2": 10, "q3": 15}
