"""What fails on one object or one group is set aside: it is named, the others go on, and a change brings it back."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.decode import decode, shallow
from fairlead.kube.objects.longhorn import LonghornVolume
from fairlead.kube.objects.meta import Bare
from fairlead.kube.resources import (
    LONGHORN_VOLUMES,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESOURCE_BINDINGS,
    TIER_LEDGERS,
)
from fairlead.kube.watch import Reflector
from fairlead.live.queue.job_entry import JobEntry
from fairlead.live.runtime.aside import DECIDING, READING, WRITING, Aside, culprit
from fairlead.live.scheduler import decide
from fairlead.live.scheduler.check import differences
from fairlead.live.storage import decide as storage_decide
from fairlead.live.storage.cache import Seen
from fairlead.live.storage.faulty import FaultyVolumes
from fairlead.model.errors import InputError
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live import longhorn_objects as longhorn
from tests.live.failing_turns import bad_queue, fail_turns
from tests.poison.objects import Made, Told, binding, cluster, group, in_group, in_queue, ledger, node, pod, queue
from tests.poison.town import Town

DEFECT = "a defect of Fairlead"


def played(*made: Made, seconds: float = 120) -> Town:
    """A town with these objects and ordinary work, after a while; it has failed nowhere and done its work."""

    async def main() -> Town:
        town = Town()
        await asyncio.sleep(5)
        for each in made:
            town.put(each)
        await asyncio.sleep(20)
        wanted = town.ordinary(1)
        await asyncio.sleep(seconds)
        assert town.failed() == {}
        assert [each for each in wanted if not town.holds(each)] == []
        await town.stop()
        return town

    return run(main())


def test_aside_counts_and_names_what_it_holds() -> None:
    """By kind, for each stage; the object's own mistake in its own words, a defect with its place."""
    registry = CollectorRegistry()
    aside = Aside(registry)
    about = QUEUES.refer("q")
    aside.tell(about, InputError("spec", "is odd"))
    aside.tell(about, ValueError("oh"), DECIDING)
    assert aside.faults[(QUEUES.group, "Queue", "", "q")].startswith(DEFECT)
    assert registry.get_sample_value("fairlead_set_aside", {"kind": "Queue"}) == 1
    assert registry.get_sample_value("fairlead_defects_total") == 1
    aside.tell(about, None, DECIDING)
    assert aside.faults == {(QUEUES.group, "Queue", "", "q"): "spec: is odd"}
    aside.tell(about, None, READING)
    assert aside.faults == {}
    assert registry.get_sample_value("fairlead_set_aside", {"kind": "Queue"}) is None


def test_objects_of_one_name_in_two_groups_are_set_aside_each_for_itself() -> None:
    """A PodGroup of Volcano and one of Kubernetes: that one is read again says nothing of the other."""
    registry = CollectorRegistry()
    aside = Aside(registry)
    volcano, native = (each.refer("g", namespace="ml") for each in (POD_GROUPS, NATIVE_POD_GROUPS))
    aside.tell(volcano, InputError("spec", "is odd"))
    aside.tell(native, InputError("spec", "is odd, too"))
    assert registry.get_sample_value("fairlead_set_aside", {"kind": "PodGroup"}) == 2
    aside.tell(native, None)
    assert list(aside.faults.values()) == ["spec: is odd"]


def test_around_lets_chosen_errors_pass() -> None:
    """Trouble with the server is not the object's."""
    aside = Aside()
    with aside.around(QUEUES.refer("q"), READING, OSError):
        raise ValueError("odd")
    assert list(aside.faults) == [(QUEUES.group, "Queue", "", "q")]
    with pytest.raises(OSError, match="away"), aside.around(QUEUES.refer("q"), READING, OSError):
        raise OSError("away")
    with aside.around(QUEUES.refer("q"), READING, OSError):
        pass
    assert aside.faults == {}


@given(st.sets(st.integers(0, 199), min_size=1, max_size=5))
def test_culprits_are_found_one_by_one(bad: set[int]) -> None:
    """Each search names one of those that fail, in about as many tries as the number can be halved."""
    tries = 0

    def works(some: Sequence[int]) -> Exception | None:
        nonlocal tries
        tries += 1
        return ValueError("bad") if bad & set(some) else None

    things = list(range(200))
    found = set()
    while (blamed := culprit(things, works)) is not None:
        found.add(blamed[0])
        things.remove(blamed[0])
    assert found == bad
    assert tries <= 10 * (len(bad) + 1)


def test_culprit_is_none_where_it_fails_without_any() -> None:
    """What fails in any case is the fault of none of the things."""
    assert culprit([1, 2, 3], lambda some: ValueError("always")) is None


def test_sink_that_raises_is_told_once_and_tried_again_after_a_change() -> None:
    """The watch goes on; the object is set aside until it changes, and is forgotten when it goes."""

    async def main() -> None:
        api, told, taken = FakeApi(), [], []

        def sink(change: Change[Any]) -> None:
            if change.object.metadata.labels.get("bad") and change.kind != "deleted":
                raise KeyError("bad")
            taken.append((change.kind, change.object.metadata.name))

        def aside(resource: Any, metadata: Any, error: Exception | None) -> None:
            told.append((metadata.name, type(error).__name__))

        reflector = Reflector[Any](Client(api), NAMESPACES, sink, aside=aside)
        task = asyncio.create_task(reflector.run())
        for name, labels in (("a", {"bad": "yes"}), ("b", {}), ("c", {"bad": "yes"})):
            api.put(NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        await asyncio.sleep(1)
        api.put(NAMESPACES, {"metadata": {"name": "a", "labels": {}}})
        api.remove(NAMESPACES, "c")
        await asyncio.sleep(1)
        assert told == [("a", "KeyError"), ("c", "KeyError"), ("a", "NoneType"), ("c", "NoneType")]
        assert taken == [("added", "b"), ("modified", "a"), ("deleted", "c")]
        task.cancel()

    run(main())


def test_object_that_is_gone_is_set_aside_at_no_stage() -> None:
    """It was read well and could not be written: its end is the end of that, and the metric is 0 again."""

    async def main() -> tuple[list[str], Aside]:
        api, aside = FakeApi(), Aside()
        api.put(QUEUES, {"metadata": {"name": "q"}})
        watch = Reflector(Client(api), QUEUES, lambda change: None, aside=aside.watched)
        task = asyncio.create_task(watch.run())
        await watch.synced.wait()
        aside.tell(QUEUES.refer("q"), InputError("spec", "is odd"), WRITING)
        before = list(aside.faults.values())
        api.remove(QUEUES, "q")
        await asyncio.sleep(5)
        task.cancel()
        return before, aside

    before, aside = run(main())
    assert before == ["spec: is odd"]
    assert aside.faults == {}


def test_keep_that_raises_leaves_what_was_known() -> None:
    """An object that can be read no more stays as it was; its end is told all the same."""

    async def main() -> None:
        api, taken = FakeApi(), []

        def keep(found: Any) -> Any:
            if found.metadata.labels.get("bad"):
                raise KeyError("bad")
            return found

        reflector = Reflector[Any](
            Client(api), NAMESPACES, lambda change: taken.append(change.kind), keep=keep, aside=lambda *told: None
        )
        task = asyncio.create_task(reflector.run())
        api.put(NAMESPACES, {"metadata": {"name": "a"}})
        await asyncio.sleep(1)
        api.put(NAMESPACES, {"metadata": {"name": "a", "labels": {"bad": "yes"}}})
        await asyncio.sleep(1)
        assert list(reflector.objects) == [("", "a")]
        api.remove(NAMESPACES, "a")
        await asyncio.sleep(1)
        assert (taken, dict(reflector.objects)) == (["added", "deleted"], {})
        task.cancel()

    run(main())


def test_group_that_cannot_be_decided_waits_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pod is told of the defect; the pods before and after it are placed as if it were not there."""
    place = decide._place

    def failing(working: Any, view: Any, group: Any, *rest: Any) -> Any:
        if group.pods[0].metadata.name == "bad":
            raise ZeroDivisionError("no good")
        return place(working, view, group, *rest)

    monkeypatch.setattr(decide, "_place", failing)
    town = played(pod("bad"), pod("good", {"cpu": "1"}))
    assert town.holds(Told("works", "good"))
    assert town.holds(Told("pod", "bad", "ZeroDivisionError at test_aside.py"))
    assert town.holds(Told("event", "bad", DEFECT))


def test_job_that_fails_a_turn_is_left_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn is taken without it, gangs beside it start, and its pods are told why it waits."""
    fail_turns(monkeypatch, lambda state: any("bad" in name for name in state.jobs.names))
    closed = queue("closed", {"state": "Closed"})
    made = [closed, group("bad"), in_group("bad-1", "bad"), group("good"), in_group("good-1", "good")]
    town = played(*made)
    assert town.holds(Told("works", "good-1"))
    assert town.holds(Told("pod", "bad-1", "ZeroDivisionError"))
    assert town.holds(Told("event", "bad-1", DEFECT))


def test_queue_that_fails_every_turn_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs in it are told that it cannot be read; jobs of other queues go on."""
    fail_turns(monkeypatch, bad_queue)
    town = played(queue("bad", capability={"cpu": "1"}), in_queue("in-bad", "bad"), in_queue("other", "default"))
    assert town.holds(Told("works", "other"))
    assert town.holds(Told("pod", "in-bad", "QueueUnreadable"))
    assert town.holds(Told("event", "bad", DEFECT))


def test_volume_that_fails_a_look_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage replicas of other volumes get their disks, and the volume is told."""
    made = storage_decide._stored

    def failing(seen: Any, *rest: Any) -> Any:
        if any(each.metadata.name == "bad" for each in seen.volumes):
            raise ZeroDivisionError("no good")
        return made(seen, *rest)

    monkeypatch.setattr(storage_decide, "_stored", failing)
    body = longhorn.volume("bad", 1)
    town = played((LONGHORN_VOLUMES, body))
    assert town.holds(Told("event", "bad", DEFECT))


def test_volume_that_has_changed_is_set_aside_no_longer() -> None:
    """It takes part in the next look, and the metric is 0 again."""
    aside, meta = Aside(), {"name": "v", "namespace": "longhorn-system"}
    faulty = FaultyVolumes(aside)
    bad, good = (
        msgspec.convert(longhorn.volume("v", 1) | {"metadata": {**meta, "resourceVersion": version}}, LonghornVolume)
        for version in ("1", "2")
    )
    faulty.leave_out([(("volumes", bad), ValueError("odd"))])
    assert list(aside.faults) == [(LONGHORN_VOLUMES.group, "Volume", "longhorn-system", "v")]
    seen = Seen(nodes=(), volumes=(good,), replicas=(), settings=())
    assert faulty.sound(seen) == seen
    assert aside.faults == {}


def test_cluster_that_cannot_be_read_stays_as_it_was() -> None:
    """Bindings stay on a cluster whose new state has another shape, and the cluster is told."""

    async def main() -> None:
        town = Town()
        town.put(binding("b"))
        await asyncio.sleep(10)
        before = town.find(RESOURCE_BINDINGS, "b")["spec"]["clusters"]
        town.put(cluster("m1", taints=[{"key": 5}]))
        town.put(binding("later"))
        await asyncio.sleep(60)
        assert town.failed() == {}
        assert town.find(RESOURCE_BINDINGS, "b")["spec"]["clusters"] == before
        assert town.find(RESOURCE_BINDINGS, "later")["spec"]["clusters"] == before
        assert town.holds(Told("event", "m1", "cannot be read"))
        await town.stop()

    run(main())


def test_ledger_with_an_empty_spec_is_named_and_left() -> None:
    """As it could be stored before its definition asked for more."""
    town = played(ledger("empty", {}))
    assert town.find(TIER_LEDGERS, "empty")
    assert town.holds(Told("event", "empty", "names no ReplicaSet"))


def test_queue_that_becomes_readable_takes_its_pods() -> None:
    """The pod is told what is wrong with its queue, and placed once that is mended."""

    async def main() -> None:
        town = Town()
        town.put(queue("q", capability={"cpu": "-1"}))
        town.put(in_queue("p", "q"))
        await asyncio.sleep(30)
        assert town.holds(Told("pod", "p", "queue q cannot be read"))
        town.put(queue("q", capability={"cpu": "1"}))
        await asyncio.sleep(30)
        assert town.holds(Told("works", "p"))
        await town.stop()

    run(main())


def test_node_beyond_all_memory_leaves_others_their_whole() -> None:
    """Gangs beside it start: the whole is not zero (it was, when sums wrapped)."""
    town = played(
        *(node(f"vast-{number}", offered={"memory": "7Ei"}) for number in range(3)),
        queue("bounded", capability={"cpu": "2"}),
        group("gang", minMember=2, queue="bounded"),
        in_group("gang-1", "gang"),
        in_group("gang-2", "gang"),
    )
    assert [town.holds(Told("works", name)) for name in ("gang-1", "gang-2")] == [True, True]


def test_pod_beyond_all_room_on_one_node_leaves_others_their_whole() -> None:
    """It was bound by hand to a node that cannot hold it; other nodes offer what they did, and gangs start there."""
    vast = {"cpu": str(2**53)}
    town = played(
        node("full"),
        pod("vast", vast, nodeName="full", schedulerName="other"),
        pod("ours", vast, nodeName="full"),
        queue("bounded", capability={"cpu": "2"}),
        group("gang", minMember=2, queue="bounded"),
        in_group("gang-1", "gang"),
        in_group("gang-2", "gang"),
    )
    assert [town.holds(Told("works", name)) for name in ("gang-1", "gang-2")] == [True, True]


def test_pod_of_another_scheduler_that_fills_its_node_keeps_others_off() -> None:
    """A 1 MiB pod does not go where a pod beyond the bound was bound by hand; when that goes, it does."""

    async def main() -> None:
        town = Town()
        town.put(node("full", labels={"only": "full"}))
        town.put(pod("vast", {"memory": "9Ei"}, {"memory": "9Ei"}, nodeName="full", schedulerName="other"))
        town.put(pod("small", {"memory": "1Mi"}, nodeSelector={"only": "full"}))
        await asyncio.sleep(30)
        assert town.holds(Told("pod", "small", "InsufficientRoom"))
        town.api.remove(PODS, "vast", namespace="shop")
        await asyncio.sleep(30)
        assert town.holds(Told("works", "small"))
        assert town.find(NODES, "full")
        await town.stop()

    run(main())


def test_object_nested_too_deeply_is_read_without_its_depths() -> None:
    """Text that looks like brackets is no nesting."""
    inner = b'{"a":' * 3000 + b"[1]" + b"}" * 3000
    body = b'{"metadata":{"name":"x","annotations":{"a":"}}[[ \\"{"}},"spec":' + inner + b',"status":{}}'
    found = decode(body, Bare, "GET x")
    assert found.metadata.annotations == {"a": '}}[[ "{'}
    assert msgspec.json.decode(shallow(body))["status"] == {}
    assert shallow(b'{"a":[1,{"b":2}]}') == b'{"a":[1,{"b":2}]}'


def test_self_check_goes_on_beside_an_object_that_cannot_be_read() -> None:
    """Cache and fresh lists are compared without it, and agree."""

    async def main() -> None:
        town = Town()
        town.put(queue("odd", weight="many"))
        town.put(queue("fine"))
        await asyncio.sleep(10)
        assert town.holds(Told("event", "odd", "cannot be read"))
        assert await differences(Client(town.api), town.scheduler.cache, town.scheduler.job_cache) == []
        await town.stop()

    run(main())


def test_job_that_cannot_be_put_together_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it fails before its turn is taken; a change of the job brings it back."""
    make = JobEntry._make

    def failing(entry: JobEntry, *rest: Any) -> Any:
        if entry.name == "bad" and "mended" not in entry.waiting[0].queue_fields.task:
            raise ZeroDivisionError("no good")
        return make(entry, *rest)

    monkeypatch.setattr(JobEntry, "_make", failing)

    async def main() -> None:
        town = Town()
        for made in (group("bad"), in_group("bad-1", "bad"), group("good"), in_group("good-1", "good")):
            town.put(made)
        await asyncio.sleep(60)
        assert town.failed() == {}
        assert town.holds(Told("works", "good-1"))
        assert town.holds(Told("pod", "bad-1", "ZeroDivisionError"))
        resource, body = in_group("bad-1", "bad")
        body["metadata"]["annotations"]["volcano.sh/task-spec"] = "mended"
        town.put((resource, body))
        await asyncio.sleep(60)
        assert town.holds(Told("works", "bad-1"))
        assert town.scheduler.aside.faults == {}
        await town.stop()

    run(main())
