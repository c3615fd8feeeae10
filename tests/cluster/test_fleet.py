"""The fleet scheduler on a real API server, with definitions that carry Karmada's group, kinds and fields."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from tests.cluster.karmada import (
    CLUSTERS,
    FLEET_BINDINGS,
    POLICIES,
    Bindings,
    Writes,
    binding,
    cluster,
    condition,
    counts,
    define,
    fleet,
    fleet_binding,
    static,
)

PROOF = Path(__file__).parents[2] / "docs" / "proof"
RESULT = "fairlead.io/last-schedule-result"
APPLIED = "policy.karmada.io/applied-placement"


@pytest.fixture
def bindings(api: Api, namespace: str) -> Iterator[Bindings]:
    """A namespace with bindings, and five clusters whose label `pool` is its name."""
    define(api, "karmada.yaml")
    names = [f"{namespace}-m{number}" for number in range(1, 6)]
    api.create_many(CLUSTERS, [cluster(name, {"pool": namespace}) for name in names])
    yield Bindings(api, namespace)
    for name in names:
        api.delete(f"{CLUSTERS}/{name}")


def equal(namespace: str, clusters: int = 4) -> dict[str, int]:
    """Weight 1 for the first clusters; the others have none."""
    return {f"{namespace}-m{number}": 1 for number in range(1, clusters + 1)}


def settle_many(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, bindings: Bindings, many: int
) -> tuple[Counter[int], Counter[int], int]:
    """Many bindings settle, then all change at once while the server restarts.

    Gives how many bindings had how many writes of the spec and others, and how many lost a replica in any cluster.
    """
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"b{number}", 6, placement) for number in range(many)))
    with fleet(kubeconfig) as process:
        bindings.settled(seconds=600)
        before = bindings.clusters()
        writes = Writes(control_plane, bindings, namespace)
        for number in range(many):
            bindings.patch(f"b{number}", {"spec": {"replicas": 7}})
            if number == many // 2:
                control_plane.restart_apiserver()
        bindings.settled(seconds=600)
    assert process.returncode == 0
    after = bindings.clusters()
    assert all(sum(each.values()) == 7 for each in after.values())
    moved = sum(any(after[name][at] < had for at, had in each.items()) for name, each in before.items())
    return (*writes.since(), moved)


def kill_midway(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, bindings: Bindings, many: int
) -> tuple[Counter[int], Counter[int], int, int]:
    """All bindings change back to 6 replicas, and the process is killed when half of them have.

    Gives the writes as `settle_many` does, how many bindings got more in any cluster, and, after yet another
    restart, how many were written to.
    """
    before = bindings.clusters()
    writes = Writes(control_plane, bindings, namespace)
    with fleet(kubeconfig) as process:
        for number in range(many):
            bindings.patch(f"b{number}", {"spec": {"replicas": 6}})
            if number == many // 2:
                process.kill()
    with fleet(kubeconfig):
        bindings.settled(seconds=600)
    after = bindings.clusters()
    assert all(sum(each.values()) == 6 for each in after.values())
    grown = sum(any(count > before[name].get(at, 0) for at, count in each.items()) for name, each in after.items())
    counted = writes.since()
    versions = bindings.versions()
    bindings.create(binding("later", 4, static(namespace, equal(namespace))))
    with fleet(kubeconfig):
        bindings.settled(seconds=600)
    found = bindings.versions()
    return (*counted, grown, sum(found[name] != version for name, version in versions.items()))


def test_bindings_changed_at_once_settle_with_two_writes_each(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, bindings: Bindings
) -> None:
    """100 bindings from 6 to 7 replicas, the server restarted midway: holders keep theirs, two writes each."""
    spec, others, moved = settle_many(control_plane, kubeconfig, namespace, bindings, 100)
    # The change by the test itself is a write of the spec too.
    assert (spec, others) == ({2: 100}, {1: 100})
    assert moved == 0


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_thousand_bindings_changed_at_once(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, bindings: Bindings
) -> None:
    """The same with 1,000 bindings, then a kill in the middle of another change; the result is written down."""
    began = datetime.now(UTC)
    spec, others, moved = settle_many(control_plane, kubeconfig, namespace, bindings, 1000)
    seconds = (datetime.now(UTC) - began).total_seconds()
    killed_spec, killed_others, grown, again = kill_midway(control_plane, kubeconfig, namespace, bindings, 1000)
    lines = [
        "# Many bindings changed at once",
        "",
        f"{began:%Y-%m-%d}, one shared machine of two cores. 1,000 bindings over four equal clusters. Writes are those",
        "that etcd stored after the change, without the change by the test itself.",
        "",
        "| | writes of the spec | writes of the status | moved | seconds |",
        "|---|---|---|---|---|",
        f"| all from 6 to 7 replicas, the API server restarted midway | {told(spec, less=1)} | {told(others)}"
        f" | {moved} lost a replica in any cluster | {seconds:.0f}, with their creation |",
        f"| all from 7 to 6, the process killed midway and started again | {told(killed_spec, less=1)}"
        f" | {told(killed_others)} | {grown} got a replica in any cluster | |",
        f"| stopped and started once more | written to: {again} | | 0 | |",
        "",
    ]
    PROOF.mkdir(parents=True, exist_ok=True)
    (PROOF / f"{began:%Y-%m-%d}-fleet.md").write_text("\n".join(lines))
    assert (spec, others) == (killed_spec, killed_others) == ({2: 1000}, {1: 1000})
    assert (moved, grown, again) == (0, 0, 0)


def told(writes: Counter[int], *, less: int = 0) -> str:
    """`1 on 998 bindings, 2 on 2 bindings`."""
    return ", ".join(f"{count - less} on {bindings} bindings" for count, bindings in sorted(writes.items()))


def test_killed_and_restarted_moves_nothing_and_labels_cause_no_write(
    kubeconfig: Path, namespace: str, bindings: Bindings
) -> None:
    """SIGKILL, restart, a label edit, more room: not one write."""
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"b{number}", 6, placement) for number in range(20)))
    with fleet(kubeconfig) as process:
        bindings.settled()
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    before, clusters = bindings.versions(), bindings.clusters()
    with fleet(kubeconfig):
        bindings.create(binding("later", 4, placement))
        bindings.settled()
        assert {name: bindings.versions()[name] for name in before} == before
        bindings.patch("b0", {"metadata": {"labels": {"run": "1"}}})
        edited = bindings.versions()
        bindings.patch("later", {"spec": {"replicas": 8}})
        bindings.settled()
        assert bindings.versions()["b0"] == edited["b0"]
    assert {name: bindings.clusters()[name] for name in clusters} == clusters


def test_binding_is_told_what_became_of_it(api: Api, kubeconfig: Path, namespace: str, bindings: Bindings) -> None:
    """Success with the placement applied; a bad one has a reason; suspended and foreign ones are left alone."""
    placement = static(namespace, equal(namespace))
    nowhere = {"clusterAffinity": {"clusterNames": ["nowhere"]}}
    bindings.create(
        binding("good", 6, placement),
        binding("unplaced", 6, None),
        binding("nowhere", 6, nowhere),
        binding("heavy", 6, static(namespace, {f"{namespace}-m1": 2**62})),
        binding("suspended", 6, placement, suspension={"scheduling": True}),
        binding("foreign", 6, placement, schedulerName="default-scheduler"),
        binding("vanished", 6, placement, clusters=[{"name": "gone", "replicas": 6}]),
    )
    told = {"good", "unplaced", "nowhere", "heavy", "vanished"}
    with fleet(kubeconfig):
        api.wait("all are told", lambda: {e["metadata"]["name"] for e in bindings.all() if condition(e)} == told)
    reasons = {name: condition(bindings.get(name)).get("reason") for name in told}
    assert reasons == {
        "good": "Success",
        "unplaced": "SchedulerError",
        "nowhere": "NoClusterFit",
        "heavy": "SchedulerError",
        "vanished": "Success",
    }
    good = bindings.get("good")
    assert sum(counts(good).values()) == 6
    assert condition(good)["message"] == "Binding has been scheduled successfully."
    assert json.loads(good["metadata"]["annotations"][APPLIED]) == placement
    assert "spec.placement" in condition(bindings.get("unplaced"))["message"]
    stored = json.loads(good["metadata"]["annotations"][RESULT])
    assert (stored["replicas"], stored["mode"]) == (6, "static")
    assert {each["name"]: each["replicas"] for each in stored["clusters"] if each["replicas"]} == counts(good)
    assert "gone" not in counts(bindings.get("vanished"))
    assert counts(bindings.get("suspended")) == counts(bindings.get("foreign")) == {}


def test_binding_of_the_whole_fleet_keeps_its_result_in_the_status(
    api: Api, kubeconfig: Path, namespace: str, bindings: Bindings
) -> None:
    """Where the definition has the field, the last result is there and not in an annotation."""
    everywhere = {"clusterAffinity": {"labelSelector": {"matchLabels": {"pool": namespace}}}}
    api.create(FLEET_BINDINGS, fleet_binding(namespace, 0, everywhere))
    path = f"{FLEET_BINDINGS}/{namespace}"
    try:
        with fleet(kubeconfig):
            api.wait("it is scheduled", lambda: condition(api.get(path)))
        found = api.get(path)
        assert counts(found) == {f"{namespace}-m{number}": 0 for number in range(1, 6)}
        assert found["status"]["lastScheduleResult"]["mode"] == "duplicated"
        assert RESULT not in found["metadata"]["annotations"]
    finally:
        api.delete(path)


def test_changes_of_what_matters_are_followed(api: Api, kubeconfig: Path, namespace: str, bindings: Bindings) -> None:
    """Weights, replicas, a policy's knobs, labels, taints and the end of clusters, for both kinds of bindings."""
    first, second, third = (f"{namespace}-m{number}" for number in (1, 2, 3))
    knobs = {"annotations": {"fairlead.io/divide": json.dumps({"clusters": {first: {"max": 3}}})}}
    policy = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy"}
    spec = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "placement": {}}
    api.create(POLICIES, {**policy, "metadata": {"name": namespace}, "spec": spec})
    weights = static(namespace, {first: 2, second: 1})
    bindings.create(binding("one", 6, weights))
    whole = fleet_binding(namespace, 6, weights)
    whole["metadata"]["annotations"] = {"clusterpropagationpolicy.karmada.io/name": namespace}
    api.create(FLEET_BINDINGS, whole)
    both = (f"{bindings.path}/one", f"{FLEET_BINDINGS}/{namespace}")

    def become(what: str, *wanted: dict[str, int]) -> None:
        pairs = list(zip(both, wanted * 2 if len(wanted) == 1 else wanted, strict=True))
        api.wait(what, lambda: all(counts(api.get(path)) == want for path, want in pairs), seconds=180)

    def patch(spec: dict[str, Any]) -> None:
        for path in both:
            api.patch(path, {"spec": spec})

    try:
        with fleet(kubeconfig):
            become("the weights", {first: 4, second: 2})
            patch({"placement": static(namespace, {first: 1, second: 2})})
            become("the new weights", {first: 2, second: 4})
            patch({"replicas": 12})
            become("the new replicas", {first: 4, second: 8})
            api.patch(f"{POLICIES}/{namespace}", {"metadata": knobs})
            become("the knobs of the policy", {first: 4, second: 8}, {first: 3, second: 9})
            api.patch(f"{POLICIES}/{namespace}", {"metadata": {"annotations": {"fairlead.io/divide": None}}})
            become("no knobs any more", {first: 4, second: 8})
            api.patch(f"{CLUSTERS}/{second}", {"metadata": {"labels": {"pool": "other"}}})
            become("the cluster left the pool", {first: 12})
            api.patch(f"{CLUSTERS}/{second}", {"metadata": {"labels": {"pool": namespace}}})
            patch({"replicas": 15})
            become("the cluster came back and counts at the next change", {first: 5, second: 10})
            api.patch(f"{CLUSTERS}/{second}", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
            task = {"fromCluster": second, "producer": "TaintManager", "reason": "TaintUntolerated", "replicas": 10}
            patch({"clusters": [{"name": first, "replicas": 5}], "gracefulEvictionTasks": [task]})
            become("the taint manager evicts", {first: 15})
            patch({"gracefulEvictionTasks": None, "replicas": 12})
            patch({"placement": static(namespace, {first: 1, third: 1})})
            become("another cluster", {first: 6, third: 6})
            api.delete(f"{CLUSTERS}/{third}")
            become("the cluster is gone", {first: 12})
    finally:
        api.create(CLUSTERS, cluster(third, {"pool": namespace}))
        api.delete(both[1])
        api.delete(f"{POLICIES}/{namespace}")
