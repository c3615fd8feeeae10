"""What the tests of adapters share: a cluster of nodes, an object of a foreign kind, and the plan of both."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.cli.test_reading import node, saved


def template(cpu: str = "1") -> dict[str, Any]:
    """A pod template with one container."""
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}


def made(api: str, kind: str, spec: dict[str, Any], name: str = "train", **meta: Any) -> dict[str, Any]:
    """An object in the namespace `lab`."""
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "lab", **meta}, "spec": spec}


def answer(tmp_path: Path, *objects: dict[str, Any], cpus: int = 8, command: str = "plan", more: Any = ()) -> Any:
    """The answer on one node with so many cores."""
    given = saved(tmp_path / "cluster.json", node("a", str(cpus)), *objects)
    result = CliRunner().invoke(cli, [command, "-f", given, *more, "-o", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def counts(record: Any) -> dict[str, tuple[int, int]]:
    """Workload → replicas asked for, and those that wait."""
    return {each["workload"]: (each["replicas"], each["unplaced"]) for each in record["sites"][0]["workloads"]}


def explained(tmp_path: Path, name: str) -> str:
    """What `explain` says of a workload of the last cluster."""
    words = ["explain", "-f", str(tmp_path / "cluster.json"), name]
    return CliRunner().invoke(cli, words, standalone_mode=False).stdout
