"""The storage component on a fake API server: what it writes and says, when it is silent, and how it bears trouble."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.codec.longhorn import storage
from fairlead.kube.errors import ApiError
from fairlead.kube.events import Recorder
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.kube.resources import (
    EVENTS,
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    LONGHORN_SETTINGS,
    LONGHORN_VOLUMES,
    Resource,
)
from fairlead.levels.disk.balance import balance
from fairlead.live.runtime.elected import Instance
from fairlead.live.storage.component import StorageKeeper, StorageOptions
from fairlead.live.storage.main import look
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.longhorn_objects import GIB, NAMESPACE, Object, counted, disk, node, place, replica, setting, volume

KINDS = {
    "Node": LONGHORN_NODES,
    "Volume": LONGHORN_VOLUMES,
    "Replica": LONGHORN_REPLICAS,
    "Setting": LONGHORN_SETTINGS,
}


async def inline(call: Callable[..., Any], *arguments: Any) -> Any:
    """Instead of a thread, which a virtual clock does not know."""
    return call(*arguments)


class Stage:
    """One instance and the API server it works on."""

    def __init__(self, api: FakeApi, *, leads: Callable[[], bool] = lambda: True, **options: Any) -> None:
        self.api = api
        loop = asyncio.get_running_loop()
        client = Client(api)
        self.recorder = Recorder(client, component="test", instance="one", clock=loop.time, now=lambda: 1_700_000_000.0)
        self.keeper = StorageKeeper(
            Instance(
                client,
                recorder=None if options.get("shadow") else self.recorder,
                monotonic=loop.time,
                wall=lambda: 1_700_000_000.0,
                leads=leads,
            ),
            StorageOptions(**options),
            aside=inline,
        )
        self.tasks = [asyncio.create_task(self.keeper.run()), asyncio.create_task(self.recorder.run())]

    async def quiet(self, seconds: float = 120) -> None:
        """Let everything happen that is going to."""
        await asyncio.sleep(seconds)

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def report(self) -> Object:
        found: Object = msgspec.json.decode(self.keeper.page()())
        return found

    def patches(self) -> int:
        return sum(method == "PATCH" and "/replicas/" in path for method, path in self.api.calls)

    def events(self, reason: str) -> list[str]:
        """The notes of all events of a reason."""
        return [each["note"] for each in listed(self.api, EVENTS) if each["reason"] == reason]


def put(api: FakeApi, *objects: Object) -> None:
    for each in objects:
        api.put(KINDS[each["kind"]], each)


def listed(api: FakeApi, resource: Resource[Any]) -> list[Object]:
    return api.store.listed(f"{resource.root}/{resource.plural}", "", "", "")


def find(api: FakeApi, name: str) -> Object:
    found = api.find(LONGHORN_REPLICAS, name, namespace=NAMESPACE)
    assert found is not None
    return found


def count(api: FakeApi, *names: str) -> None:
    """Longhorn counts the replicas on its nodes."""
    replicas = listed(api, LONGHORN_REPLICAS)
    for name in names:
        found = api.find(LONGHORN_NODES, name, namespace=NAMESPACE)
        assert found is not None
        put(api, counted(found, replicas))


def play(act: Callable[[FakeApi], Awaitable[None]], *objects: Object) -> None:
    """Run a story on an API server that has these objects."""

    async def main() -> None:
        api = FakeApi()
        put(api, *objects)
        await act(api)

    run(main())


def pair(name: str, size_gib: int, replicas: int = 1, **spec: Any) -> list[Object]:
    """A volume and its Replicas, which wait."""
    body = volume(name, size_gib, replicas, **spec)
    return [body, *(replica(body, number) for number in range(1, replicas + 1))]


THREE = [node("n1", d=100), node("n2", d=90), node("n3", d=80)]


def test_waiting_replicas_get_the_disks_of_the_pure_decision() -> None:
    """Node, disk, path, folder and labels in one write each; then silence, though the nodes count them."""
    objects = [*THREE, *pair("a", 20, 2), *pair("b", 30, 3), setting("replica-soft-anti-affinity", "false")]
    shapes = {"Node": LonghornNode, "Volume": LonghornVolume, "Replica": LonghornReplica, "Setting": LonghornSetting}
    typed = [[msgspec.convert(o, shape) for o in objects if o["kind"] == kind] for kind, shape in shapes.items()]
    stored = storage(*typed)
    decision = balance(stored.volumes, stored.disks, stored.policy)
    want = {each.replica: f"{each.node}/{each.disk}" for each in decision.placed}

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        assert len(want) == 5
        assert {name: place(find(api, name)) for name in want} == want
        found = find(api, "b-r1")
        home = found["spec"]["nodeID"]
        assert found["spec"]["diskPath"] == f"/disks/{home}-d"
        assert found["spec"]["dataDirectoryName"] == f"b-{found['metadata']['uid'][:8]}"
        assert found["metadata"]["labels"] == {"longhornnode": home, "longhorndiskuuid": f"uuid-{home}-d"}
        assert len(stage.report()["inFlight"]) == 5
        count(api, "n1", "n2", "n3")
        await stage.quiet()
        assert stage.report()["inFlight"] == []
        assert stage.patches() == 5
        assert len(stage.events("ReplicaScheduled")) == 5
        await stage.stop()

    play(act, *objects)


def test_placements_in_flight_are_charged_until_the_status_shows_them() -> None:
    """Two replicas fit only once: the second waits before and after the node counts the first, and over a restart."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        put(api, *pair("b", 60))
        await stage.quiet()
        assert (place(find(api, "a-r1")), place(find(api, "b-r1"))) == ("n1/d", "")
        await stage.stop()
        again = Stage(api, act=True)
        await again.quiet()
        assert place(find(api, "b-r1")) == ""
        count(api, "n1")
        await again.quiet()
        assert place(find(api, "b-r1")) == ""
        api.remove(LONGHORN_REPLICAS, "a-r1", namespace=NAMESPACE)
        api.remove(LONGHORN_VOLUMES, "a", namespace=NAMESPACE)
        count(api, "n1")
        await again.quiet()
        assert place(find(api, "b-r1")) == "n1/d"
        await again.stop()

    play(act, node("n1", d=100), *pair("a", 60))


def test_node_that_changed_between_decision_and_write_is_not_used() -> None:
    """n1 fills up just before the write: decided anew, n2. The refusal is counted."""

    async def act(api: FakeApi) -> None:
        full = node("n1", d=100)
        full["status"]["diskStatus"]["d"] = disk("n1-d", 10)
        api.before(lambda: put(api, full), method="GET", path="/nodes/n1")
        stage = Stage(api, act=True)
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n2/d"
        assert stage.patches() == 1
        assert stage.keeper.measures.refusals.labels("changed")._value.get() == 1
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_node_that_vanished_or_was_replaced_is_not_used() -> None:
    """n1 is gone at the time of the write; then n2's disk is another one by its UUID, and gets the replica as that."""

    async def act(api: FakeApi) -> None:
        other = node("n2", d=90)
        other["status"]["diskStatus"]["d"]["diskUUID"] = "uuid-n2-other"
        api.before(lambda: api.remove(LONGHORN_NODES, "n1", namespace=NAMESPACE), method="GET", path="/nodes/n1")
        api.before(lambda: put(api, other), method="GET", path="/nodes/n2")
        stage = Stage(api, act=True)
        await stage.quiet()
        assert find(api, "a-r1")["spec"]["diskID"] == "uuid-n2-other"
        assert stage.patches() == 1
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_rival_that_was_faster_keeps_its_node() -> None:
    """Somebody gives the replica a node just before our write: refused by the version, and left alone."""

    async def act(api: FakeApi) -> None:
        def rival() -> None:
            found = find(api, "a-r1")
            put(api, {**found, "spec": {**found["spec"], "nodeID": "n3", "diskID": "uuid-n3-d"}})

        api.before(rival, method="PATCH", path="/replicas/a-r1")
        stage = Stage(api, act=True)
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n3/d"
        assert stage.patches() == 1
        assert stage.keeper.measures.refusals.labels("conflict")._value.get() == 1
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_harmless_edit_in_between_leads_to_a_second_try() -> None:
    """An annotation by somebody else: the version differs, so it is decided anew and then written."""

    async def act(api: FakeApi) -> None:
        def edit() -> None:
            found = find(api, "a-r1")
            put(api, {**found, "metadata": {**found["metadata"], "annotations": {"a": "b"}}})

        api.before(edit, method="PATCH", path="/replicas/a-r1")
        stage = Stage(api, act=True)
        await stage.quiet()
        assert (place(find(api, "a-r1")), stage.patches()) == ("n1/d", 2)
        assert find(api, "a-r1")["metadata"]["annotations"] == {"a": "b"}
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_replica_that_is_deleted_while_its_write_fails_is_not_remembered() -> None:
    """There is nothing to be tried again; one made anew under its name has no failure of its own."""

    async def act(api: FakeApi) -> None:
        def delete() -> None:
            api.remove(LONGHORN_REPLICAS, "a-r1", namespace=NAMESPACE)

        api.before(delete, method="PATCH", path="/replicas/a-r1")
        stage = Stage(api, act=True)
        write = stage.keeper.writer._write

        async def slowly(placement: Any) -> Any:
            try:
                return await write(placement)
            except ApiError as error:
                await asyncio.sleep(1)
                raise ApiError(500, "InternalError", "it is not known what became of it") from error

        stage.keeper.writer._write = slowly  # type: ignore[method-assign]
        await stage.quiet()
        assert stage.patches() == 1
        assert not stage.keeper._retries._failures
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_write_whose_answer_is_lost_is_not_made_twice_elsewhere() -> None:
    """It was stored; the repetition conflicts, and the watch shows why."""

    async def act(api: FakeApi) -> None:
        api.cut(method="PATCH", path="/replicas/a-r1", after=True)
        stage = Stage(api, act=True)
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n1/d"
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


@pytest.mark.parametrize("options", [{}, {"act": True, "shadow": True}])
def test_without_act_and_in_shadow_no_replica_is_written(options: dict[str, bool]) -> None:
    """It says where the replica could go; in shadow it only reports."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, **options)
        await stage.quiet()
        writes = {path.rsplit("/", 1)[1] for method, path in api.calls if method not in ("GET", "WATCH")}
        assert writes == (set() if options else {"events"})
        assert stage.report()["placeable"] == [{"volume": "a", "replica": "a-r1", "node": "n1", "disk": "d"}]
        assert len(stage.events("ReplicaPlaceable")) == (0 if options else 1)
        assert stage.report()["mode"] == ("shadow" if options else "advise")
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_longhorn_has_its_time_before_a_volume_is_told() -> None:
    """A replica that Longhorn places within seconds is no news."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api)
        await stage.quiet(10)
        found = find(api, "a-r1")
        put(api, {**found, "spec": {**found["spec"], "nodeID": "n3", "diskID": "uuid-n3-d"}})
        await stage.quiet()
        assert stage.events("ReplicaPlaceable") == []
        await stage.stop()

    play(act, *THREE, *pair("a", 50))


def test_volume_is_told_why_and_not_again_while_nothing_changed() -> None:
    """Once for each set of reasons; bytes that come and go are no reason to speak; placed in the end."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        notes = stage.events("ReplicaUnscheduled")
        assert notes == [
            "1 of 1 storage replicas has no disk; of 3 disks 3 InsufficientUsable (n1/d, n2/d, n3/d); n1/d comes "
            "nearest and lacks 50Gi; what would help: one more disk, or replicas that move away or go"
        ]
        for usable in (99, 98, 97):
            put(api, node("n1", d=usable))
            await stage.quiet()
        assert stage.events("ReplicaUnscheduled") == notes
        put(api, node("n3", d=80, spec={"allowScheduling": False, "disks": THREE[2]["spec"]["disks"]}))
        await stage.quiet()
        assert len(stage.events("ReplicaUnscheduled")) == 2
        assert stage.keeper.measures.unscheduled._value.get() == 1
        put(api, node("n4", d=200))
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n4/d"
        assert stage.report()["unscheduled"] == []
        await stage.stop()

    play(act, *THREE, *pair("a", 150))


def test_volume_without_replica_objects_is_told_why_too() -> None:
    """Longhorn makes no Replica where it finds no disk; the volume lacks it all the same."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        lacking = stage.report()["unscheduled"]
        assert [(each["volume"], each["unplaced"], each["reason"]) for each in lacking] == [("a", 2, "NoDisk")]
        assert "NodeAntiAffinity" not in lacking[0]["note"]
        assert stage.patches() == 0
        await stage.stop()

    play(act, *THREE, volume("a", 150, 2))


def test_moves_worth_making_are_told_once_and_reported() -> None:
    """n1 is nearly full: the volume is told of the move; the same advice is not repeated."""
    body = volume("a", 30)
    body["status"] = {"robustness": "healthy"}
    sitting = replica(body, 1, "n1/d")
    low = counted(node("n1", d=60), [sitting])

    async def act(api: FakeApi) -> None:
        stage = Stage(api)
        await stage.quiet()
        report = stage.report()
        assert [(each["replica"], each["to"]["node"]) for each in report["moves"]] == [("a-r1", "n2")]
        assert report["imbalance"]["nodes"]["before"] > report["imbalance"]["nodes"]["after"]
        put(api, setting("some-other", "x"))
        await stage.quiet()
        assert len(stage.events("MoveAdvised")) == 1
        assert stage.keeper.measures.moves._value.get() == 1
        await stage.stop()

    play(act, low, node("n2", d=100), body, sitting)


def test_advice_is_not_made_anew_before_it_is_due() -> None:
    """A change soon after the last advice waits for its time; then it is looked at."""
    body = volume("a", 30)
    body["status"] = {"robustness": "healthy"}
    sitting = replica(body, 1, "n1/d")

    async def act(api: FakeApi) -> None:
        stage = Stage(api, advise_seconds=600)
        await stage.quiet()
        assert stage.report()["moves"] == []
        put(api, counted(node("n1", d=60), [sitting]))
        await stage.quiet()
        assert stage.report()["moves"] == []
        await stage.quiet(600)
        assert [each["replica"] for each in stage.report()["moves"]] == ["a-r1"]
        await stage.stop()

    play(act, counted(node("n1", d=100), [sitting]), node("n2", d=100), body, sitting)


def test_only_the_leader_writes_and_speaks() -> None:
    """A follower reports; once it leads, it acts."""
    leading = [False]

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True, leads=lambda: leading[0])
        await stage.quiet()
        assert (stage.patches(), stage.events("ReplicaUnscheduled")) == (0, [])
        assert len(stage.report()["placeable"]) == 1
        leading[0] = True
        stage.keeper.nudge()
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n1/d"
        assert len(stage.events("ReplicaUnscheduled")) == 1
        assert len(stage.events("MoveAdvised")) == 1
        await stage.stop()

    uneven = volume("uneven", 60)
    sitting = replica(uneven, 1, "n4/d")
    uneven_node = counted(node("n4", d=80), [sitting])
    play(act, *THREE, uneven_node, uneven, sitting, *pair("a", 10), *pair("b", 150))


def test_end_finishes_the_write_that_has_begun() -> None:
    """Cancelled while the patch is on its way: it is stored, and nothing new begins."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet(1)
        api.faults.seconds = 5
        put(api, *pair("a", 50))
        # The look, then 5 seconds for the node; the patch is on its way now.
        await stage.quiet(8)
        assert (stage.patches(), place(find(api, "a-r1"))) == (1, "")
        await stage.stop()
        assert place(find(api, "a-r1")) == "n1/d"

    play(act, *THREE)


def test_replicas_bound_to_nodes_and_free_ones_of_one_volume_are_all_placed() -> None:
    """One must go to n3; the other follows in the next look and keeps apart from it."""
    body = volume("a", 50, 2)

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        assert (place(find(api, "a-r1")), place(find(api, "a-r2"))) == ("n3/d", "n1/d")
        await stage.stop()

    play(act, *THREE, body, replica(body, 1, hardNodeAffinity="n3"), replica(body, 2))


def test_replicas_with_a_backing_image_are_left_to_longhorn() -> None:
    """Not placed, and the report says so."""
    body = volume("a", 50)

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        assert place(find(api, "a-r1")) == ""
        assert [each["reason"] for each in stage.report()["unscheduled"]] == ["LeftToLonghorn"]
        await stage.stop()

    play(act, *THREE, body, replica(body, 1, backingImage="ubuntu"))


def test_bad_objects_are_reported_while_the_rest_goes_on() -> None:
    """A size that is no number, a vanished volume or disk, a disk of no capacity, a setting without meaning or text.

    The last cannot be read at all and counts beside those that can.
    """
    broken, gone = volume("broken", 5), volume("gone", 5)
    broken["spec"]["size"] = "many"
    lost = volume("lost", 5)
    empty = node("n4", d=100)
    empty["status"]["diskStatus"]["d"] = disk("n4-d", 0)
    objects = [
        *[broken, replica(broken, 1), replica(gone, 1), lost, replica(lost, 1, "n1/x"), empty],
        setting("replica-soft-anti-affinity", "perhaps"),
        {**setting("replica-auto-balance", ""), "value": 7},
    ]

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        assert place(find(api, "a-r1")) == "n1/d"
        report = stage.report()
        assert sorted(each["path"] for each in report["errors"]) == [
            "Replica gone-r1",
            "Setting replica-soft-anti-affinity",
            "Volume broken: spec.size",
        ]
        assert stage.keeper.measures.errors._value.get() == 3 + 1
        assert stage.patches() == 1
        api.compact()
        api.end_watches()
        await stage.quiet()
        assert stage.keeper.measures.errors._value.get() == 3 + 1
        put(api, setting("replica-auto-balance", ""))
        await stage.quiet()
        assert stage.keeper.measures.errors._value.get() == 3
        await stage.stop()

    play(act, *THREE, *objects, *pair("a", 50))


def test_kinds_that_are_installed_later_are_picked_up() -> None:
    """Ready without Longhorn, and at work once it is there."""

    async def main() -> None:
        api = FakeApi(served=[EVENTS])
        stage = Stage(api, act=True)
        await stage.quiet()
        assert stage.keeper.synced
        assert len(stage.report()["notServed"]) == 4
        put(api, *THREE, *pair("a", 50))
        for resource in KINDS.values():
            api.serve(resource)
        await stage.quiet()
        assert stage.report()["notServed"] == []
        assert place(find(api, "a-r1")) == "n1/d"
        await stage.stop()

    run(main())


def test_one_look_reports_what_cannot_be_read() -> None:
    """`--once` names the object; the rest is there."""

    async def act(api: FakeApi) -> None:
        report = await look(Client(api), StorageOptions(), 0.0)
        record = report.record()
        assert [each["path"] for each in record["errors"]] == ["Node odd"]
        assert record["nodes"] == 3
        assert not report.lacking

    odd = node("odd", d=1)
    odd["spec"]["allowScheduling"] = "perhaps"
    play(act, *THREE, odd)


def test_one_look_tells_kinds_that_are_not_served_and_ends_where_it_may_not_read() -> None:
    """A kind the server does not know is missing in the report; a refusal is an error, not an empty cluster."""

    async def act(api: FakeApi) -> None:
        api.fail(404, method="GET", path="settings", reason="NotFound")
        assert (await look(Client(api), StorageOptions(), 0.0)).missing == ("settings.longhorn.io",)
        api.fail(403, method="GET", path="settings", reason="Forbidden")
        with pytest.raises(ApiError):
            await look(Client(api), StorageOptions(), 0.0)

    play(act, *THREE)


def test_wait_for_a_failed_replica_comes_to_an_end() -> None:
    """Degraded a moment ago: the failed one may come back; when the time is over, the new one is placed."""
    body = volume("a", 50, 2)
    body["status"] = {"robustness": "degraded", "lastDegradedAt": "2023-11-14T22:13:19Z"}
    failed = replica(body, 1, "n1/d", failedAt="2023-11-14T22:13:19Z")

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        loop, started = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        stage.keeper._wall = lambda: 1_700_000_000.0 + loop.time() - started
        await stage.quiet(300)
        assert place(find(api, "a-r2")) == ""
        assert stage.report()["unscheduled"][0]["reason"] == "AwaitingReuse"
        await stage.quiet(400)
        assert place(find(api, "a-r2")) == "n2/d"
        await stage.stop()

    play(act, *THREE, body, failed, replica(body, 2))


def test_usable_bytes_of_a_disk_are_never_passed_by_many_at_once() -> None:
    """Forty volumes of three on five nodes: apart, within the room, each written once; what is left is told."""
    objects = [node(f"n{row}", d=100, e=50) for row in range(5)]
    volumes = [each for row in range(40) for each in pair(f"v{row}", 10 + row % 3, 3)]

    async def act(api: FakeApi) -> None:
        stage = Stage(api, act=True)
        await stage.quiet()
        replicas = listed(api, LONGHORN_REPLICAS)
        placed = [each for each in replicas if place(each)]
        for name in {each["spec"]["volumeName"] for each in placed}:
            own = [each["spec"]["nodeID"] for each in placed if each["spec"]["volumeName"] == name]
            assert len(own) == len(set(own))
        used: dict[str, int] = {}
        for each in placed:
            used[place(each)] = used.get(place(each), 0) + int(each["spec"]["volumeSize"])
        assert all(used[where] <= (100 if where.endswith("/d") else 50) * GIB for where in used)
        assert stage.patches() == len(placed)
        unscheduled = sum(each["unplaced"] for each in stage.report()["unscheduled"])
        assert len(placed) + unscheduled == 120
        await stage.stop()

    play(act, *objects, *volumes)


def _node_reads(api: FakeApi) -> int:
    return sum(method == "GET" and "/nodes/n" in path for method, path in api.calls)


def test_placements_on_one_node_that_go_together_share_one_read_of_it() -> None:
    """Ten replicas, two nodes, and two reads of nodes after the first lists; the same place twice is read again."""
    objects = [node("n1", d=100), node("n2", d=100)]

    async def act(api: FakeApi) -> None:
        put(api, *(each for row in range(10) for each in pair(f"v{row}", 5)))
        api.faults.seconds = 0.01
        stage = Stage(api, act=True)
        await stage.quiet()
        assert _node_reads(api) == 2
        put(api, *pair("late", 5))
        await stage.quiet()
        assert _node_reads(api) == 3
        assert stage.patches() == 11
        await stage.stop()

    play(act, *objects)


def test_metric_of_the_lead_follows_it_also_where_nothing_changes() -> None:
    """Else two instances would tell that they lead, or one where none does."""

    async def act(api: FakeApi) -> None:
        leading = [True]
        stage = Stage(api, leads=lambda: leading[0])
        await stage.quiet()
        told = stage.keeper.measures.registry.get_sample_value
        assert told("fairlead_storage_leader") == 1
        leading[0] = False
        await stage.quiet()
        assert told("fairlead_storage_leader") == 0
        await stage.stop()

    play(act)
