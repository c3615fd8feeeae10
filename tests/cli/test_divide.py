"""`fairlead divide` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError

EVEN = {"workload": {"name": "web", "uid": "u1", "replicas": 6}, "clusters": [{"name": "a"}, {"name": "b"}]}


def _run(problem: Any, *arguments: str) -> Result:
    text = problem if isinstance(problem, str) else json.dumps(problem)
    return CliRunner().invoke(cli, ["divide", "-f", "-", *arguments], input=text, standalone_mode=False)


def _answer(problem: Any) -> dict[str, Any]:
    result = _run(problem, "-o", "json")
    assert result.exception is None, result.exception
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_answer_has_the_fields_of_the_contract() -> None:
    """Placements of every cluster, floors, residual, kept, unplaced, reason, trace."""
    answer = _answer(EVEN)
    assert answer["placements"] == {"a": 3, "b": 3}
    assert answer["floors"] == {"a": 3, "b": 3}
    assert (answer["residual"], answer["kept"], answer["unplaced"], answer["reason"]) == (0, False, 0, None)
    assert answer["trace"]["considered"] == 2


def test_rule_is_a_draw_only_where_something_is_drawn() -> None:
    """Six replicas over two equal clusters leave no remainder; seven do."""
    odd = {**EVEN, "workload": {**EVEN["workload"], "replicas": 7}}
    assert (_answer(EVEN)["rule"], _answer(odd)["rule"]) == ("no remainder", "draw")


def test_defaults_are_weight_1_and_namespace_and_name_as_uid() -> None:
    """The same name draws the same; another namespace is another object."""
    draws = []
    for workload in (
        {"name": "web", "namespace": "shop", "replicas": 1},
        {"name": "x", "uid": "shop/web", "replicas": 1},
        {"name": "web", "namespace": "other", "replicas": 1},
    ):
        answer = _answer({"workload": workload, "clusters": [{"name": "a"}, {"name": "b"}]})
        draws.append(answer["trace"]["draws"][0]["key"])
    assert draws[0] == draws[1] != draws[2]


def test_previous_that_fits_is_kept() -> None:
    """Example 1 on the command line; `mode` and `replicas` of the prior have defaults."""
    previous = {"clusters": [{"name": "a", "replicas": 4}, {"name": "b", "replicas": 3}]}
    problem = {**EVEN, "workload": {"name": "web", "replicas": 7}, "previous": previous}
    answer = _answer(problem)
    assert (answer["placements"], answer["kept"]) == ({"a": 4, "b": 3}, True)
    assert answer["trace"]["kept"] == {"a": 4, "b": 3}


@pytest.mark.parametrize("mode", ["duplicated", "Duplicated", "DynamicWeight", "aggregated"])
def test_previous_of_another_mode_is_drawn_anew(mode: str) -> None:
    """Karmada's spellings are understood."""
    previous = {"mode": mode, "replicas": 7, "clusters": [{"name": "a", "replicas": 7}, {"name": "b", "replicas": 7}]}
    answer = _answer({**EVEN, "workload": {"name": "web", "replicas": 7}, "previous": previous})
    assert not answer["kept"]
    assert sorted(answer["placements"].values()) == [3, 4]


def test_previous_without_clusters_is_no_previous() -> None:
    """An empty last result says nothing."""
    answer = _answer({**EVEN, "previous": {"mode": "static", "replicas": 6, "clusters": []}})
    assert not answer["kept"]


def test_previous_that_names_vanished_clusters_is_no_error() -> None:
    """They are left out, and their replicas divided anew."""
    previous = {"clusters": [{"name": "a", "replicas": 3}, {"name": "gone", "replicas": 3}]}
    assert _answer({**EVEN, "previous": previous})["placements"] == {"a": 3, "b": 3}


def test_room_comes_from_the_resource_summary() -> None:
    """6 by pods of 80, cpu of 3 for 500m and memory of 6Gi for 1Gi."""
    summary = {
        "allocatable": {"pods": "100", "cpu": "4", "memory": "8Gi"},
        "allocated": {"pods": "20", "cpu": "1", "memory": "2Gi"},
    }
    problem = {
        "workload": {"name": "web", "replicas": 10, "request": {"cpu": "500m", "memory": "1Gi"}},
        "policy": {"mode": "dynamic"},
        "clusters": [{"name": "a", "resourceSummary": summary}],
    }
    answer = _answer(problem)
    assert answer["reason"] == "InsufficientRoom"
    assert answer["message"] == "the clusters have room for 6 of 10 replicas, 4 are missing"
    assert answer["cure"] == "room"


def test_cluster_choice_is_told_in_the_answer() -> None:
    """Removed clusters are in `placements` with 0 and in `removed` with their reason."""
    problem = {
        "workload": {"name": "web", "replicas": 4},
        "policy": {
            "affinityGroups": [
                {"name": "moon", "fields": [{"key": "region", "operator": "In", "values": ["moon"]}]},
                {"name": "earth", "expressions": [{"key": "old", "operator": "DoesNotExist"}]},
            ],
            "tolerations": [{"key": "slow", "operator": "Exists"}],
            "spread": [{"by": "zone", "min": 2}, {"by": "label", "label": "rack", "min": 1, "max": 2}],
        },
        "clusters": [
            {"name": "a", "zone": "1", "labels": {"rack": "r1"}, "taints": [{"key": "slow"}]},
            {"name": "b", "zones": ["2"], "labels": {"rack": "r2"}},
            {"name": "c", "zone": "3", "labels": {"rack": "r2", "old": "yes"}},
            {"name": "d", "zone": "3", "labels": {"rack": "r3"}, "deleting": True},
            {"name": "e", "zone": "3", "labels": {"rack": "r3"}, "evicting": True},
        ],
    }
    answer = _answer(problem)
    assert answer["placements"] == {"a": 2, "b": 2, "c": 0, "d": 0, "e": 0}
    assert answer["removed"] == {"c": "AffinityMismatch", "d": "ClusterDeleting", "e": "ClusterEvicting"}
    assert answer["group"] == "earth"


BAD = {
    "negative weight": ({"clusters": [{"name": "a", "weight": -1}]}, "$.clusters[0].weight", ">= 0"),
    "weight beyond 62 bits": ({"clusters": [{"name": "a", "weight": 2**62}]}, "$.clusters[0].weight", "int"),
    "weight of the prior": (
        {"previous": {"clusters": [{"name": "a", "weight": -1}]}},
        "$.previous.clusters[0]",
        ">= 0",
    ),
    "negative replicas": ({"workload": {"name": "w", "replicas": -1}}, "$.workload.replicas", ">= 0"),
    "replicas missing": ({"workload": {"name": "w"}}, "$.workload", "replicas"),
    "replicas not a number": ({"workload": {"name": "w", "replicas": "six"}}, "$.workload.replicas", "int"),
    "cluster twice": ({"clusters": [{"name": "a"}, {"name": "a"}]}, "$.clusters[1].name", "twice"),
    "prior cluster twice": (
        {"previous": {"clusters": [{"name": "a"}, {"name": "a"}]}},
        "$.previous.clusters[1].name",
        "twice",
    ),
    "unknown field": ({"clusters": [{"name": "a", "wieght": 1}]}, "$.clusters[0]", "wieght"),
    "unknown mode": ({"policy": {"mode": "random"}}, "$.policy.mode", "random"),
    "unknown mode of the prior": (
        {"previous": {"mode": "x", "clusters": [{"name": "a"}]}},
        "$.previous.mode",
        "expected",
    ),
    "coefficient above 1": ({"policy": {"capacityCoefficient": 1.5}}, "$.policy.capacityCoefficient", "from 0 to 1"),
    "coefficient no number": ({"policy": {"capacityCoefficient": "x"}}, "$.policy.capacityCoefficient", "from 0 to 1"),
    "maximum below minimum": ({"clusters": [{"name": "a", "min": 2, "max": 1}]}, "$.clusters[0].max", "at least min"),
    "affinity twice": (
        {"policy": {"affinity": {}, "affinityGroups": [{}]}},
        "$.policy.affinityGroups",
        "one of the two",
    ),
    "unknown operator": (
        {"policy": {"affinity": {"expressions": [{"key": "a", "operator": "Is"}]}}},
        "$.policy.affinity.expressions[0].operator",
        "expected one of In",
    ),
    "unknown field of a cluster": (
        {"policy": {"affinity": {"fields": [{"key": "colour", "operator": "Exists"}]}}},
        "$.policy.affinity.fields[0].key",
        "region",
    ),
    "label without a key": ({"policy": {"spread": [{"by": "label"}]}}, "$.policy.spread[0].label", "label key"),
    "spread maximum below minimum": (
        {"policy": {"spread": [{"by": "zone", "min": 2, "max": 1}]}},
        "$.policy.spread[0].max",
        "at least min",
    ),
    "capacity and summary": (
        {"clusters": [{"name": "a", "capacity": 1, "resourceSummary": {}}]},
        "$.clusters[0].resourceSummary",
        "one of the two",
    ),
    "amount that is none": (
        {"clusters": [{"name": "a", "resourceSummary": {"allocatable": {"cpu": "much"}}}]},
        "$.clusters[0].resourceSummary.allocatable.cpu",
        "not a quantity",
    ),
}


@pytest.mark.parametrize(("change", "path", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_told_with_its_place(change: dict[str, Any], path: str, message: str) -> None:
    """The JSON path and what was expected, never a traceback."""
    error = _run({**EVEN, **change}, "-o", "json").exception
    assert isinstance(error, InputError)
    assert path in str(error)
    assert message in error.message


def test_json_lines_a_bad_line_does_not_stop_the_others() -> None:
    """An error record in its place, the exit code is the highest."""
    lines = [
        json.dumps(EVEN),
        json.dumps({**EVEN, "clusters": [{"name": "a", "weight": -1}]}),
        json.dumps({**EVEN, "policy": {"capacityCoefficient": 2}}),
        json.dumps({**EVEN, "clusters": [{"name": "a", "weight": 0}]}),
        json.dumps({**EVEN, "workload": {"name": "x", "replicas": 7}}),
    ]
    result = _run("\n".join(lines), "-o", "json")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.return_value == 2
    assert answers[0]["placements"] == {"a": 3, "b": 3}
    assert answers[1]["error"]["path"].endswith("$.clusters[0].weight")
    assert answers[2]["error"]["path"].endswith("$.policy.capacityCoefficient")
    assert answers[3]["reason"] == "ZeroWeights"
    assert sum(answers[4]["placements"].values()) == 7


def test_json_lines_equal_single_problems() -> None:
    """Solved in bulk or alone, the same placements."""
    problems = [
        {"workload": {"name": f"w{number}", "replicas": number}, "clusters": [{"name": name} for name in "abcde"]}
        for number in range(12)
    ]
    result = _run("\n".join(map(json.dumps, problems)), "-o", "json")
    together = [json.loads(line)["placements"] for line in result.stdout.splitlines()]
    assert together == [_answer(problem)["placements"] for problem in problems]


def test_exit_code_is_1_where_something_is_unplaced() -> None:
    """The answer is printed all the same."""
    result = _run({**EVEN, "clusters": []}, "-o", "json")
    assert (result.return_value, json.loads(result.stdout)["reason"]) == (1, "NoClusters")
    assert _run(EVEN, "-o", "json").return_value == 0


def test_table_shows_bars_reasons_and_what_is_unplaced() -> None:
    """The picture for a terminal."""
    problem = {
        "workload": {"name": "web", "uid": "u1", "replicas": 5},
        "clusters": [{"name": "a"}, {"name": "b"}, {"name": "c", "deleting": True}],
    }
    shown = _run(problem, "-o", "table").stdout
    assert "web: 5 placed over 2 clusters by static" in shown
    assert "drawn" in shown
    assert "ClusterDeleting" in shown
    empty = _run({**problem, "clusters": []}, "-o", "table").stdout
    assert "5 unplaced: there is no cluster" in empty


def test_explain_says_why_for_each_cluster() -> None:
    """Below the table, and as a field of the record."""
    problem = {**EVEN, "workload": {"name": "web", "uid": "u1", "replicas": 7}}
    shown = _run(problem, "-o", "table", "--explain").stdout
    assert "its floor 3 and a residual, drawn with odds 1 in 2." in shown
    record = json.loads(_run(problem, "-o", "json", "--explain").stdout)
    assert any("did not win" in line for line in record["explanation"])


def test_yaml_in_and_out(tmp_path: Path) -> None:
    """A problem in YAML from a file, the answer in YAML."""
    source = tmp_path / "problem.yaml"
    source.write_text("workload: {name: web, replicas: 4}\nclusters:\n- name: a\n- name: b\n")
    result = CliRunner().invoke(cli, ["divide", "-f", str(source), "-o", "yaml"], standalone_mode=False)
    assert result.stdout.startswith("placements:\n  a: 2\n  b: 2\n")


MANIFESTS = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: west}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: north}
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: web, namespace: shop}
spec:
  resource: {kind: Deployment, namespace: shop, name: web, uid: u1}
  replicas: 6
  placement: {replicaScheduling: {replicaSchedulingType: Divided}}
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata: {name: loose, namespace: shop}
spec: {replicas: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec: {replicas: 4, selector: {matchLabels: {app: api}}, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement: {replicaScheduling: {replicaSchedulingType: Divided}}
"""


def test_manifests_bindings_and_selected_workloads_are_divided() -> None:
    """A binding without a placement yields an error in its place; the others go on."""
    result = _run(MANIFESTS, "-o", "json")
    assert result.return_value == 2
    web, loose, api = (json.loads(line) for line in result.stdout.splitlines())
    assert (web["workload"], web["placements"]) == ("shop/web", {"west": 3, "north": 3})
    assert loose["error"]["path"] == "shop/loose: spec.placement"
    assert (api["workload"], api["placements"]) == ("shop/api", {"west": 2, "north": 2})


def test_manifests_of_a_directory_are_read(tmp_path: Path) -> None:
    """One file a kind or all in one; the table names each workload."""
    first, _, rest = MANIFESTS.partition("---\n")
    (tmp_path / "a.yaml").write_text(first)
    (tmp_path / "b.yaml").write_text(rest)
    result = CliRunner().invoke(cli, ["divide", "-f", str(tmp_path), "-o", "table"], standalone_mode=False)
    assert "shop/web: 6 placed over 2 clusters" in result.stdout


def test_manifests_without_clusters_or_without_anything_to_divide_are_told() -> None:
    """What was expected."""
    no_cluster = _run(MANIFESTS.replace("kind: Cluster\n", "kind: Other\n"), "-o", "json").exception
    assert "expected at least one" in str(no_cluster)
    nothing = _run(MANIFESTS.partition("---\n")[0], "-o", "json").exception
    assert "no workload that a PropagationPolicy selects" in str(nothing)
