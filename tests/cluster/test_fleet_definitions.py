"""The fleet scheduler with Karmada's definitions as Karmada ships them, where they lie beside the checkout."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.cluster.karmada import (
    FLEET_BINDINGS,
    Bindings,
    binding,
    condition,
    counts,
    defined_by,
    fleet,
    fleet_binding,
    observed,
    static,
)
from tests.cluster.test_fleet import RESULT, bindings, equal

__all__ = ["bindings"]

SHIPPED = Path(__file__).parents[2].parent / "shared" / "crds"


@pytest.fixture
def as_shipped(control_plane: ControlPlane, bindings: Bindings) -> Iterator[None]:
    """Karmada's own definitions of policies and bindings in the place of ours."""
    files = sorted(SHIPPED.glob("*.karmada.io_*.yaml"))
    if not files:
        pytest.skip(f"no definitions of Karmada in {SHIPPED}: the project's own stand for them")
    with defined_by(control_plane.api, [yaml.safe_load(file.read_text()) for file in files]):
        yield


def refused(bindings: Bindings, placement: dict[str, Any]) -> bool:
    """Whether the server refuses a weight of zero; asked without storing anything."""
    body = {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", **binding("zero", 6, placement)}
    try:
        bindings.api.request("POST", bindings.path, body, query={"dryRun": "All"})
    except ApiError as error:
        return "should be greater than or equal to 1" in error.message
    return False


def test_main_flow_with_the_definitions_karmada_ships(
    api: Api, kubeconfig: Path, namespace: str, bindings: Bindings, as_shipped: None
) -> None:
    """Both kinds are scheduled, scaled and kept; every field that is written passes their validation."""
    placement = static(namespace, equal(namespace))
    # A definition that replaces another is not in force at once.
    api.wait("their validation", lambda: refused(bindings, static(namespace, {f"{namespace}-m1": 0})))
    groups = [{"affinityName": name, "clusterNames": [at]} for name, at in (("a", "gone"), ("b", f"{namespace}-m5"))]
    bindings.create(
        binding("web", 6, placement),
        binding("grouped", 2, {"clusterAffinities": groups}),
        binding("bad", 6, None),
        binding("nowhere", 6, {"clusterAffinity": {"clusterNames": ["nowhere"]}}),
    )
    api.create(FLEET_BINDINGS, fleet_binding(namespace, 6, placement))
    path = f"{FLEET_BINDINGS}/{namespace}"
    try:
        with fleet(kubeconfig):
            bindings.settled(seconds=180)
            api.wait("the binding of the fleet", lambda: observed(api.get(path)), seconds=180)
            before = {**bindings.clusters(), "": counts(api.get(path))}
            for name in ("web", "grouped"):
                bindings.patch(name, {"spec": {"replicas": 7}})
            api.patch(path, {"spec": {"replicas": 7}})
            bindings.settled(seconds=180)
            api.wait("the binding of the fleet", lambda: observed(api.get(path)), seconds=180)
        whole = api.get(path)
        for found, had in ((bindings.get("web"), before["web"]), (whole, before[""])):
            assert sum(had.values()) == 6
            assert sum(counts(found).values()) == 7
            assert all(counts(found)[name] >= count for name, count in had.items())
            # These definitions have no field for the last result, and drop what they do not know.
            assert stored(found)["replicas"] == 7
            assert "lastScheduleResult" not in found["status"]
            assert found["status"]["lastScheduledTime"]
        grouped = bindings.get("grouped")
        assert counts(grouped) == {f"{namespace}-m5": 7}
        assert grouped["status"]["schedulerObservingAffinityName"] == "b"
        assert condition(bindings.get("bad"))["reason"] == "SchedulerError"
        assert condition(bindings.get("nowhere"))["reason"] == "NoClusterFit"
        versions = bindings.versions()
        bindings.create(binding("later", 4, placement))
        with fleet(kubeconfig):
            bindings.settled(seconds=180)
        assert {name: bindings.versions()[name] for name in versions} == versions
    finally:
        api.delete(path)
        for each in bindings.all():
            api.delete(f"{bindings.path}/{each['metadata']['name']}")


def stored(found: dict[str, Any]) -> dict[str, Any]:
    """The last result in the annotation."""
    result: dict[str, Any] = json.loads(found["metadata"]["annotations"][RESULT])
    return result
