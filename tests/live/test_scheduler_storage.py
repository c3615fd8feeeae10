"""Claims looked up: what a pod's claims demand, from objects as the API server sends them."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.changes import Change, Key
from fairlead.kube.objects.pod import Pod
from fairlead.kube.volumes.claim_cache import ClaimCache
from fairlead.levels.node.constraints import reasons
from fairlead.live.cluster.cache import ClusterView
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.decide import settle
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import ints
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population

RECORDS = Records()
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
HOST = "kubernetes.io/hostname"


def storage(told: Callable[[Key | None], None] = lambda claim: None, **objects: list[dict[str, Any]]) -> ClaimCache:
    """A storage that has seen these objects, by resource."""
    made = ClaimCache(told)
    for resource, sink in made.watched():
        for each in objects.get(resource.plural, ()):
            sink(Change("added", msgspec.convert(each, resource.shape)))
    return made


def claim(name: str, *, size: str = "1Gi", volume: str = "", **more: Any) -> dict[str, Any]:
    """A claim, of the class that waits for a node unless told otherwise."""
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"{name}-1",
            "annotations": more.get("annotations", BOUND if volume else {}),
            **({"ownerReferences": [{"uid": more["owner"], "controller": True}]} if "owner" in more else {}),
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if more.get("leaving") else {}),
        },
        "spec": {
            "accessModes": [more.get("mode", "ReadWriteOnce")],
            "resources": {"requests": {"storage": size}},
            "storageClassName": more.get("storage_class", "late"),
            "volumeName": volume,
        },
    }


def volume(name: str, *, size: str = "1Gi", host: str = "", **more: Any) -> dict[str, Any]:
    """A volume, reachable from one host or from everywhere."""
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [host]}]}
    return {
        "metadata": {"name": name, "labels": more.get("labels", {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": more.get("storage_class", "late"),
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if host else {}),
            **({"claimRef": more["claim"]} if "claim" in more else {}),
            **({"csi": {"driver": "disk.example.com", "volumeHandle": name}} if more.get("csi") else {}),
        },
        "status": {"phase": more.get("phase", "Available")},
    }


def pod(name: str = "p", *claims: str, own: str = "") -> PodRecord:
    """A pod that uses the claims, and one of its own by volume name."""
    volumes: list[dict[str, Any]] = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    if own:
        volumes.append({"name": own, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}})
    return RECORDS.record(
        msgspec.convert(
            {"metadata": {"name": name, "namespace": "shop", "uid": f"{name}-1"}, "spec": {"volumes": volumes}}, Pod
        )
    )


LATE = {
    "metadata": {"name": "late"},
    "provisioner": "disk.example.com",
    "volumeBindingMode": "WaitForFirstConsumer",
}
STATIC = {**LATE, "provisioner": "kubernetes.io/no-provisioner"}
SOON = {"metadata": {"name": "soon"}, "provisioner": "disk.example.com"}


def test_missing_leaving_and_foreign_claims_block() -> None:
    """A claim that is not there, is going, or belongs to another pod."""
    made = storage(storageclasses=[LATE], persistentvolumeclaims=[claim("going", leaving=True), claim("p-own")])
    for user in (pod("p", "none"), pod("p", "going"), pod("p", own="own")):
        assert made.demand(user) == ClaimDemand(blocked=reasons.CLAIM_MISSING)
    mine = storage(storageclasses=[LATE], persistentvolumeclaims=[claim("p-own", owner="p-1")])
    assert mine.demand(pod("p", own="own")).blocked is None


def test_claim_that_does_not_wait_for_a_node_blocks_until_bound() -> None:
    """Immediate binding, an unknown class, a volume named but not yet confirmed."""
    made = storage(
        storageclasses=[LATE, SOON],
        persistentvolumeclaims=[
            claim("soon", storage_class="soon"),
            claim("odd", storage_class="odd"),
            claim("half", volume="v", annotations={}),
            claim("bound", volume="v", storage_class="soon"),
        ],
        persistentvolumes=[volume("v", host="n1")],
    )
    for name in ("soon", "odd", "half"):
        assert made.demand(pod("p", name)).blocked is reasons.CLAIM_UNBOUND
    (terms,) = made.demand(pod("p", "bound")).volumes
    assert terms[0].labels[0].values == ("n1",)


def test_claim_for_one_pod_is_taken() -> None:
    """ReadWriteOncePod: whoever holds it keeps others out, and is not in its own way."""
    made = storage(
        storageclasses=[LATE],
        persistentvolumeclaims=[claim("c", volume="v", mode="ReadWriteOncePod")],
        persistentvolumes=[volume("v")],
    )
    first, second = pod("first", "c"), pod("second", "c")
    made.count(first, "n1")
    assert made.demand(second).blocked is reasons.CLAIM_TAKEN
    assert made.demand(first).blocked is None
    made.uncount(first, "n1")
    assert made.demand(second).blocked is None


def test_open_claim_finds_free_volumes_smallest_first() -> None:
    """Too small, of another class, bound, or promised to another claim: not candidates."""
    made = storage(
        storageclasses=[STATIC],
        persistentvolumeclaims=[claim("c", size="2Gi")],
        persistentvolumes=[
            volume("big", size="9Gi"),
            volume("fit", size="2Gi"),
            volume("small", size="1Gi"),
            volume("other", size="2Gi", storage_class="x"),
            volume("used", size="2Gi", phase="Bound", claim={"namespace": "shop", "name": "d"}),
        ],
    )
    (open_claim,) = made.demand(pod("p", "c")).open
    assert ([each.name for each in open_claim.candidates], open_claim.maker) == (["fit", "big"], None)
    other = pod("q", "d")
    made.promise(other, "d", "n1", "fit")
    (open_claim,) = made.demand(pod("p", "c")).open
    assert [each.name for each in open_claim.candidates] == ["big"]
    made.release(other, "d")
    made.promise(pod("p", "c"), "c", "n1", "fit")
    (open_claim,) = made.demand(pod("p", "c")).open
    assert (open_claim.node, open_claim.candidates) == ("n1", ())


def test_a_released_promise_frees_the_volume_unless_another_claim_has_it() -> None:
    """Given up, a volume is open to others at once; a late release does not take it from the claim that has it now."""
    made = storage(
        storageclasses=[STATIC],
        persistentvolumeclaims=[claim("c"), claim("d"), claim("e")],
        persistentvolumes=[volume("only")],
    )
    first, second = pod("first", "c"), pod("second", "d")
    made.promise(first, "c", "n1", "only")
    made.release(first, "c")
    (open_claim,) = made.demand(pod("p", "e")).open
    assert [each.name for each in open_claim.candidates] == ["only"]
    made.promise(first, "c", "n1", "only")
    made.promise(second, "d", "n2", "only")
    made.release(first, "c")
    (open_claim,) = made.demand(pod("p", "e")).open
    assert open_claim.candidates == ()


def test_volume_made_for_a_claim_excludes_others() -> None:
    """Somebody has tied a volume to the claim by name."""
    made = storage(
        storageclasses=[STATIC],
        persistentvolumeclaims=[claim("c")],
        persistentvolumes=[volume("a"), volume("b", claim={"namespace": "shop", "name": "c"})],
    )
    (open_claim,) = made.demand(pod("p", "c")).open
    assert [each.name for each in open_claim.candidates] == ["b"]


@pytest.mark.parametrize(
    ("size", "uid", "want"),
    [("1Gi", "c-1", ["b"]), ("1Gi", "", ["b"]), ("500Mi", "c-1", ["a"]), ("1Gi", "c-0", ["a"])],
    ids=["made for it", "made for its name", "too small", "made for a claim of the same name that is gone"],
)
def test_a_volume_tied_to_a_claim_serves_it_where_it_is_large_enough_and_meant(
    size: str, uid: str, want: list[str]
) -> None:
    """Otherwise the claim looks among the free ones."""
    tied = volume("b", size=size, claim={"namespace": "shop", "name": "c", "uid": uid})
    made = storage(storageclasses=[STATIC], persistentvolumeclaims=[claim("c")], persistentvolumes=[volume("a"), tied])
    (open_claim,) = made.demand(pod("p", "c")).open
    assert [each.name for each in open_claim.candidates] == want


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"phase": "Available"}, ["v"]),
        ({"phase": "Pending"}, []),
        ({"phase": "Failed"}, []),
        ({"phase": "Available", "claim": {"namespace": "shop", "name": "c"}}, ["v"]),
        ({"phase": "Pending", "claim": {"namespace": "shop", "name": "c"}}, ["v"]),
        ({"phase": "Bound", "claim": {"namespace": "shop", "name": "other"}}, []),
    ],
    ids=["free", "not yet there", "failed", "tied and free", "tied and on its way", "of another claim"],
)
def test_a_free_volume_serves_once_it_is_available_and_a_tied_one_before(
    given: dict[str, Any], want: list[str]
) -> None:
    """The phase of a volume that was made for the claim does not matter."""
    made = storage(
        storageclasses=[STATIC], persistentvolumeclaims=[claim("c")], persistentvolumes=[volume("v", **given)]
    )
    (open_claim,) = made.demand(pod("p", "c")).open
    assert [each.name for each in open_claim.candidates] == want


def test_storage_capacity_counts_where_the_driver_reports_it() -> None:
    """Only topologies with room for the claim; a driver that does not report sets no condition."""
    rooms = [
        {
            "metadata": {"name": name, "namespace": "x"},
            "storageClassName": "late",
            "nodeTopology": {"matchLabels": {"zone": name}},
            "capacity": size,
        }
        for name, size in (("a", "5Gi"), ("b", "1Gi"))
    ]
    known = {"metadata": {"name": "disk.example.com"}, "spec": {"storageCapacity": True}}
    parts = {"storageclasses": [LATE], "persistentvolumeclaims": [claim("c", size="2Gi")]}
    reporting = storage(**parts, csidrivers=[known], csistoragecapacities=rooms)
    (open_claim,) = reporting.demand(pod("p", "c")).open
    assert open_claim.maker is not None
    assert [each.requirements[0].values for each in open_claim.maker.roomy or ()] == [("a",)]
    (open_claim,) = storage(**parts, csistoragecapacities=rooms).demand(pod("p", "c")).open
    assert open_claim.maker is not None
    assert open_claim.maker.roomy is None


def test_attach_limit_counts_volumes_not_pods() -> None:
    """Two volumes on a node that takes two: a third is too many, a second pod on the same volume is not."""
    names = ("a", "b", "c")
    made = storage(
        storageclasses=[LATE],
        persistentvolumeclaims=[claim(name, volume=name) for name in names],
        persistentvolumes=[volume(name, csi=True) for name in names],
        csinodes=[
            {
                "metadata": {"name": "n1"},
                "spec": {"drivers": [{"name": "disk.example.com", "nodeID": "x", "allocatable": {"count": 2}}]},
            }
        ],
    )
    made.count(pod("one", "a", "b"), "n1")
    assert made.demand(pod("two", "c")).crowded == ("n1",)
    assert made.demand(pod("two", "a")).crowded == ()
    made.uncount(pod("one", "a", "b"), "n1")
    assert made.demand(pod("two", "c")).crowded == ()


def test_volume_that_is_still_attached_counts() -> None:
    """Its pod is gone, the driver has not let go yet."""
    made = storage(
        storageclasses=[LATE],
        persistentvolumeclaims=[claim("c", volume="c")],
        persistentvolumes=[volume("c", csi=True), volume("old", csi=True)],
        csinodes=[
            {
                "metadata": {"name": "n1"},
                "spec": {"drivers": [{"name": "disk.example.com", "nodeID": "x", "allocatable": {"count": 1}}]},
            }
        ],
        volumeattachments=[
            {
                "metadata": {"name": "x"},
                "spec": {
                    "attacher": "disk.example.com",
                    "nodeName": "n1",
                    "source": {"persistentVolumeName": "old"},
                },
            }
        ],
    )
    assert made.demand(pod("p", "c")).crowded == ("n1",)


def tell(made: ClaimCache, plural: str, kind: str, thing: dict[str, Any]) -> None:
    """One change of an object."""
    for resource, sink in made.watched():
        if resource.plural == plural:
            sink(Change(kind, msgspec.convert(thing, resource.shape)))  # type: ignore[arg-type]  # one of three words


def test_storage_tells_whom_a_change_may_help() -> None:
    """A claim its own pods, a volume those of its claim, a free volume and everything else all."""
    told: list[Key | None] = []
    made = storage(told.append)
    mine = {"namespace": "shop", "name": "c"}
    for plural, thing in (
        ("persistentvolumeclaims", claim("c")),
        ("persistentvolumes", volume("v", claim=mine)),
        ("persistentvolumes", volume("v")),
        ("persistentvolumes", volume("v")),
        ("persistentvolumes", volume("v", claim=mine)),
        ("storageclasses", LATE),
    ):
        tell(made, plural, "modified", thing)
    tell(made, "persistentvolumes", "deleted", volume("v", claim=mine))
    assert told == [("shop", "c"), ("shop", "c"), None, None, None, None, ("shop", "c")]


NAMES = ("a", "b", "c")
HOLDERS = st.sampled_from(NAMES)
attachments = st.builds(
    lambda name, on, of: {
        "metadata": {"name": name},
        "spec": {"attacher": "disk.example.com", "nodeName": on, "source": {"persistentVolumeName": of}},
    },
    HOLDERS,
    st.sampled_from(["n1", "n2"]),
    HOLDERS,
)
limits = st.builds(
    lambda name, count: {
        "metadata": {"name": name},
        "spec": {"drivers": [{"name": "disk.example.com", "nodeID": "x", "allocatable": {"count": count}}]},
    },
    st.sampled_from(["n1", "n2"]),
    st.integers(0, 2),
)
volumes = st.builds(
    lambda name, size, csi, owner, phase: volume(
        name, size=size, csi=csi, phase=phase, **({"claim": {"namespace": "shop", "name": owner}} if owner else {})
    ),
    HOLDERS,
    st.sampled_from(["1Gi", "2Gi"]),
    st.booleans(),
    st.sampled_from(["", "", *NAMES]),
    st.sampled_from(["Available", "Bound"]),
)
claims = st.builds(lambda name, of: claim(name, volume=of), HOLDERS, st.sampled_from(["", *NAMES]))
classes = st.sampled_from([LATE, STATIC])
changes = st.one_of(
    *(
        st.tuples(st.just(plural), st.sampled_from(["modified", "modified", "deleted"]), objects)
        for plural, objects in (
            ("volumeattachments", attachments),
            ("csinodes", limits),
            ("persistentvolumes", volumes),
            ("persistentvolumeclaims", claims),
            ("storageclasses", classes),
        )
    ),
    st.tuples(st.just("pods"), st.sampled_from(["n1", "n2", ""]), HOLDERS),
)


@given(st.lists(changes, max_size=25))
def test_storage_after_a_storm_is_that_of_a_fresh_list(storm: list[tuple[str, str, Any]]) -> None:
    """What was counted as it came equals what is counted at the end."""
    made, kept, there = ClaimCache(), dict[tuple[str, str], dict[str, Any]](), dict[str, str]()
    for plural, word, thing in storm:
        if plural != "pods":
            tell(made, plural, word, thing)
            kept.pop((plural, thing["metadata"]["name"]), None)
            if word != "deleted":
                kept[plural, thing["metadata"]["name"]] = thing
            continue
        if thing in there:
            made.uncount(pod(thing, thing), there.pop(thing))
        if word:
            made.count(pod(thing, thing), word)
            there[thing] = word
    fresh = ClaimCache()
    for (plural, _), thing in kept.items():
        tell(fresh, plural, "added", thing)
    for name, node in there.items():
        fresh.count(pod(name, name), node)
    for name in NAMES:
        assert made.demand(pod("p", name)) == fresh.demand(pod("p", name))


def test_a_turns_place_is_settled_with_the_volume_of_its_node() -> None:
    """Local volumes on two of three hosts: the pod gets that of its node, and is not settled where there is none."""
    made = storage(
        storageclasses=[STATIC],
        persistentvolumeclaims=[claim("c")],
        persistentvolumes=[volume(f"on-{host}", host=host) for host in ("n0", "n2")],
    )
    names = ("n0", "n1", "n2")
    nodes = node_state([NodeRecord(name=name, allocatable={"pods": 9}, labels={HOST: name}) for name in names])
    view = ClusterView(nodes=nodes, population=Population(), rank=ints([0, 1, 2]))
    outcomes = [settle(view, pod("p", "c"), name, made.demand) for name in names]
    assert [each and each.volumes for each in outcomes] == [{"c": "on-n0"}, None, {"c": "on-n2"}]
