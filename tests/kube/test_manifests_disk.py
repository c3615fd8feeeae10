"""Longhorn objects to disks, volumes and policy: states, settings, what is lacking, what cannot be read."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.longhorn import StorageManifests, storage
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.model.disks import Closed
from fairlead.model.storage import AntiAffinity, Domain, HeldReplica, Locality, Strictness

GIB = 2**30


def node(name: str = "n1", spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> LonghornNode:
    """A node with one ready disk of 100 GiB, changed as told."""
    value = {
        "metadata": {"name": name},
        "spec": {
            "allowScheduling": True,
            "disks": {"d": {"path": "/data", "allowScheduling": True, "storageReserved": 10 * GIB}},
            **(spec or {}),
        },
        "status": {
            "zone": "z",
            "conditions": [{"type": "Ready", "status": "True"}],
            "diskStatus": {"d": seen(name)},
            **(status or {}),
        },
    }
    return msgspec.convert(value, LonghornNode)


def seen(name: str = "n1", **changes: Any) -> dict[str, Any]:
    """The status of its disk."""
    return {
        "diskUUID": f"uuid-{name}",
        "storageAvailable": 80 * GIB,
        "storageMaximum": 100 * GIB,
        "storageScheduled": 20 * GIB,
        **changes,
    }


def volume(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> LonghornVolume:
    """A volume of 5 GiB with two replicas, changed as told."""
    value = {
        "metadata": {"name": "v"},
        "spec": {"size": str(5 * GIB), "numberOfReplicas": 2, **(spec or {})},
        "status": {"robustness": "healthy", **(status or {})},
    }
    return msgspec.convert(value, LonghornVolume)


def replica(name: str, where: str = "", **spec: Any) -> LonghornReplica:
    """A replica of that volume, on a node or waiting."""
    disk = f"uuid-{where}" if where else ""
    value = {"metadata": {"name": name}, "spec": {"volumeName": "v", "nodeID": where, "diskID": disk, **spec}}
    return msgspec.convert(value, LonghornReplica)


def setting(name: str, value: str) -> LonghornSetting:
    """A setting."""
    return msgspec.convert({"metadata": {"name": name}, "value": value}, LonghornSetting)


def read(*objects: Any, **options: Any) -> StorageManifests:
    """The objects, sorted by kind."""
    kinds = (LonghornNode, LonghornVolume, LonghornReplica, LonghornSetting)
    return storage(*([each for each in objects if isinstance(each, kind)] for kind in kinds), **options)


def test_disk_figures_are_read() -> None:
    """usable 80 − 10 − 20, total 100 − 10; by maximum 100 − 10 − 20."""
    found = read(node())
    assert found.disks.usable_bytes.tolist() == [50 * GIB]
    assert found.disks.total_bytes.tolist() == [90 * GIB]
    assert found.disks.free_bytes.tolist() == [70 * GIB]
    assert read(node(), by_maximum=True).disks.usable_bytes.tolist() == [70 * GIB]
    assert (found.paths, found.uuids) == ({"n1/d": "/data"}, {"n1/d": "uuid-n1"})


def test_more_scheduled_than_there_is_leaves_nothing_usable() -> None:
    """Scheduled above the maximum: 0, and what is short is known."""
    found = read(node(status={"diskStatus": {"d": seen(storageScheduled=150 * GIB)}}))
    assert found.disks.usable_bytes.tolist() == [0]
    assert found.disks.short_bytes.tolist() == [80 * GIB]


OFF = {"type": "Schedulable", "status": "False"}
CLOSED: dict[str, tuple[LonghornNode, Closed]] = {
    "all well": (node(), Closed.OPEN),
    "node not ready": (node(status={"conditions": [{"type": "Ready", "status": "Unknown"}]}), Closed.NODE_NOT_READY),
    "node not schedulable": (node(status={"conditions": [OFF]}), Closed.NODE_NOT_READY),
    "node disabled": (node(spec={"allowScheduling": False}), Closed.NODE_DISABLED),
    "node emptied": (node(spec={"evictionRequested": True}), Closed.NODE_EVICTING),
    "disk without status": (node(status={"diskStatus": {}}), Closed.DISK_NOT_READY),
    "disk not schedulable": (node(status={"diskStatus": {"d": seen(conditions=[OFF])}}), Closed.DISK_NOT_READY),
    "disk disabled": (node(spec={"disks": {"d": {}}}), Closed.DISK_DISABLED),
    "disk emptied": (
        node(spec={"disks": {"d": {"allowScheduling": True, "evictionRequested": True}}}),
        Closed.DISK_EVICTING,
    ),
    "maximum 0": (node(status={"diskStatus": {"d": seen(storageMaximum=0)}}), Closed.NO_CAPACITY),
}


@pytest.mark.parametrize(("given", "want"), CLOSED.values(), ids=CLOSED.keys())
def test_state_of_node_and_disk_closes_the_disk(given: LonghornNode, want: Closed) -> None:
    """The first state that closes it."""
    assert read(given).disks.closed.tolist() == [want]


def test_waiting_replicas_are_lacking_and_named() -> None:
    """One replica sits, one waits under its name."""
    found = read(node(), volume(), replica("r2"), replica("r1", "n1")).volumes[0]
    assert (found.replicas, found.waiting) == (1, ("r2",))
    assert found.held == (HeldReplica(name="r1", node="n1", disk="d"),)


def test_volume_without_replica_objects_lacks_all() -> None:
    """A fresh volume whose replicas have not been made yet."""
    assert read(node(), volume()).volumes[0].replicas == 2


def test_replicas_bound_to_a_node_are_placed_by_themselves() -> None:
    """The first kind of waiting replica is asked for; others come when it is placed."""
    found = read(node(), volume(), replica("r1", hardNodeAffinity="n1"), replica("r2")).volumes[0]
    assert (found.only_node, found.waiting, found.replicas) == ("n1", ("r1",), 1)


def test_replicas_that_are_being_deleted_do_not_count() -> None:
    """They neither hold a node nor wait."""
    gone = msgspec.structs.replace(
        replica("r1", "n1"),
        metadata=msgspec.convert(
            {"name": "r1", "deletionTimestamp": "2026-01-01T00:00:00Z"}, type(replica("x").metadata)
        ),
    )
    assert read(node(), volume(), gone).volumes[0].held == ()


def test_failed_and_leaving_replicas_are_told_apart() -> None:
    """Failed with retries left may serve again; a vanished disk is kept by its uuid."""
    held = (
        read(
            node(),
            volume(),
            replica("a", "n1", failedAt="2026-01-01T00:00:00Z"),
            replica("b", "n1", failedAt="2026-01-01T00:00:00Z", rebuildRetryCount=5),
            replica("c", "n1", evictionRequested=True),
            replica("d", "n9"),
        )
        .volumes[0]
        .held
    )
    assert [(each.name, each.failed, each.reusable, each.evicting, each.disk) for each in held] == [
        ("a", True, True, False, "d"),
        ("b", True, False, False, "d"),
        ("c", False, False, True, "d"),
        ("d", False, False, False, "uuid-n9"),
    ]


def test_volume_fields_are_read() -> None:
    """Selectors, engine, locality, topology, what is written, where it is attached."""
    found = read(
        volume(
            {
                "size": 5 * GIB,
                "nodeSelector": ["fast"],
                "diskSelector": ["ssd"],
                "dataEngine": "v2",
                "dataLocality": "best-effort",
                "nodeID": "n1",
                "topologyRequirement": [{"zone": "z"}],
            },
            {"actualSize": 7, "robustness": "degraded"},
        )
    ).volumes[0]
    assert (found.size_bytes, found.written_bytes, found.block, found.healthy) == (5 * GIB, 7, True, False)
    assert (found.node_tags, found.disk_tags) == ({"fast"}, {"ssd"})
    assert (found.locality, found.attached_to, found.topology) == (Locality.PREFER, "n1", (Domain(zone="z"),))


@pytest.mark.parametrize(
    ("now", "since", "want"),
    [
        (1000.0, "1970-01-01T00:10:00Z", True),
        (1200.0, "1970-01-01T00:10:00Z", False),
        (None, "1970-01-01T00:10:00Z", False),
        (1000.0, "", False),
        (1000.0, "yesterday", False),
    ],
)
def test_wait_for_a_failed_replica_ends(now: float | None, since: str, want: bool) -> None:
    """600 seconds after the volume was degraded."""
    given = volume(status={"robustness": "degraded", "lastDegradedAt": since})
    assert read(given, now=now).volumes[0].awaits_reuse is want


def test_defaults_are_those_of_longhorn() -> None:
    """Node hard, zone soft; a hard node makes its disks hard; 100 % and 25 %."""
    policy = read(node()).policy
    assert policy.anti_affinity == AntiAffinity(zone=Strictness.SOFT, node=Strictness.HARD, disk=Strictness.HARD)
    assert (policy.over_percent, policy.minimal_percent) == (100, 25)
    assert policy.empty_node_selector
    assert policy.empty_disk_selector


def test_settings_change_the_policy() -> None:
    """Also in the form with one value for each engine."""
    found = read(
        setting("replica-soft-anti-affinity", "true"),
        setting("storage-over-provisioning-percentage", '{"v1":"150","v2":"100"}'),
        setting("allow-empty-disk-selector-volume", "false"),
        setting("some-other-setting", "x"),
    )
    soft = Strictness.SOFT
    assert found.policy.anti_affinity == AntiAffinity(zone=soft, node=soft, disk=soft)
    assert (found.policy.over_percent, found.policy.empty_disk_selector, found.errors) == (150, False, ())


@pytest.mark.parametrize("value", ["lots", "-1", '{"v1":', "9999999999"])
def test_setting_that_cannot_be_read_is_told_and_the_default_is_used(value: str) -> None:
    """The rest goes on."""
    found = read(setting("storage-over-provisioning-percentage", value))
    assert found.policy.over_percent == 100
    assert [error.path for error in found.errors] == ["Setting storage-over-provisioning-percentage"]


def test_flag_that_cannot_be_read_is_told() -> None:
    """As a number."""
    found = read(setting("replica-soft-anti-affinity", "maybe"))
    assert found.policy.anti_affinity.node is Strictness.HARD
    assert "true or false" in found.errors[0].message


@pytest.mark.parametrize(
    ("own", "want"), [("enabled", "SOFT"), ("disabled", "HARD"), ("ignored", "HARD"), ("", "HARD")]
)
def test_volume_overrides_the_anti_affinity_of_nodes(own: str, want: str) -> None:
    """`ignored` follows the setting."""
    found = read(volume({"replicaSoftAntiAffinity": own})).volumes[0]
    assert found.anti_affinity is not None
    assert found.anti_affinity.node.name == want


@pytest.mark.parametrize("size", ["0", "ten", "-5"])
def test_volume_of_no_size_is_told_and_the_rest_goes_on(size: str) -> None:
    """With its name."""
    found = read(node(), volume({"size": size}))
    assert found.volumes == ()
    assert found.errors[0].path == "Volume v: spec.size"
    assert len(found.disks) == 1


def test_replica_of_a_volume_that_is_not_there_is_told() -> None:
    """With both names."""
    assert [str(error) for error in read(replica("r1", "n1")).errors] == ["Replica r1: its volume 'v' is not there"]


def test_placements_that_the_status_does_not_count_yet_are_charged() -> None:
    """r2 has its disk but the status names r1 only: 5 GiB less; named, or placed elsewhere, it is not charged."""
    known = node(status={"diskStatus": {"d": seen(storageScheduled=5 * GIB, scheduledReplica={"r1": 5 * GIB})}})
    placed = [replica(name, "n1", volumeSize=str(5 * GIB)) for name in ("r1", "r2")]
    found = read(known, volume(), *placed)
    assert (found.disks.usable_bytes.tolist(), found.in_flight) == ([60 * GIB], ("r2",))
    assert found.disks.scheduled_bytes.tolist() == [10 * GIB]
    both = seen(storageScheduled=10 * GIB, scheduledReplica={"r1": 5 * GIB, "r2": 5 * GIB})
    assert read(node(status={"diskStatus": {"d": both}}), volume(), *placed).in_flight == ()
    assert read(known, volume(), placed[0], replica("r2", "n1", volumeSize="5Gi", diskID="other")).in_flight == ()


def test_status_that_names_nobody_tells_nothing_about_who_is_counted() -> None:
    """20 GiB are counted for somebody; the replicas there are may well be among them. With an image it is not so."""
    placed = replica("r1", "n1", volumeSize=str(5 * GIB))
    assert read(node(), volume(), placed).in_flight == ()
    image = seen(scheduledBackingImage={"image": 20 * GIB})
    assert read(node(status={"diskStatus": {"d": image}}), volume(), placed).in_flight == ("r1",)


def test_replica_of_unreadable_size_is_told_and_not_charged() -> None:
    """With its name."""
    found = read(
        node(status={"diskStatus": {"d": seen(storageScheduled=0)}}), volume(), replica("r", "n1", volumeSize="?")
    )
    assert [error.path for error in found.errors] == ["Replica r: spec.volumeSize"]
    assert found.in_flight == ()


def test_what_is_being_deleted_asks_for_nothing() -> None:
    """A volume that goes needs no replicas, a node that goes takes none, a disk without a UUID cannot be named."""
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    leaving = msgspec.structs.replace(volume(), metadata=msgspec.convert({"name": "v", **gone}, ObjectMeta))
    found = read(node(), leaving, replica("r"))
    assert (found.volumes, found.errors) == ((), ())
    left = msgspec.structs.replace(node(), metadata=msgspec.convert({"name": "n1", **gone}, ObjectMeta))
    assert read(left).disks.closed.tolist() == [Closed.NODE_NOT_READY]
    nameless = node(status={"diskStatus": {"d": seen(diskUUID="")}})
    assert read(nameless).disks.closed.tolist() == [Closed.DISK_NOT_READY]


@pytest.mark.parametrize("turn", [1, -1])
def test_disk_that_two_nodes_report_is_that_of_the_replicas_own_node(turn: int) -> None:
    """A disk carried from n1 to n2 is seen on both for a while; the order of the nodes does not matter."""
    carried = node("n2", status={"diskStatus": {"d": seen("n1")}})
    found = read(*[node("n1"), carried][::turn], volume(), replica("r", "n1")).volumes[0]
    assert found.held == (HeldReplica(name="r", node="n1", disk="d"),)
