"""`fairlead simulate` as a person uses it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCENARIO = """
name: small
until: 1h
nodes: [{name: n, count: 2, cpu: 4, memory: 8Gi}]
workloads: [{name: web, replicas: 6, cpu: 1}]
"""


def fairlead(*words: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", "simulate", *words], input=text, capture_output=True, text=True, check=False
    )


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario file."""
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO)
    return path


def test_json_compares_the_policies_in_the_order_given(scenario: Path) -> None:
    """Names and files side by side."""
    mine = scenario.parent / "mine.yaml"
    mine.write_text("strategy: bin-pack\nqueue: fifo\n")
    done = fairlead(str(scenario), "--policy", "spread", "--policy", str(mine), "-o", "json")
    assert done.returncode == 0, done.stderr
    policies = json.loads(done.stdout)["policies"]
    assert [each["policy"] for each in policies] == ["spread", "mine"]
    assert policies[0]["evenness"] > policies[1]["evenness"]


def test_standard_input_trace_seed_end_and_html(scenario: Path) -> None:
    """Everything that can be given from outside."""
    trace, html = scenario.parent / "day.csv", scenario.parent / "report.html"
    trace.write_text("time,workload,replicas,cpu,duration\n60,job,2,1,5m\n")
    words = ["--trace", str(trace), "--seed", "5", "--until", "30m", "--html", str(html), "-o", "yaml"]
    done = fairlead("-", *words, text=SCENARIO)
    assert done.returncode == 0, done.stderr
    assert "seed: 5" in done.stdout
    assert "seconds: 1800.0" in done.stdout
    assert "completed: 2" in done.stdout
    assert html.read_text().startswith("<!DOCTYPE html>")


def test_manifests_are_the_cluster(tmp_path: Path) -> None:
    """Nodes and a Deployment of Kubernetes, seen from the scenario's place; what runs is not counted twice."""
    (tmp_path / "cluster.yaml").write_text(
        """
apiVersion: v1
kind: Node
metadata: {name: a, labels: {kubernetes.io/hostname: a}}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-1
  namespace: shop
  uid: r
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]
spec: {replicas: 3, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web-1-1
  namespace: shop
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: r, controller: true}]
spec: {nodeName: a, containers: [{name: web, resources: {requests: {cpu: "1"}}}]}
status: {phase: Running}
"""
    )
    path = tmp_path / "scenario.yaml"
    path.write_text("until: 1h\nmanifests: [cluster.yaml]\nevents: [{at: 30m, scale: shop/web, replicas: 9}]\n")
    done = fairlead(str(path), "-o", "json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)["policies"][0]
    assert (record["placed"], record["unplaced"]) == (4, 5)


BAD = {
    "no such file": (["nowhere.yaml"], "nowhere.yaml: no such file or directory"),
    "unknown policy": (["SCENARIO", "--policy", "best"], "neither a file nor one of communism"),
    "policy twice": (["SCENARIO", "--policy", "spread", "--policy", "spread"], "is there twice"),
    "bad end": (["SCENARIO", "--until", "soon"], "--until: 'soon' is not a length of time"),
    "bad html place": (["SCENARIO", "--html", "/nowhere/report.html"], "/nowhere/report.html"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_usage_is_one_line_and_exit_code_2(name: str, scenario: Path) -> None:
    """No traceback, and what was expected."""
    words, message = BAD[name]
    done = fairlead(*(str(scenario) if word == "SCENARIO" else word for word in words))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_bad_scenario_names_file_line_and_path(scenario: Path) -> None:
    """The place of the document and the path within."""
    scenario.write_text(SCENARIO.replace("cpu: 1}", "cpu: lots}"))
    done = fairlead(str(scenario))
    assert done.returncode == 2
    assert "scenario.yaml:2.workloads[0].cpu: 'lots' is not a quantity" in done.stderr


def test_bad_trace_names_every_bad_line(scenario: Path) -> None:
    """And nothing is simulated."""
    trace = scenario.parent / "day.csv"
    trace.write_text("time,workload\nx,a\n5,b\ny,c\n")
    done = fairlead(str(scenario), "--trace", str(trace))
    assert done.returncode == 2
    assert "day.csv:2: time" in done.stderr
    assert "day.csv:4: time" in done.stderr
    assert done.stdout == ""


def test_ctrl_c_prints_what_there_is_and_exits_130(scenario: Path) -> None:
    """The numbers so far, and a sentence."""
    scenario.write_text(SCENARIO + "generate: [{name: g, arrivals: 200000, duration: 1s}]\n")
    ready = scenario.parent / "ready"
    code = (
        "import sys, pathlib; from fairlead.sim.run import _Loop; from fairlead.cli.main import main\n"
        "place = _Loop._place\n"
        f"def told(self, now):\n    pathlib.Path({str(ready)!r}).touch()\n    place(self, now)\n"
        "_Loop._place = told\n"
        f"sys.argv = ['fairlead', 'simulate', {str(scenario)!r}, '-o', 'json']\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        while not ready.exists():
            assert run.poll() is None
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert json.loads(out)["interrupted"] is True
    assert "interrupted" in err
