"""Whatever numbers and words Longhorn's objects hold, they become a problem, a decision and advice; nothing raises."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.live.storage.cache import Seen
from fairlead.live.storage.decide import StorageRules, advise, outlook

NUMBERS = st.one_of(st.sampled_from([0, 1, -1, 2**62, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1))
WORDS = st.sampled_from(
    ["", "a", "b", "true", "-1", "1e30", "9" * 30, "10Gi", "ignored", "best-effort", "strict-local"]
)
SIZES = st.one_of(WORDS, NUMBERS.map(str), st.integers(1, 100).map(lambda gib: str(gib * 2**30)))


@st.composite
def nodes(draw: Any, name: str) -> LonghornNode:
    disks, status = {}, {}
    for each in draw(st.sets(st.sampled_from(["x", "y"]))):
        disks[each] = {"path": "/d", "allowScheduling": draw(st.booleans()), "storageReserved": draw(NUMBERS)}
        status[each] = {
            "diskUUID": draw(st.sampled_from(["", f"{name}-{each}", "shared"])),
            "storageAvailable": draw(NUMBERS),
            "storageMaximum": draw(NUMBERS),
            "storageScheduled": draw(NUMBERS),
            "scheduledReplica": draw(st.dictionaries(st.sampled_from(["v-0", "w-0"]), NUMBERS, max_size=2)),
        }
    body = {
        "metadata": {"name": name},
        "spec": {"allowScheduling": draw(st.booleans()), "disks": disks},
        "status": {"zone": draw(WORDS), "diskStatus": status},
    }
    return msgspec.convert(body, LonghornNode)


@st.composite
def volumes(draw: Any, name: str) -> LonghornVolume:
    spec = {
        "size": draw(SIZES),
        "numberOfReplicas": draw(st.integers(-1, 4)),
        "dataLocality": draw(WORDS),
        "nodeID": draw(st.sampled_from(["", "n1", "gone"])),
        "replicaSoftAntiAffinity": draw(WORDS),
    }
    status = {"robustness": draw(st.sampled_from(["", "healthy", "degraded"])), "actualSize": draw(NUMBERS)}
    return msgspec.convert({"metadata": {"name": name}, "spec": spec, "status": status}, LonghornVolume)


@st.composite
def replicas(draw: Any, name: str) -> LonghornReplica:
    spec = {
        "volumeName": name.partition("-")[0],
        "volumeSize": draw(SIZES),
        "nodeID": draw(st.sampled_from(["", "n1", "n2", "gone"])),
        "diskID": draw(st.sampled_from(["", "n1-x", "n2-y", "shared", "gone"])),
        "failedAt": draw(st.sampled_from(["", "yesterday"])),
        "evictionRequested": draw(st.booleans()),
        "hardNodeAffinity": draw(st.sampled_from(["", "n1", "gone"])),
    }
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, LonghornReplica)


@given(st.data(), st.booleans())
def test_no_objects_are_too_odd_to_be_decided_on(data: st.DataObject, by_maximum: bool) -> None:
    """Amounts up to the ends of 64 bits, words where numbers should be: every waiting Replica is placed or accounted
    for, no placement names a disk without a UUID, and the advice is no worse than nothing."""
    settings = {
        name: data.draw(WORDS) for name in ("storage-over-provisioning-percentage", "replica-soft-anti-affinity")
    }
    seen = Seen(
        nodes=tuple(data.draw(nodes(name)) for name in ("n1", "n2")),
        volumes=tuple(data.draw(volumes(name)) for name in ("v", "w")),
        replicas=tuple(data.draw(replicas(name)) for name in ("v-0", "v-1", "w-0", "w-1", "lost-0")),
        settings=tuple(
            msgspec.convert({"metadata": {"name": name}, "value": value}, LonghornSetting)
            for name, value in settings.items()
        ),
    )
    rules = StorageRules(by_maximum=by_maximum)
    found = outlook(seen, rules, 0.0)
    assert all(each.uuid and each.node in ("n1", "n2") for each in found.placements)
    asked = sum(outcome.volume.replicas for outcome in found.made.outcomes)
    assert len(found.placements) + found.made.unplaced == asked
    advice = advise(seen, rules, 0.0)
    assert advice.after <= advice.before
