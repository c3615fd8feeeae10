"""What a shell completes: names from files, the kubeconfig and a server, and nothing where that takes long."""

import json
import socket
from pathlib import Path

import pytest
import yaml
from click.shell_completion import ShellComplete

from fairlead.cli import completing
from fairlead.cli.main import cli


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no reason to fail."""
    monkeypatch.setattr(completing, "SECONDS", 60.0)


def completed(*words: str, unfinished: str = "") -> list[str]:
    """The candidates for the last word."""
    found = ShellComplete(cli, {}, "fairlead", "_FAIRLEAD_COMPLETE").get_completions(list(words), unfinished)
    return [item.value for item in found if item.type == "plain"]


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Two nodes and a workload in a namespace."""
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}},
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def kubeconfig(path: Path, server: str) -> str:
    """Two contexts that lead to one server."""
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("north", "south")]
    clusters = [{"name": "c", "cluster": {"server": server}}]
    users = [{"name": "u", "user": {"token": "t"}}]
    path.write_text(yaml.safe_dump({"contexts": contexts, "clusters": clusters, "users": users}))
    return str(path)


def test_names_come_from_the_files_that_are_given(files: str) -> None:
    """Nodes, namespaces, and what explain takes."""
    assert completed("plan", "-f", files, "--drain") == ["n1", "n2"]
    assert completed("plan", "-f", files, "--like", unfinished="n2") == ["n2"]
    assert completed("plan", "-f", files, "-n", unfinished="sh") == ["shop"]
    assert completed("explain", "-f", files, "shop/web", "--why-not") == ["n1", "n2"]
    assert completed("explain", "-f", files, unfinished="de") == ["deployment/shop/web"]


def test_contexts_strategies_and_policies(tmp_path: Path) -> None:
    """Contexts of the kubeconfig; strategies by each name; policies, or files."""
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    for command in ("plan", "queue", "tiers", "scheduler", "webhook", "fleet", "storage", "ui", "snapshot", "explain"):
        assert completed(command, "--kubeconfig", config, "--context") == ["north", "south"], command
    assert completed("place", "--strategy", unfinished="a") == ["auto", "average"]
    assert completed("simulate", "x.yaml", "--policy", unfinished="b") == ["bin-pack"]


def test_trouble_is_silent(tmp_path: Path) -> None:
    """A file that is none, a server that is not there: no candidates and no words."""
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:1")
    assert completed("plan", "-f", str(tmp_path / "nowhere"), "--drain") == []
    assert completed("queue", "--kubeconfig", config, "--context", "north", "-n") == []
    assert completed("queue", "--kubeconfig", str(tmp_path / "none"), "--context") == []


def test_server_that_does_not_answer_does_not_hold_up_the_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and says nothing: after the moment that is allowed there are no candidates."""
    monkeypatch.setattr(completing, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = kubeconfig(tmp_path / "config", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert completed("queue", "--kubeconfig", config, "--context", "north", "-n") == []
