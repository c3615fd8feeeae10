"""`fairlead split` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.kube.admission.review import patch_of
from fairlead.model.errors import InputError
from tests.tier.pods import review, stored_pod, web, web_pod, workload


def _write(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def _run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["split", *arguments], input=text, standalone_mode=False)


STATES: dict[str, Any] = {
    "a List": {"apiVersion": "v1", "kind": "List", "items": [*web(3, "1"), stored_pod("rs-1", "on-demand")]},
    "an array": [*web(3, "1"), stored_pod("rs-1", "on-demand")],
    "arrays by kind": {
        "deployments": [{key: value for key, value in web(3, "1")[0].items() if key != "kind"}],
        "replicaSets": [web(3, "1")[1]],
        "pods": [stored_pod("rs-1", "on-demand")],
    },
    "YAML documents": "---\n".join(yaml.safe_dump(each) for each in [*web(3, "1"), stored_pod("rs-1", "on-demand")]),
    "typed lists": "---\n".join(
        yaml.safe_dump(each)
        for each in [
            {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [web(3, "1")[0]]},
            {"apiVersion": "apps/v1", "kind": "ReplicaSetList", "items": [web(3, "1")[1]]},
            {"apiVersion": "v1", "kind": "PodList", "items": [stored_pod("rs-1", "on-demand")]},
        ]
    ),
    "with strangers among them": [
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {}},
        {"apiVersion": "example.com/v1", "kind": "Deployment", "spec": "odd"},
        *web(3, "1"),
        stored_pod("rs-1", "on-demand"),
    ],
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_state_is_read_in_every_usual_form(state: Any, tmp_path: Path) -> None:
    """Lists, arrays and documents give the same state: one slot of one is held."""
    result = _run("-f", _write(tmp_path, "r", review(web_pod())), "--state", _write(tmp_path, "s", state), "-o", "json")
    assert result.return_value == 0
    response = json.loads(result.stdout)["response"]
    assert response["auditAnnotations"]["reason"] == "SlotsFull"


@pytest.mark.parametrize(
    "state", ["", "{}", "[]", '{"apiVersion": "v1", "kind": "List", "items": []}', '{"pods": null}']
)
def test_state_may_be_empty(state: str, tmp_path: Path) -> None:
    """Nothing exists: that is an answer too."""
    result = _run("-f", _write(tmp_path, "r", review(web_pod())), "--state", _write(tmp_path, "s", state), "-o", "json")
    assert result.return_value == 0
    assert json.loads(result.stdout)["response"]["auditAnnotations"]["reason"] == "OwnerNotFound"


BAD_STATES: dict[str, Any] = {
    "no kind": {"spec": {}},
    "not an object": [3],
    "wrong type": [workload("Deployment", "web", "u") | {"spec": {"replicas": "many"}}],
}


@pytest.mark.parametrize("state", BAD_STATES.values(), ids=BAD_STATES)
def test_bad_state_is_told_with_its_place(state: Any, tmp_path: Path) -> None:
    """A mistake in the state is bad input."""
    path = _write(tmp_path, "state.json", state)
    result = _run("-f", _write(tmp_path, "r", review(web_pod())), "--state", path)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(path)


def test_many_reviews_are_answered_in_order(tmp_path: Path) -> None:
    """One review a line in, one answer a line out; a bad one does not stop the others."""
    lines = [json.dumps(review(web_pod())), "{}", json.dumps(review(web_pod(), uid="u-3"))]
    state = _write(tmp_path, "s", web(3, "2"))
    result = _run("-f", "-", "--state", state, "-o", "json", text="\n".join(lines))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.return_value == 2
    assert [answers[0]["response"]["uid"], answers[2]["response"]["uid"]] == ["u-1", "u-3"]
    assert "error" in answers[1]


def test_without_a_state_the_owner_is_not_found(tmp_path: Path) -> None:
    """Nothing exists, so the pod is admitted as it is, with a warning; that is an answer."""
    result = _run("-f", _write(tmp_path, "r", review(web_pod())), "-o", "json")
    assert result.return_value == 0
    response = json.loads(result.stdout)["response"]
    assert response["auditAnnotations"]["reason"] == "OwnerNotFound"
    assert response["warnings"]


def test_review_of_a_workload_is_validated(tmp_path: Path) -> None:
    """A Deployment with a bad minimum is refused, and the exit code says that it was answered."""
    bad = review(workload("Deployment", "web", "u", minimum="x"), kind="Deployment")
    result = _run("-f", _write(tmp_path, "r", bad), "-o", "json")
    assert result.return_value == 0
    assert json.loads(result.stdout)["response"]["allowed"] is False


def test_kind_is_taken_from_the_object_where_the_request_is_silent(tmp_path: Path) -> None:
    """A hand-made review may leave the kind to its object."""
    bad = review(workload("StatefulSet", "db", "u", minimum="x"), kind="")
    result = _run("-f", _write(tmp_path, "r", bad), "-o", "json")
    assert json.loads(result.stdout)["response"]["allowed"] is False


CONFIGS: dict[str, Any] = {
    "a configuration": {
        "apiVersion": "fairlead.io/v1alpha1",
        "kind": "Configuration",
        "tier": {"onDemandRequirement": {"key": "spot", "operator": "DoesNotExist"}},
    },
    "its tier section": {"onDemandRequirement": {"key": "spot", "operator": "DoesNotExist"}},
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_configuration_changes_the_rule(config: Any, tmp_path: Path) -> None:
    """The label that tells the tiers apart is a setting."""
    files = [
        _write(tmp_path, name, value) for name, value in [("r", review(web_pod())), ("s", web(3, "1")), ("c", config)]
    ]
    result = _run("-f", files[0], "--state", files[1], "--config", files[2], "-o", "json")
    assert "DoesNotExist" in json.dumps(patch_of(json.loads(result.stdout)))


def test_table_says_what_happens_and_why(tmp_path: Path) -> None:
    """For a person: the verdict in a sentence and the operations of the patch."""
    files = [_write(tmp_path, "r", review(web_pod())), _write(tmp_path, "s", web(3, "1"))]
    result = _run("-f", files[0], "--state", files[1], "-o", "table")
    assert "must run on an on-demand node: takes slot 1 of 1" in result.stdout
    assert "/spec/affinity" in result.stdout
    refused = review(workload("Deployment", "web", "u", minimum="x"), kind="Deployment")
    assert "refused: " in _run("-f", _write(tmp_path, "v", refused), "-o", "table").stdout
    passed = review(workload("Deployment", "web", "u", minimum="1"), kind="Deployment")
    assert _run("-f", _write(tmp_path, "w", passed), "-o", "table").stdout == "allowed\n"


def test_explain_speaks_beside_the_answer(tmp_path: Path) -> None:
    """The sentences go to standard error, so that the answer stays JSON."""
    files = [_write(tmp_path, "r", review(web_pod())), _write(tmp_path, "s", web(3, "1"))]
    result = _run("-f", files[0], "--state", files[1], "-o", "json", "--explain")
    assert json.loads(result.stdout)["response"]["allowed"] is True
    assert "slot 1 of 1" in result.stderr


def test_review_without_a_namespace_finds_the_only_owner_of_that_name(tmp_path: Path) -> None:
    """A hand-made review may leave the namespace out; where two workloads share the name, neither is taken."""
    pod = web_pod()
    del pod["metadata"]["namespace"]
    asked = review(pod, namespace=None)
    one, two = web(3, "1"), web(3, "1")
    for each in two:
        each["metadata"]["namespace"] = "other"
    reasons = []
    for state in (one, one + two):
        files = [_write(tmp_path, "r", asked), _write(tmp_path, "s", state)]
        result = _run("-f", files[0], "--state", files[1], "-o", "json")
        reasons.append(json.loads(result.stdout)["response"]["auditAnnotations"]["reason"])
    assert reasons == ["SlotGranted", "OwnerNotFound"]
