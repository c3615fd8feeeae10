"""The plan of each folder beside this file is what somebody works out by hand; `why` is how."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli

HERE = Path(__file__).parent
FOLDERS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and not path.name.startswith("__"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """New replicas by workload and node, what waits by workload with its reasons, and what is not counted."""

    folder: str
    why: str
    options: tuple[str, ...] = ()
    placed: dict[str, dict[str, int]] = field(default_factory=dict)
    waits: dict[str, tuple[int, str]] = field(default_factory=dict)
    not_counted: dict[str, int] = field(default_factory=dict)
    said: str = ""
    """In the table."""


CASES = {
    "microservices: 3.8 of 4 cores fit in one way": Case(
        folder="microservices-demo",
        why="cart asks for 1000m, its init container's; a limit of 900m is a request; frontends ask for 500m. "
        "All fit in one way only: 1000 + 900 on one node, 900 + 500 + 500 on the other.",
        placed={
            "default/cart": {"n1": 1}, "default/frontend": {"n2": 2}, "default/load": {"n1": 1, "n2": 1},
        },
        said="nothing is left waiting",
    ),
    "kube-prometheus: the exporter takes its room everywhere, what an operator makes is not known": Case(
        folder="kube-prometheus",
        why="102m of 2000m go to node-exporter on all three nodes, the tainted one too: 1898m are left, one grafana of "
        "1800m each on n2 and n3. Rules, monitors and definitions have no say; a Prometheus makes pods.",
        placed={
            "monitoring/node-exporter": {"n1": 1, "n2": 1, "n3": 1}, "monitoring/grafana": {"n2": 1, "n3": 1},
        },
        not_counted={"Prometheus.monitoring.coreos.com": 1},
        said="Not counted in this plan: 1 Prometheus.monitoring.coreos.com.",
    ),
    "Argo CD: one redis a node, and no room for a fourth server": Case(
        folder="argo-cd-ha",
        why="redis forbids a second one on a host, so 3 of 4. A server asks for 3 of 4 cores, so one a node; zones "
        "hold 2 and 1, a skew of 1.",
        placed={
            "argocd/argocd-redis-ha-server": {"n1": 1, "n2": 1, "n3": 1},
            "argocd/argocd-server": {"n1": 1, "n2": 1, "n3": 1},
        },
        waits={"argocd/argocd-redis-ha-server": (1, "NoNodeFits"), "argocd/argocd-server": (1, "NoNodeFits")},
        not_counted={"Application.argoproj.io": 1},
        said="TooNear",
    ),
    "Volcano: a gang of two tasks starts, one that is larger than the cluster does not": Case(
        folder="volcano-mpi-job",
        why="lm-mpi asks for 0.5 + 3 × 2 = 6.5 of 8 cores; too-large for 3 × 3 = 9, all or nothing.",
        placed={
            "lab/lm-mpi-mpimaster": {"n1": 1}, "lab/lm-mpi-mpiworker": {"n1": 1, "n2": 2}, "lab/too-large-worker": {},
        },
        waits={"lab/too-large-worker": (3, "GangAboveWhole")},
    ),
    "Volcano: queues of weight 1 and 3 share eight cores": Case(
        folder="volcano-queues",
        why="2 and 6 of 8.",
        placed={"dev/a": {"n1": 1, "n2": 1}, "ops/b": {"n1": 3, "n2": 3}},
        waits={"dev/a": (6, "QueueShare"), "ops/b": (2, "QueueShare")},
    ),
    "Kueue: nominal quota and what may be borrowed": Case(
        folder="kueue-cohort",
        why="team-a has 4 and may borrow 2; 8 are asked for. generateName gets the number 1.",
        placed={"a/sample-job-1": {"n1": 6}},
        waits={"a/sample-job-1": (2, "QueueCapability")},
    ),
    "EKS: two of six on demand, and the single one": Case(
        folder="eks-node-groups",
        why="web asks for 2 on demand: the ON_DEMAND node has them and the single replica; 4 go to spot, 2 each.",
        placed={"shop/single": {"ip-10-0-0-1": 1}, "shop/web": {f"ip-10-0-0-{row}": 2 for row in (1, 2, 3)}},
        said="eks.amazonaws.com/capacityType, 1 on-demand, 2 spot",
    ),
    "GKE: a node without the spot label is on demand": Case(
        folder="gke-spot-pool",
        why="1 of 3 on the default pool, 2 on spot; the single replica is on demand.",
        placed={"shop/single": {"gke-default-1": 1}, "shop/web": {"gke-default-1": 1, "gke-spot-1": 2}},
        said="cloud.google.com/gke-spot, 1 on-demand, 1 spot",
    ),
    "AKS: only what is split tolerates the spot taint": Case(
        folder="aks-spot-taint",
        why="web: 1 on demand, 2 on spot with the injected toleration; plain asks for no minimum: 3 + 1 = 4.",
        placed={"shop/plain": {"aks-system-1": 3}, "shop/web": {"aks-system-1": 1, "aks-spot-1": 2}},
    ),
    "Karpenter beside EKS groups: on demand is what neither calls spot": Case(
        folder="karpenter-beside-eks",
        why="3 on the two nodes that are not spot by either label, 2 on spot. A NodePool brings nodes: not counted.",
        placed={"shop/web": {"group-od": 2, "karp-od": 1, "karp-spot": 2}},
        not_counted={"NodePool.karpenter.sh": 1},
    ),
    "bare metal: no label tells tiers, so there are none": Case(
        folder="bare-metal-no-tiers",
        why="The minimum of web cannot be held and is told; the single replica is placed as any other.",
        placed={"shop/single": {"m1": 1}, "shop/web": {"m1": 2, "m2": 2}},
    ),
    "JobSet: a driver and two jobs of three": Case(
        folder="jobset-driver-and-workers",
        why="1 + 2 × 3 = 7 of 8 cores; workers are spread, 3 and 3.",
        placed={"lab/pytorch-driver": {"n1": 1}, "lab/pytorch-workers": {"n1": 3, "n2": 3}},
    ),
    "LeaderWorkerSet: three GPUs of four": Case(
        folder="leader-worker-set",
        why="A leader and two workers, a GPU each; workers are spread.",
        placed={"lab/vllm-0-leader": {"g1": 1}, "lab/vllm-0-workers": {"g1": 1, "g2": 1}},
    ),
    "Ray: head and two workers": Case(
        folder="ray-cluster",
        why="1 + 3 on a node of 4, 3 on the other.",
        placed={"lab/raycluster-kuberay-head": {"n1": 1}, "lab/raycluster-kuberay-workergroup": {"n1": 1, "n2": 1}},
    ),
    "PyTorchJob: all roles or none": Case(
        folder="pytorch-job-does-not-fit",
        why="1 + 3 × 3 = 10 of 8 cores: not even the master starts.",
        placed={"lab/dist-mnist-master": {}, "lab/dist-mnist-worker": {}},
        waits={"lab/dist-mnist-master": (1, "GangAboveWhole"), "lab/dist-mnist-worker": (3, "GangAboveWhole")},
    ),
    "StatefulSet: everything runs": Case(folder="statefulset-zone-volumes", why="Both pods run.", placed={"db/pg": {}}),
    "StatefulSet: without zone a, its volume cannot be reached": Case(
        folder="statefulset-zone-volumes",
        options=("--lose", "zone=a"),
        why="pg-0's volume is in zone a, so it waits though zone b has room; pg-1 stays.",
        placed={"db/pg": {}},
        waits={"db/pg": (1, "NoNodeFits")},
    ),
    "StatefulSet: within its zone a replica moves": Case(
        folder="statefulset-zone-volumes",
        options=("--drain", "b1"),
        why="pg-1's volume is in zone b: b2 is the only other node there, though a1 has as much room.",
        placed={"db/pg": {"b2": 1}},
    ),
    "a drain leaves the pods of DaemonSets": Case(
        folder="daemonset-stays-with-its-node",
        options=("--drain", "n1"),
        why="n2 has 2 − 0.5 − 1 = 0.5 cores left: web's other replica waits. The CNI neither moves nor waits.",
        placed={"shop/web": {}, "kube-system/cni": {}},
        waits={"shop/web": (1, "QueueShare")},
    ),
    "a quota, defaults and bounds": Case(
        folder="quota-and-limit-range",
        why="huge asks for 3 where 2 are allowed; small gets 500m each by default, 1.5 in all; of the quota's 4 cores "
        "2.5 are left, so 2 of tail's 4.",
        placed={"shop/huge": {}, "shop/small": {"n1": 3}, "shop/tail": {"n1": 2}},
        waits={"shop/huge": (1, "HeldBack"), "shop/tail": (2, "QuotaExceeded")},
        said="LimitRange defaults: cpu 3 of container main is above 2",
    ),
    "a disruption budget makes a drain two steps": Case(
        folder="budget-stops-a-drain",
        options=("--drain", "n1"),
        why="Two of web's three run on n1 and the budget lets one go at a time. Levelled, n2 and n3 hold "
        "1 and 2, or 2 and 1: more go where there was more room.",
        placed={"shop/web": {"n3": 2}},
        said="2 steps",
    ),
    "an autoscaler at its most": Case(
        folder="autoscaler-at-its-most",
        options=("--scale-hpa", "max"),
        why="10 replicas of 1 core on 8 cores.",
        placed={"shop/web": {"n1": 4, "n2": 4}},
        waits={"shop/web": (2, "QueueShare")},
    ),
    "a CronJob comes later, a ReplicationController counts now": Case(
        folder="cron-job-and-old-controller",
        why="4 cores for 5 + 2 replicas of one namespace: the two workloads get 2 each.",
        placed={"shop/nightly": {}, "shop/legacy": {"n1": 2}, "shop/old": {"n1": 2}},
        waits={"shop/legacy": (3, "QueueShare")},
    ),
    "gates hold back, a suspended Job asks for nothing": Case(
        folder="gated-and-suspended",
        why="One waits behind its gate; later is suspended, none has no replicas.",
        placed={"shop/gated": {}, "shop/later": {}, "shop/none": {}, "shop/web": {"n1": 1}},
        waits={"shop/gated": (1, "HeldBack")},
        said="it waits behind the scheduling gate example.com/quota",
    ),
}  # fmt: skip

FLEET = {
    "karmada-static-weights": ("1 : 2 of 6.", {"member1": 2, "member2": 4}),
    "karmada-dynamic-room": (
        "Room for 2 and 4; a cluster that reports nothing has none.",
        {"member1": 2, "member2": 4},
    ),
    "karmada-fewest-regions": ("eu holds 6 of 8, us all of them: one region.", {"us-1": 8}),
}
"""By folder, why the replicas of nginx are divided so."""


def run(folder: str, *words: str) -> Result:
    return CliRunner().invoke(cli, ["plan", "-f", str(HERE / folder), *words], standalone_mode=False)


def answered(folder: str, *words: str) -> Any:
    record = json.loads(run(folder, "-o", "json", *words).stdout)
    return {**record.get("plan", record), "code": run(folder, "-o", "json", *words).return_value}


@pytest.mark.parametrize("name", CASES)
def test_plan_is_what_a_person_works_out(name: str) -> None:
    """Where everything goes, what waits and why, what is not counted, and the exit code."""
    case = CASES[name]
    record = answered(case.folder, *case.options)
    rows = [each for site in record["sites"] for each in site["workloads"]]
    placed = {each["workload"]: Counter[str]() for each in rows}
    for each in rows:
        for part in each["parts"]:
            placed[each["workload"]].update(part["placements"])
    waits = {each["workload"]: (each["unplaced"], each["findings"][-1]["reason"]) for each in rows if each["unplaced"]}
    assert {key: dict(counts) for key, counts in placed.items()} == case.placed, case.why
    assert waits == case.waits, case.why
    assert record.get("notCounted", {}) == case.not_counted
    assert record["code"] == (1 if case.waits else 0)
    assert case.said in " ".join(run(case.folder, "-o", "table", *case.options).stdout.split())


@pytest.mark.parametrize("folder", FLEET)
def test_division_is_what_a_person_works_out(folder: str) -> None:
    """Clusters whose nodes are not known are told, which is exit code 1."""
    why, want = FLEET[folder]
    record = answered(folder)
    (row,) = record["fleet"]
    assert {name: count for name, count in row["placements"].items() if count} == want, why
    assert len(record["unreached"]) == len(want)
    assert record["code"] == 1


def test_storage_replicas_go_where_they_fit() -> None:
    """Three replicas of 50Gi on disks of 100, 100 and 10Gi: one on each of the large ones, the third waits."""
    record = answered("longhorn-volumes")
    storage = record["storage"][""]
    assert sorted(each["node"] for each in storage["placements"]) == ["n1", "n2"]
    assert (storage["unplaced"], record["code"]) == (1, 1)


def test_every_folder_has_its_answer() -> None:
    """And there are at least twenty."""
    answered_for = {case.folder for case in CASES.values()} | set(FLEET) | {"longhorn-volumes"}
    assert answered_for == set(FOLDERS)
    assert len(FOLDERS) >= 20
