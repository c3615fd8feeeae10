"""`fairlead simulate` as a person uses it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interrupts import heard

SCENARIO = """
name: small
until: 1h
nodes: [{name: n, count: 2, cpu: 4, memory: 8Gi}]
workloads: [{name: web, replicas: 6, cpu: 1}]
"""


ROOT = Path(__file__).parents[2]


def fairlead(*words: str, text: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", "simulate", *words],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
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


def test_standard_input_trace_seed_and_end(scenario: Path) -> None:
    """Everything that can be given from outside."""
    trace = scenario.parent / "day.csv"
    trace.write_text("time,workload,replicas,cpu,duration\n60,job,2,1,5m\n")
    words = ["--trace", str(trace), "--seed", "5", "--until", "30m", "-o", "yaml"]
    done = fairlead("-", *words, text=SCENARIO)
    assert done.returncode == 0, done.stderr
    assert "seed: 5" in done.stdout
    assert "seconds: 1800.0" in done.stdout
    assert "completed: 2" in done.stdout


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


def test_a_fleet_is_refused_and_storage_is_left_out_with_a_word(tmp_path: Path) -> None:
    """What is not simulated is said, not passed over."""
    path = tmp_path / "scenario.yaml"
    path.write_text(f"until: 1h\nmanifests: [{ROOT / 'examples' / 'shop'}]\n")
    done = fairlead(str(path))
    assert done.returncode == 2
    assert "a fleet (clusters north, west; 2 divided workloads) is not simulated; expected one cluster" in done.stderr
    (tmp_path / "nodes.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
    )
    path.write_text(
        f"until: 1h\nmanifests: [nodes.yaml, {ROOT / 'examples' / 'storage' / 'longhorn.yaml'}]\n"
        "workloads: [{name: web, replicas: 1, cpu: 1}]\n"
    )
    done = fairlead(str(path), "-o", "json")
    assert done.returncode == 0, done.stderr
    assert "disks are not simulated" in done.stderr


def test_same_seed_same_result_in_every_process(tmp_path: Path) -> None:
    """Whatever order a process gives its sets: the numbers and the samples are the same, byte by byte."""
    policy, path = tmp_path / "taking.yaml", tmp_path / "scenario.yaml"
    policy.write_text("preempt: true\nreserveAfter: 10m\n")
    path.write_text(
        "until: 1h\nnodes: [{name: n, count: 4, cpu: 4, memory: 8Gi, zones: [a, b], tier: spot}]\n"
        "namespaces: {a: 3, b: 1}\nlives: [{meanLife: 2h, back: 5m}]\n"
        "generate: [{name: g, arrivals: 20, replicas: [1, 4], gang: true, duration: 10m, namespaces: {a: 1, b: 2}}]\n"
    )
    words = [str(path), "--policy", "communism", "--policy", str(policy)]
    found = set()
    for seed in ("0", "1", "77"):
        done = fairlead(*words, "-o", "json", PYTHONHASHSEED=seed)
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1


BAD = {
    "no such file": (["nowhere.yaml"], "nowhere.yaml: no such file or directory"),
    "unknown policy": (["SCENARIO", "--policy", "best"], "neither a file nor one of auto"),
    "policy twice": (["SCENARIO", "--policy", "spread", "--policy", "spread"], "is there twice"),
    "bad end": (["SCENARIO", "--until", "soon"], "--until: 'soon' is not a length of time"),
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
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
    ) as run:
        while not ready.exists():
            assert run.poll() is None
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert run.returncode == 130
    assert json.loads(out)["interrupted"] is True
    assert "interrupted" in err
