"""A placement is written without a second check only if nothing that it depends on has changed since it was decided."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.changes import Change, Key
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.live.storage.cache import ReplicaPlacement, StorageCache
from fairlead.live.storage.decide import StorageRules, fits, outlook
from tests.live.longhorn_objects import NAMESPACE, node, replica, setting, volume

NODES = ("n1", "n2", "n3")
VOLUMES = ("a", "b", "c")
RULES = StorageRules()


class Storage:
    """Three nodes of two disks, three volumes of two replicas; every change has a version of its own."""

    def __init__(self) -> None:
        self.volumes: dict[Key, LonghornVolume] = {}
        self.settings: dict[Key, LonghornSetting] = {}
        self.known = StorageCache(self.volumes, self.settings)
        self.version = 0
        for name in NODES:
            self.node(name, d=25, e=15)
        for name in VOLUMES:
            self.volume(name, 10)
            for number in (1, 2):
                self.replica(name, number)

    def _shaped(self, body: dict[str, Any], shape: type[Any]) -> Any:
        self.version += 1
        meta = {"uid": f"uid-{body['metadata']['name']}", **body["metadata"], "resourceVersion": str(self.version)}
        return msgspec.convert({**body, "metadata": meta}, shape)

    def node(self, name: str, *, open_: bool = True, **disks: int) -> None:
        self.known.on_node(
            Change("modified", self._shaped(node(name, spec={"allowScheduling": open_}, **disks), LonghornNode))
        )

    def volume(self, name: str, size: int) -> None:
        found = self._shaped(volume(name, size, 2), LonghornVolume)
        self.volumes[NAMESPACE, name] = found
        self.known.on_volume(Change("modified", found))

    def replica(self, of: str, number: int, where: str = "", **spec: Any) -> None:
        body = replica(volume(of, 10, 2), number, where, **spec)
        self.known.on_replica(Change("modified", self._shaped(body, LonghornReplica)))

    def gone(self, name: str) -> None:
        self.known.on_replica(Change("deleted", self.known.replicas[name]))

    def setting(self, name: str, value: str) -> None:
        found = self.settings[NAMESPACE, name] = self._shaped(setting(name, value), LonghornSetting)
        self.known.on_setting(Change("modified", found))

    def decide(self) -> list[ReplicaPlacement]:
        """What a look at this moment finds, counted from now on."""
        moment = self.known.moment
        found = outlook(self.known.seen(), RULES, 0.0).placements
        for each in found:
            self.known.assume(each, moment)
        return list(found)

    def fits(self, placement: ReplicaPlacement) -> bool:
        return fits(placement, self.known.around(placement), RULES, 0.0)


def test_nothing_has_changed_but_for_what_is_placed_and_written() -> None:
    """Six replicas decided together: the answers to some writes are no change for the others."""
    storage = Storage()
    decided = storage.decide()
    assert len(decided) == 6
    for each in decided:
        assert storage.known.as_decided(each)
        newest = msgspec.structs.replace(
            each.placed(), metadata=msgspec.structs.replace(each.replica.metadata, resource_version="100")
        )
        storage.known.written(newest)
        assert not storage.known.as_decided(each)
        assert not storage.known.on_replica(Change("modified", newest))


def apart(storage: Storage, placement: ReplicaPlacement) -> dict[str, str]:
    """A node, and a volume, that the placement does not depend on."""
    own = placement.replica.spec.volume_name
    used = {each.spec.node_id for each in storage.known.replicas.values() if each.spec.volume_name == own}
    return {"node": next(name for name in NODES if name not in used), "volume": next(v for v in VOLUMES if v != own)}


@pytest.mark.parametrize(
    "what", [*["node", "volume", "replica", "beside", "disk", "sibling", "zone", "setting", "read"]]
)
def test_a_change_of_what_it_depends_on_is_noticed(what: str) -> None:
    """Its node, volume and disk, replicas there, another replica of the volume, the node of that, a setting."""
    storage = Storage()
    decided = storage.decide()
    one = decided[0]
    volume_, other = one.replica.spec.volume_name, apart(storage, one)
    second = next(each for each in decided[1:] if each.replica.spec.volume_name == volume_)
    changes = {
        "node": lambda: storage.node(one.node, d=24, e=15),
        "volume": lambda: storage.volume(volume_, 11),
        "replica": lambda: storage.replica(volume_, 1, f"{other['node']}/d"),
        "beside": lambda: storage.replica(other["volume"], 3, f"{one.node}/{one.disk}"),
        "sibling": lambda: storage.replica(volume_, 3, f"{other['node']}/e"),
        "disk": lambda: storage.replica(other["volume"], 3, nodeID=other["node"], diskID=one.uuid),
        "zone": lambda: storage.node(second.node, d=24, e=15),
        "setting": lambda: storage.setting("replica-soft-anti-affinity", "true"),
        "read": lambda: storage.known.read_again(
            msgspec.structs.replace(storage.known.nodes[one.node], metadata=counted_up(storage, one.node))
        ),
    }
    assert storage.known.as_decided(one)
    changes[what]()
    assert not storage.known.as_decided(one)


def counted_up(storage: Storage, name: str) -> Any:
    """The metadata of a node in a later version."""
    return msgspec.structs.replace(storage.known.nodes[name].metadata, resource_version="1000")


def test_changes_elsewhere_do_not_matter_until_too_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another node and another volume; where what changed is no longer known, everything may have."""
    storage = Storage()
    one = storage.decide()[0]
    other = apart(storage, one)
    storage.node(other["node"], d=3, e=3)
    storage.volume(other["volume"], 12)
    assert storage.known.as_decided(one)
    monkeypatch.setattr("fairlead.live.storage.cache._REMEMBERED", 3)
    for number in range(5):
        storage.volume(f"other-{number}", 1)
    assert not storage.known.as_decided(one)


EVENT = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODES), st.booleans(), st.integers(0, 40)),
    st.tuples(st.just("volume"), st.sampled_from(VOLUMES), st.integers(1, 40)),
    st.tuples(st.just("replica"), st.sampled_from(VOLUMES), st.integers(1, 4), st.sampled_from(["n1/d", "n2/e", ""])),
    st.tuples(st.just("gone"), st.integers(0, 9)),
    st.tuples(
        st.just("setting"), st.sampled_from(["replica-soft-anti-affinity", "storage-minimal-available-percentage"])
    ),
    st.tuples(st.just("undo"), st.integers(0, 9)),
    st.tuples(st.just("decide")),
)


@given(st.lists(EVENT, max_size=10))
def test_what_counts_as_decided_fits_still(events: list[tuple[Any, ...]]) -> None:
    """Whatever others do meanwhile: the full check agrees."""
    storage = Storage()
    decided = {each.name: each for each in storage.decide()}
    for what, *rest in events:
        if what == "node":
            name, open_, usable = rest
            storage.node(name, open_=open_, d=usable, e=15)
        elif what == "volume":
            storage.volume(*rest)
        elif what == "replica":
            storage.replica(*rest)
        elif what == "gone" and storage.known.replicas:
            storage.gone(sorted(storage.known.replicas)[rest[0] % len(storage.known.replicas)])
        elif what == "setting":
            storage.setting(rest[0], "true" if rest[0].endswith("affinity") else "60")
        elif what == "undo" and decided:
            storage.known.undo(decided.pop(sorted(decided)[rest[0] % len(decided)]))
        elif what == "decide":
            decided |= {each.name: each for each in storage.decide()}
        for each in decided.values():
            assert not storage.known.as_decided(each) or storage.fits(each)
