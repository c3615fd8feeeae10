"""`plan` and what it is given: large texts with a bar, versions nobody knows, objects that contradict each other."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_plan import fairlead, planned

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a", "labels": {"kubernetes.io/hostname": "a"}},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A bare pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }


def saved(path: Path, *objects: dict[str, Any]) -> str:
    """The objects as one JSON list."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def on_a_terminal(*words: str) -> tuple[bytes, bytes]:
    """Standard output (a pipe) and standard error (a terminal) of a command."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "fairlead", *words],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as run:
        os.close(theirs)
        drawn = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other side is closed: that is how a terminal ends
                break
            drawn += more
        assert run.stdout is not None
        out = run.stdout.read()
    os.close(ours)
    return out, drawn


def test_a_bar_is_drawn_on_a_terminal_and_wiped(tmp_path: Path) -> None:
    """A large text: what is done is told while it is done; in the end the line is empty. Not so in a pipe."""
    large = {**NODE, "metadata": {"name": "a", "annotations": {"fill": "x" * 2**20}}}
    path = saved(tmp_path / "large.json", large, pod("lone"))
    out, drawn = on_a_terminal("plan", "-f", path, "-o", "json")
    assert json.loads(out)["unplaced"] == 0
    assert b"reading" in drawn
    assert drawn.rstrip(b"\r\n").endswith(b"\x1b[2K"), drawn[-80:]
    piped = fairlead("plan", "-f", path, "-o", "json")
    assert (piped.stdout, piped.stderr) == (out, b"")


def test_much_yaml_is_said_to_be_slow(tmp_path: Path) -> None:
    """One line on standard error, before the waiting begins; JSON of the same size is not worth a word."""
    path = tmp_path / "large.yaml"
    path.write_text(f"apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  annotations: {{fill: {'x' * (5 * 2**20)}}}\n")
    done = fairlead("plan", "-f", str(path), "-o", "json")
    assert done.returncode == 0
    assert b"5 MiB of YAML" in done.stderr
    assert b"JSON is read ten times as fast" in done.stderr


VERSIONS = {
    "a Deployment of a version to come": ("apps/v9", "Deployment", "expected apps/v1"),
    "a policy of a version to come": (
        "policy.karmada.io/v9",
        "PropagationPolicy",
        "expected policy.karmada.io/v1alpha1",
    ),
    "a binding of an old shape": ("work.karmada.io/v1alpha1", "ResourceBinding", "expected work.karmada.io/v1alpha2"),
    "a queue of a version to come": ("scheduling.volcano.sh/v2", "Queue", "expected scheduling.volcano.sh/v1beta1"),
    "a volume of a version to come": ("longhorn.io/v2", "Volume", "expected longhorn.io/v1beta2"),
    "a pod of a version to come": ("v2", "Pod", "expected v1"),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_a_version_nobody_knows_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    """File, item, kind, name, version and what was expected; the rest is planned, with --strict nothing is."""
    version, kind, want = VERSIONS[name]
    odd = {"apiVersion": version, "kind": kind, "metadata": {"name": "odd", "namespace": "shop"}}
    path = saved(tmp_path / "list.json", NODE, odd, pod("lone"))
    done = fairlead("plan", "-f", path, "-o", "json")
    assert done.returncode == 2, done.stderr
    assert fairlead("plan", "-f", path, "-o", "json", "--keep-going").returncode == 0
    message = f"list.json items[1]: {kind} odd: the API version {version} is not known; {want}"
    assert message in done.stderr.decode()
    assert "list.json items[1]" in json.loads(done.stdout)["errors"][0]["path"]
    refused = fairlead("plan", "-f", path, "--strict")
    assert (refused.returncode, refused.stdout) == (2, b"")


def test_a_pod_on_a_node_that_is_not_there_is_named(tmp_path: Path) -> None:
    """It runs nowhere that a plan can see: it is told, and its room is nobody's."""
    path = saved(tmp_path / "list.json", NODE, pod("lost", nodeName="gone"), pod("lone"))
    done = fairlead("plan", "-f", path, "-o", "json")
    assert done.returncode == 0
    assert "Pod shop/lost runs on node gone, which is not among the manifests; planned as" in done.stderr.decode()
    more = saved(tmp_path / "more.json", NODE, *(pod(f"lost-{row}", nodeName=f"gone-{row % 2}") for row in range(4)))
    done = fairlead("plan", "-f", more, "-o", "json")
    want = "4 pods (shop/lost-0, shop/lost-1, shop/lost-2, …) run on 2 nodes (gone-0, gone-1) that are not among"
    assert want in done.stderr.decode()


def test_two_objects_of_one_name_count_once(tmp_path: Path) -> None:
    """The first one counts and the second is named."""
    path = saved(tmp_path / "list.json", NODE, pod("lone", cpu="1"), pod("lone", cpu="3"))
    done = fairlead("plan", "-f", path, "-o", "json")
    assert "items[2]" in done.stderr.decode()
    assert "Pod lone is there twice" in done.stderr.decode()
    assert json.loads(done.stdout)["sites"][0]["use"]["after"]["highest"] == 25.0


def test_a_node_with_more_on_it_than_it_offers_takes_nothing_more(tmp_path: Path) -> None:
    """Somebody over-committed it: it is full, not less than empty."""
    path = saved(tmp_path / "list.json", NODE, pod("big", cpu="6", nodeName="a"), pod("lone"))
    record = planned("-f", path)
    assert record["unplaced"] == 1
    assert record["sites"][0]["use"]["before"]["highest"] == 150.0


def test_empty_files_of_a_directory_hold_nothing(tmp_path: Path) -> None:
    """Charts leave them behind; one that is named itself is a mistake."""
    saved(tmp_path / "node.json", NODE)
    for name in ("empty.yaml", "none.json"):
        (tmp_path / name).touch()
    (tmp_path / "comment.yaml").write_text("# nothing\n---\n")
    done = fairlead("plan", "-f", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, b"")
    named = fairlead("plan", "-f", str(tmp_path / "empty.yaml"))
    assert named.returncode == 2
    assert b"empty.yaml: is empty; expected JSON or YAML" in named.stderr
