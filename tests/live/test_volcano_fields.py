"""Fields of Volcano's objects: obeyed, or named; never ignored (docs/decisions/0283)."""

from fractions import Fraction
from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.volcano_fields import duration, may_wait, not_obeyed, queue_not_obeyed, unmet
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.queue import queue_of
from fairlead.kube.objects.volcano import PodGroup, VolcanoQueue
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.queue.status import NOT_OBEYED, group_patch
from fairlead.model.errors import InputError
from fairlead.problems.share import solve_state
from tests.live.queue_world import NOW, World


def group(**body: Any) -> PodGroup:
    """A PodGroup as the API sends it."""
    return msgspec.convert({"metadata": {"name": "g", "namespace": "ns", **body.pop("metadata", {})}, **body}, PodGroup)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1h2m3s", 3723),
        ("90s", 90),
        ("1.5h", 5400),
        ("250ms", Fraction(1, 4)),
        ("5µs", Fraction(1, 200_000)),
        (".5s", Fraction(1, 2)),
        ("2.s", 2),
    ],
)
def test_duration_is_read_as_go_writes_it(text: str, want: Fraction) -> None:
    """Hours to nanoseconds, with fractions."""
    assert duration(text, "x") == want


@pytest.mark.parametrize("text", ["", "5", "s", "1h 2m", "-3s", "1d", "٣s", "2562048h", "9h" * 200])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """It says what was expected."""
    with pytest.raises(InputError, match="expected a duration"):
        duration(text, "x")


def test_hard_topology_is_not_placed_against() -> None:
    """Absent mode means hard; soft is only named."""
    assert unmet(group(spec={"networkTopology": {"highestTierAllowed": 1}})) == "spec.networkTopology (hard)"
    assert unmet(group(spec={"networkTopology": {"mode": "soft"}})) == ""
    policy = {"name": "p", "networkTopology": {"mode": "hard"}}
    assert unmet(group(spec={"subGroupPolicy": [policy]})) == "spec.subGroupPolicy.networkTopology (hard)"


def test_pods_of_a_group_with_a_hard_topology_wait_and_say_so() -> None:
    """Live: the field is in the pods' message, and nothing is bound."""
    world = World(8)
    world.group("g", 2, networkTopology={"mode": "hard"})
    world.pods(2, "a", group="g")
    turn, outcomes = world.turn()
    assert not turn.grants
    (outcome,) = outcomes
    assert outcome.finding is not None
    assert outcome.finding.code == "FieldNotObeyed"
    assert "spec.networkTopology (hard)" in outcome.finding.sentence


def test_gang_with_a_hard_topology_does_not_start_on_the_easy_way() -> None:
    """Where everything fits no turn is taken; such a gang needs one."""
    world = World(8)
    world.group("g", 2, networkTopology={"mode": "hard"})
    pods = world.pods(2, "a", group="g")
    assert not world.promises.calm(pods, parked=False)
    world.group("g", 2, networkTopology={"mode": "soft"})
    assert world.promises.calm(pods, parked=False)


def test_fields_that_are_not_obeyed_are_named_in_a_condition() -> None:
    """Of the group and of its queue; taken back when they are edited away."""
    asked = group(
        metadata={"annotations": {"volcano.sh/revocable-zone": "z", "sla-waiting-time": "soon"}},
        spec={"networkTopology": {"mode": "soft"}, "subGroupPolicy": [{"name": "p"}]},
    )
    queue = msgspec.convert(
        {"metadata": {"name": "q"}, "spec": {"dequeueStrategy": "fifo", "affinity": {"nodeGroupAffinity": {}}}},
        VolcanoQueue,
    )
    world = World(4)
    world.group("g", 1, queue="default")
    world.pods(1, "a", group="g")
    (job,) = world.job_cache.jobs()
    patch = group_patch(asked, job, None, "now", queue)
    assert patch is not None
    (told,) = (each for each in patch["status"]["conditions"] if each["type"] == NOT_OBEYED)
    assert told["status"] == "True"
    assert told["message"] == (
        "spec.networkTopology, spec.subGroupPolicy, annotation volcano.sh/revocable-zone, "
        "annotation sla-waiting-time, which is no duration such as 1h30m, "
        "queue default: spec.dequeueStrategy fifo, queue default: spec.affinity"
    )
    after = group(status={"conditions": [told]})
    patch = group_patch(after, job, None, "now")
    assert patch is not None
    (told,) = (each for each in patch["status"]["conditions"] if each["type"] == NOT_OBEYED)
    assert (told["status"], told.get("message", "")) == ("False", "")


def test_nothing_is_said_where_every_field_is_obeyed() -> None:
    """The usual fields, and a queue that is traversed."""
    plain = group(metadata={"annotations": {"sla-waiting-time": "1h"}}, spec={"minMember": 2, "queue": "q"})
    assert not_obeyed(plain) == ()
    assert may_wait(plain.metadata.annotations) == 3600
    spec = {"dequeueStrategy": "traverse", "weight": 2}
    assert queue_not_obeyed(msgspec.convert({"metadata": {"name": "q"}, "spec": spec}, VolcanoQueue)) == ()


def test_cooling_pod_is_not_evicted_before_its_time_is_over() -> None:
    """It runs from the moment it was scheduled; afterwards it may go."""
    world = World(2, policy=SharePolicy(preempt=True))
    world.queue("a")
    world.queue("b")
    for number in (0, 1):
        world.pod(f"old-{number}", queue="a", owner="old", on="n1", cools="60s")
    world.pod("new", queue="b")
    early, _ = world.turn(now=NOW + 59)
    assert not early.evictions
    late, _ = world.turn(now=NOW + 60)
    assert [order.pod.metadata.name for order in late.evictions] == ["old-0"]


def manifests(annotation: str, topology: str = "soft") -> list[Manifest]:
    """A node that is full, an open queue, and a gang that may wait for a time."""

    def volcano(kind: str, meta: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
        return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": meta, "spec": spec}

    def pod(name: str, group_name: str, **spec: Any) -> dict[str, Any]:
        marks = {"scheduling.k8s.io/group-name": group_name}
        body = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **spec}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "ns", "annotations": marks},
            "spec": {"schedulerName": "fairlead", **body},
        }

    spec = {"minMember": 1, "queue": "default", "networkTopology": {"mode": topology}}
    meta = {"name": "g", "namespace": "ns", "annotations": {"sla-waiting-time": annotation}}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "2", "pods": "9"}},
    }
    objects = [node, volcano("Queue", {"name": "default"}, {}), volcano("PodGroup", meta, spec), pod("a", "g")]
    return [Manifest("x", each) for each in objects]


def test_plan_and_share_name_the_hard_topology_too() -> None:
    """The same reading: nothing is placed, and the reason names the field."""
    state = queue_of(catalogue(manifests("1h", "hard"))).state
    (row,) = solve_state(state, SharePolicy()).jobs
    assert row.admitted == 0
    assert row.finding is not None
    assert row.finding.code == "FieldNotObeyed"


def test_gang_that_may_not_wait_longer_gets_a_reservation_without_a_policy() -> None:
    """Its annotation is its own `reserveAfter`."""
    world = World(4)
    for number in range(3):
        world.pod(f"busy-{number}", on="n1")
    world.group("g", 4, annotations={"sla-waiting-time": "10m"})
    world.pods(4, "a", group="g")
    world.pod("small")
    turn, _ = world.turn(now=NOW + 599)
    assert turn.reserved == ""
    assert [pod.metadata.name for grant in turn.grants for pod, _ in grant.places] == ["small"]
    again = World(4)
    for number in range(3):
        again.pod(f"busy-{number}", on="n1")
    again.group("g", 4, annotations={"sla-waiting-time": "10m"})
    again.pods(4, "a", group="g")
    again.pod("small")
    turn, _ = again.turn(now=NOW + 600)
    assert turn.reserved.endswith("/g")
    assert not turn.grants
