"""Admissions told as scenarios (`scenarios.yaml`), each run through the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from fairlead.cli.split import command
from fairlead.kube.admission.review import patch_of
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED
from tests.tier import pods

SCENARIOS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("scenarios.yaml").read_text("utf-8"))


def _pod(given: dict[str, Any]) -> dict[str, Any]:
    owner = given.get("owner")
    metadata = {key: value for key, value in given.items() if key not in ("owner", "spec")}
    return pods.pod(owner=owner and pods.reference(**owner), spec=given.get("spec"), **metadata)


def _state(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for owner in scenario["owners"]:
        parent = owner.get("controller")
        found.append(
            pods.workload(
                owner["kind"],
                owner["name"],
                owner["uid"],
                replicas=owner.get("replicas"),
                minimum=owner.get("minimum"),
                controller=parent and pods.reference("Deployment", "web", parent),
                first_ordinal=owner.get("firstOrdinal"),
            )
        )
    for each in scenario.get("stored", []):
        found.append(
            pods.stored_pod(
                each["of"],
                each["tier"],
                phase=each.get("phase", "Running"),
                terminating=each.get("terminating", False),
            )
        )
    return found


def _answer(scenario: dict[str, Any], folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The pod before, the pod after, and the whole answer."""
    before = _pod(scenario["pod"])
    more = {"operation": "CREATE", "dryRun": False, "subResource": ""} | scenario.get("request", {})
    files = {
        "review.json": pods.review(before, **more),
        "state.json": {"apiVersion": "v1", "kind": "List", "items": _state(scenario)},
        "config.json": {
            "apiVersion": "fairlead.io/v1alpha1",
            "kind": "Configuration",
            "tier": scenario.get("tier", {}),
        },
    }
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value))
    paths = [str(folder / name) for name in files]
    result = CliRunner().invoke(
        command, ["-f", paths[0], "--state", paths[1], "--config", paths[2], "-o", "json"], standalone_mode=False
    )
    assert result.return_value == 0, result.output
    answer = json.loads(result.stdout)
    return before, pods.patched(before, patch_of(answer)), answer


def _check_after(after: dict[str, Any], want: dict[str, Any]) -> None:
    affinity = pods.node_affinity(after)
    if "required" in want:
        assert want["required"] == affinity[REQUIRED]["nodeSelectorTerms"]
    if "preferred" in want:
        assert want["preferred"] == affinity[PREFERRED]
    if want.get("notRequired"):
        assert REQUIRED not in affinity
    if "nodeSelector" in want:
        assert want["nodeSelector"] == after["spec"]["nodeSelector"]
    for kind in ("labels", "annotations"):
        assert want.get(kind, {}).items() <= after["metadata"].get(kind, {}).items()
    assert not set(want.get("withoutAnnotations", [])) & set(after["metadata"].get("annotations", {}))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[each["case"] for each in SCENARIOS])
def test_admission_scenario_yields_the_wanted_pod(scenario: dict[str, Any], tmp_path: Path) -> None:
    """The answer, the patched pod and the nodes left to it are those of the scenario."""
    before, after, answer = _answer(scenario, tmp_path)
    want, response = scenario["want"], answer["response"]
    assert response["allowed"] is True
    assert response["uid"] == "u-1"
    decided = response["auditAnnotations"]["tier"]
    assert want["tier"] == decided or response["auditAnnotations"]["reason"] == "AlreadyDecided"
    if want.get("patch") == "none":
        assert not {"patch", "patchType"} & response.keys()
    else:
        assert response["patchType"] == "JSONPatch"
    _check_after(after, want.get("after", {}))
    if "nodes" in want:
        assert want["nodes"] == pods.eligible(after)
    if "preferredNodes" in want:
        assert want["preferredNodes"] == pods.most_preferred(after)
    assert set(pods.eligible(after)) <= set(pods.eligible(before))
    assert bool(response.get("warnings")) or not want.get("warns")


def test_scenarios_cover_every_verdict() -> None:
    """The file has cases for all three answers, and for each basis."""
    assert {"on-demand", "spot", "unmanaged"} == {each["want"]["tier"] for each in SCENARIOS}
    assert {"document", "kubernetes", "choice"} == {each["basis"] for each in SCENARIOS}
