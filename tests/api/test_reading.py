"""What `fairlead.read` takes, and what it says of what it cannot take."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

import fairlead

EXAMPLES = Path(__file__).parents[2] / "examples"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
}
WEB = """apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, resources: {requests: {cpu: "1"}}}]}
"""


def placed(*sources: Any, **options: Any) -> dict[str, int]:
    """New replicas of `web` by node."""
    (only,) = fairlead.plan(fairlead.read(*sources, **options)).workloads
    found: dict[str, int] = only["parts"][0]["placements"]
    return found


def test_forms_of_a_source_add_up(tmp_path: Path) -> None:
    """A path, a text, bytes, an object, many objects, a List: one reading."""
    web = yaml.safe_load(WEB)
    file = tmp_path / "web.yaml"
    file.write_text(WEB)
    for source in (file, str(file), tmp_path, WEB, WEB.encode(), web, [web], (each for each in [web])):
        assert placed(NODE, source) == {"n1": 2}
    assert placed({"apiVersion": "v1", "kind": "List", "items": [NODE, web]}) == {"n1": 2}


def test_files_in_python_are_those_of_the_directory() -> None:
    """Objects that were loaded by another YAML reader give the same plan."""
    objects = [
        each for path in sorted((EXAMPLES / "shop").glob("*.yaml")) for each in yaml.safe_load_all(path.read_text())
    ]
    assert fairlead.plan(fairlead.read(objects)).to_dict() == fairlead.plan(EXAMPLES / "shop").to_dict()


def test_times_of_a_yaml_reader_are_text() -> None:
    """PyYAML makes a datetime of a timestamp; Kubernetes wrote a text."""
    stamp = datetime(2026, 11, 18, 7, 0, tzinfo=UTC)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "creationTimestamp": stamp},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
    }
    assert fairlead.read(NODE, pod).errors == ()


def test_caller_keeps_what_it_gave() -> None:
    """A snapshot does not follow later changes of the objects it was read from."""
    web = yaml.safe_load(WEB)
    cluster = fairlead.read(NODE, web)
    web["spec"]["replicas"] = 0
    assert fairlead.plan(cluster).workloads[0]["replicas"] == 2


def test_snapshot_says_what_it_holds() -> None:
    """Names, and in one line how many."""
    cluster = fairlead.read(EXAMPLES / "shop")
    assert cluster.clusters == ("north", "west")
    assert len(cluster.nodes) == 12
    assert "shop/web" in cluster.workloads
    assert repr(cluster) == "<fairlead.Snapshot: 2 clusters, 12 nodes, 6 workloads>"


def test_broken_object_is_named_and_the_rest_is_read() -> None:
    """One mistake with its place; with `strict` it is raised."""
    broken = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": "many"}}
    cluster = fairlead.read([NODE, broken], WEB)
    (error,) = cluster.errors
    assert "sources[0][1]" in error.path
    assert repr(cluster).endswith("1 mistakes>") or repr(cluster).endswith("1 mistake>")
    assert fairlead.plan(cluster).errors == cluster.errors
    assert placed([NODE, broken], WEB) == {"n1": 2}
    with pytest.raises(fairlead.InputError) as raised:
        fairlead.read([NODE, broken], WEB, strict=True)
    assert raised.value.path == error.path


def test_kinds_that_do_not_count_are_counted() -> None:
    """What a plan leaves out is said."""
    other = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    cluster = fairlead.read(NODE, other)
    assert cluster.not_counted == {"Gadget.example.com": 1}
    assert fairlead.plan(cluster).not_counted == {"Gadget.example.com": 1}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("no-such-file.yaml", "no such file"),
        ("a\0b", "is no path; expected one without a null byte"),
        ("9" * 5000, "file name too long"),
        (7, "a value of type int; expected a path, a text or objects"),
        ([7], "is not a Kubernetes object"),
        ([{1, 2}], "a value of type set; expected values that json has"),
        ({"kind": "Node", "apiVersion": "v1", "spec": math.nan}, "expected values that JSON has"),
        ({}, "is not a Kubernetes object"),
        ("a: [\n", "expected"),
        (b"\xff\xfe", "not UTF-8"),
        ([], "no object that a plan can use"),
    ],
)
def test_what_cannot_be_read_is_an_input_error(source: Any, said: str) -> None:
    """Never a TypeError, KeyError or traceback from the depths."""
    with pytest.raises(fairlead.InputError) as raised:
        fairlead.read(source)
    assert said.lower() in str(raised.value).lower()


@pytest.mark.parametrize(
    ("verb", "problem"),
    [
        ("divide", None),
        ("divide", []),
        ("divide", {"workload": {"name": "w", "replicas": -1}, "clusters": []}),
        ("divide", {"workload": {"name": "w", "replicas": 1}, "clusters": [{"name": "a", "wieght": 2}]}),
        ("share", {"total": {"cpu": math.inf}, "jobs": []}),
        ("place", {"count": object()}),
        ("balance", {"size": "x", "nodes": []}),
        ("split", {"request": 7}),
    ],
)
def test_bad_problem_is_an_input_error(verb: str, problem: Any) -> None:
    """With a place and what was expected."""
    with pytest.raises(fairlead.InputError) as raised:
        getattr(fairlead, verb)(problem)
    assert raised.value.message


def test_directory_that_changes_while_it_is_read_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is listed and gone a moment later is named; what else was given is read."""

    def listed(folder: Path, pattern: str) -> list[Path]:
        raise FileNotFoundError(2, "No such file or directory", str(folder / "gone"))

    monkeypatch.setattr(Path, "rglob", listed)
    (error,) = fairlead.read(NODE, str(tmp_path)).errors
    assert (error.path, error.message) == (str(tmp_path / "gone"), "no such file or directory")


def test_config_is_a_file_or_a_mapping(tmp_path: Path) -> None:
    """The same settings either way; a mistake in them has its place."""
    config = {"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", "scheduler": {"strategy": "global-greedy"}}
    file = tmp_path / "fairlead.yaml"
    file.write_text(yaml.safe_dump(config))
    records = [fairlead.plan(EXAMPLES / "shop", config=each).to_dict() for each in (config, file, str(file))]
    assert records[0] == records[1] == records[2] != fairlead.plan(EXAMPLES / "shop").to_dict()
    with pytest.raises(fairlead.InputError, match="stratgy"):
        fairlead.read(NODE, config={**config, "scheduler": {"stratgy": "x"}})
    with pytest.raises(fairlead.InputError, match="is no path"):
        fairlead.read(NODE, config="a\0b")
    with pytest.raises(fairlead.InputError, match="a value of type float; expected a file or a mapping"):
        fairlead.read(NODE, config=1.5)  # type: ignore[arg-type]
    with pytest.raises(fairlead.InputError, match="goes to `read`"):
        fairlead.plan(fairlead.read(NODE), config=config)


def test_what_if_without_a_change_is_refused() -> None:
    """Nothing asked, nothing answered."""
    cluster = fairlead.read(NODE, WEB)
    with pytest.raises(fairlead.InputError, match="no change is asked for"):
        fairlead.what_if(cluster)
    with pytest.raises(fairlead.InputError, match="expected 'min' or 'max'"):
        fairlead.what_if(cluster, scale_hpa="most")
    with pytest.raises(fairlead.InputError, match="there is no node"):
        fairlead.what_if(cluster, drain="n9")


@pytest.mark.parametrize("policy", ["nowhere", "9" * 5000, "a\0b"])
def test_policy_that_is_no_file_is_refused(policy: str) -> None:
    """Whatever a file system says to such a name."""
    with pytest.raises(fairlead.InputError, match="is neither a file nor one of"):
        fairlead.simulate(EXAMPLES / "spot-wave" / "scenario.yaml", policies=policy)


@pytest.mark.parametrize("number", [-1, 100_001, 2**63])
def test_more_nodes_than_any_cluster_has_are_refused(number: int) -> None:
    """At once, and not when the memory is full."""
    with pytest.raises(fairlead.InputError, match=f"{number} nodes; expected at most 100000"):
        fairlead.what_if(fairlead.read(NODE, WEB), add_nodes=number, like="n1")


def test_what_a_queue_grants_goes_to_the_tiers_in_turn() -> None:
    """Three of six may start: two that must be on demand, then one on spot and no more."""
    nodes = [
        {**NODE, "metadata": {"name": tier, "labels": {"node.kubernetes.io/capacity": tier}}}
        for tier in ("on-demand", "spot")
    ]
    web = yaml.safe_load(WEB)
    web["metadata"]["annotations"] = {"distributed-scheduling/min-available": "2"}
    web["spec"]["replicas"] = 6
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"capability": {"cpu": "3"}},
    }
    (only,) = fairlead.plan([*nodes, web, queue]).workloads
    assert [(part["tier"], part["granted"]) for part in only["parts"]] == [("on-demand", 2), ("spot", 1)]
