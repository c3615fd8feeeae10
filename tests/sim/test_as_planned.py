"""What a plan heeds before queues and nodes are asked, the first instant of a simulation heeds too: what runs on every
node, quotas, and what keeps replicas from starting."""

from collections import Counter
from typing import Any

import pytest

from fairlead.engine.admission import within
from fairlead.engine.plan import plan
from fairlead.engine.site_plan import spots
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.load import Manifest
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.snapshot import Site, Snapshot
from fairlead.sim import quotas
from fairlead.sim.film import Film
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import _Loop, run
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story

Raw = dict[str, Any]
Places = dict[str, Counter[str]]
FAIR = SimPolicy(name="fair")


def node(name: str, cpu: int = 4, **spec: Any) -> Raw:
    """A node of so many cores."""
    offered = {"cpu": str(cpu), "memory": "16Gi", "pods": "20"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"allocatable": offered},
    }


def workload(kind: str, name: str, replicas: int = 0, cpu: str = "1", port: int = 0, **template: Any) -> Raw:
    """A workload of namespace a."""
    container: Raw = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    if port:
        container["ports"] = [{"containerPort": port, "hostPort": port}]
    pods = {
        "metadata": {"labels": {"app": name}, "annotations": template.pop("annotations", {})},
        "spec": {"containers": [container], **template},
    }
    sizes = {"parallelism": replicas, "completions": replicas} if kind == "Job" else {"replicas": replicas}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "a"},
        "spec": {**(sizes if kind != "DaemonSet" else {}), "template": pods},
    }


def quota(**hard: str) -> Raw:
    """What namespace a may hold."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "a"},
        "spec": {"hard": hard},
    }


def site_of(*objects: Raw) -> Site:
    """The cluster of these objects."""
    found = catalogue([Manifest("test", each) for each in objects])
    (site,) = snapshot(found).sites
    assert found.errors == []
    return site


def planned(site: Site) -> Places:
    """New replicas by workload and node, without those of DaemonSets."""
    (made,) = plan(Snapshot(sites=(site,))).sites
    found = {path.workload.name: Counter[str]() for path in made.paths if path.workload.kind != "DaemonSet"}
    for path in made.paths:
        for part in path.parts if path.workload.name in found else ():
            found[path.workload.name].update(spots(part, site.nodes.names))
    return found


def loop_of(site: Site, until_ms: int = 1, **scenario: Any) -> _Loop:
    """A simulation of the cluster that has run to its end; by default its first instant."""
    loop = _Loop(story(scenario_of(scenario), site=site, until_ms=until_ms), FAIR)
    loop.until_the_end(lambda now: None)
    return loop


def simulated(loop: _Loop) -> Places:
    """Replicas that run by workload and node."""
    found = {job.workload.name: Counter[str]() for job in loop.jobs.values()}
    for job in loop.jobs.values():
        for batch in job.batches.values():
            for row, count in zip(batch.rows.tolist(), batch.counts.tolist(), strict=True):
                found[job.workload.name][loop.cluster.state.names[row]] += count
    return found


def running(loop: _Loop) -> dict[str, int]:
    """How many replicas of each workload run."""
    return {name: places.total() for name, places in simulated(loop).items()}


def test_what_daemons_take_is_not_shared() -> None:
    """Eight cores, of which daemons take four: two queues of one weight get two cores each, not four and none."""
    queues = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": 1},
        }
        for name in ("x", "y")
    ]
    waiting = [
        workload("Deployment", name, 6, cpu=cpu, annotations={"scheduling.volcano.sh/queue-name": name})
        for name, cpu in (("x", "1"), ("y", "500m"))
    ]
    site = site_of(node("n1"), node("n2"), workload("DaemonSet", "logs", cpu="2"), *queues, *waiting)
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"x": 2, "y": 4}


def test_ports_and_labels_of_daemons_are_seen() -> None:
    """A daemon has the port on every node; another keeps away those that mind its label."""
    near = {"labelSelector": {"matchLabels": {"app": "logs"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    nodes = [node("n1"), node("n2")]
    for each in nodes:
        each["metadata"]["labels"] = {"kubernetes.io/hostname": each["metadata"]["name"]}
    site = site_of(
        *nodes,
        workload("DaemonSet", "logs", port=80),
        workload("Deployment", "web", 2, port=80),
        workload("Deployment", "shy", 2, affinity=apart),
    )
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"web": 0, "shy": 0}


def test_quota_bounds_what_is_created() -> None:
    """Three of eight pods, those of the higher priority first."""
    site = site_of(
        node("n1"),
        node("n2"),
        quota(pods="3"),
        workload("Deployment", "low", 4, cpu="500m"),
        workload("Deployment", "high", 2, cpu="500m", priority=9),
    )
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"low": 1, "high": 2}


def test_gang_that_a_quota_cuts_short_starts_nothing() -> None:
    """The quota leaves room for one of the four that start together."""
    gang = workload("Job", "train", 4, annotations={"scheduling.k8s.io/group-name": "train"})
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"minMember": 4},
    }
    site = site_of(node("n1"), quota(**{"requests.cpu": "1"}), group, gang)
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"train": 0}


@pytest.mark.parametrize(
    ("sizes", "runs"), [([1], 0), ([4], 0), ([5], 5), ([1] * 4, 0), ([1] * 5, 5), ([2, 2], 0), ([2, 4], 6)]
)
def test_gang_with_fewer_replicas_than_it_starts_with_waits(sizes: list[int], runs: int) -> None:
    """Five start together: they are of one workload, or bare pods, or of two workloads."""
    own = {"scheduling.k8s.io/group-name": "train"}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"minMember": 5},
    }
    gang = [workload("Job", f"train-{row}", count, annotations=dict(own)) for row, count in enumerate(sizes)]
    site = site_of(node("n1"), node("n2"), group, *gang)
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert sum(running(loop).values()) == runs


def test_gang_waits_for_the_resources_that_its_group_asks_for() -> None:
    """Four of six cores are there, and one replica would do: the group wants six cores all the same."""
    gang = workload("Job", "train", 6, annotations={"scheduling.k8s.io/group-name": "train"})
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"minMember": 1, "minResources": {"cpu": "6"}},
    }
    small, large = (site_of(node("n1", cpu), group, gang) for cpu in (4, 6))
    group["spec"]["minResources"] = {"example.com/none": "1"}
    unknown = site_of(node("n1", 6), group, gang)
    assert running(loop_of(unknown)) == {"train": planned(unknown)["train"].total()} == {"train": 0}
    assert (running(loop_of(small)), running(loop_of(large))) == ({"train": 0}, {"train": 6})
    assert simulated(loop_of(small)) == planned(small)


def test_gang_of_two_workloads_shares_its_minimum_resources() -> None:
    """Eight of eight cores are asked for together: what the first workload has taken is not asked for again."""
    own = {"scheduling.k8s.io/group-name": "train"}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "a"},
        "spec": {"minMember": 8, "minResources": {"cpu": "8"}},
    }
    gang = [workload("Job", name, count, annotations=dict(own)) for name, count in (("lead", 2), ("work", 6))]
    site = site_of(node("n1"), node("n2"), group, *gang)
    loop = loop_of(site)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"lead": 2, "work": 6}


def test_those_of_one_moment_take_turns_by_age_and_name_whatever_their_kind() -> None:
    """Room for one of them: by name the Job is before the Deployment, and what has no time is the youngest."""
    both = [workload("Deployment", "b", 1), workload("Job", "a", 1)]
    site = site_of(node("n1", cpu=1), *both)
    assert simulated(loop_of(site)) == planned(site) == {"a": Counter(n1=1), "b": Counter()}
    both[0]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    site = site_of(node("n1", cpu=1), *both)
    assert simulated(loop_of(site)) == planned(site) == {"a": Counter(), "b": Counter(n1=1)}


def test_what_is_held_back_never_starts() -> None:
    """A scheduling gate holds."""
    site = site_of(node("n1"), workload("Deployment", "gated", 2, schedulingGates=[{"name": "g"}]))
    loop = loop_of(site, until_ms=3_600_000)
    assert simulated(loop) == planned(site)
    assert running(loop) == {"gated": 0}


def test_quota_that_is_given_back_is_taken_by_others() -> None:
    """One ends, and another takes its place; the last, scaled down while it waits, leaves its place too."""
    site = site_of(
        node("n1", 8),
        quota(pods="2"),
        workload("Deployment", "first", 2, priority=9),
        workload("Deployment", "second", 2, priority=5, nodeSelector={"disk": "none"}),
        workload("Deployment", "third", 2),
    )
    assert running(loop_of(site)) == {"first": 2, "second": 0, "third": 0}
    ended = {"at": "10m", "finish": "a/first"}
    assert running(loop_of(site, 1_200_000, events=[ended])) == {"first": 0, "second": 0, "third": 0}
    given_up = {"at": "15m", "scale": "a/second", "replicas": 1}
    loop = loop_of(site, 1_200_000, events=[ended, given_up])
    assert running(loop) == {"first": 0, "second": 0, "third": 1}


def test_cordoned_node_stays_cordoned_when_an_outage_of_it_ends() -> None:
    """It failed and is back, and takes nothing new all the same."""
    site = site_of(node("n1"), node("n2", unschedulable=True), workload("Deployment", "web", 8))
    events = [{"at": "1m", "fail": {"nodes": ["n2"]}, "back": "1m"}]
    assert simulated(loop_of(site, 600_000, events=events)) == planned(site) == {"web": Counter(n1=4)}


def test_a_moment_of_a_replay_is_planned_within_the_same_bounds() -> None:
    """What waits for the quota in the simulation waits for it in the plan of the moment."""
    site = site_of(node("n1"), node("n2"), quota(pods="4"), workload("DaemonSet", "logs"), workload("Job", "j", 5))
    told = story(scenario_of({}), site=site, until_ms=240_000)
    film = Film(told)
    assert run(told, FAIR, film=film).record["unplaced"] == 1
    (path,) = plan(film.snapshot(film.place(120_000))).sites[0].paths
    assert (path.unplaced, [each.reason.code for each in path.findings]) == (1, ["QuotaExceeded"])


def test_what_has_no_time_is_younger_than_all_that_has_one() -> None:
    """Then names decide, whatever the kinds: of three that ask for a core each there is room for two."""
    old, new, early = workload("Job", "old", 1), workload("Deployment", "new", 1), workload("Job", "early", 1)
    for each, day in ((old, "02"), (early, "")):
        each["metadata"] |= {"creationTimestamp": f"2026-01-{day}T00:00:00Z"} if day else {}
    loop = loop_of(site := site_of(node("n1", 2), new, old, early))
    assert simulated(loop) == planned(site)
    assert running(loop) == {"new": 0, "old": 1, "early": 1}


def test_workloads_of_one_name_all_arrive() -> None:
    """Three kinds at one instant."""
    kinds = ("Deployment", "StatefulSet", "Job")
    loop = loop_of(site_of(node("n1", 8), *(workload(kind, "w", 2) for kind in kinds)))
    assert {job.workload.kind: job.running for job in loop.jobs.values()} == dict.fromkeys(kinds, 2)


def test_quotas_are_looked_at_only_where_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of forty namespaces in which a job waits for its quota that in which one has ended."""
    asked: list[list[str]] = []

    def seen(left: Any, splits: Any, turns: Any) -> Any:
        asked.append(sorted({split.parts[0].workload.namespace for split in splits}))
        return within(left, splits, turns)

    monkeypatch.setattr(quotas, "within", seen)
    given = [node(f"n{row}") for row in range(20)]
    for row in range(40):
        own = [workload("Job", "first", 2), workload("Job", "second", 2), quota(pods="2")]
        for each in own:
            each["metadata"]["namespace"] = f"ns{row}"
        given += own
    ends = [{"at": at, "finish": f"{name}/first"} for at, name in (("10m", "ns7"), ("15m", "ns8"))]
    loop = loop_of(site_of(*given), 1_200_000, events=ends)
    assert [len(namespaces) for namespaces in asked[:2]] == [40, 40]
    assert asked[2:] == [["ns8"]]  # in ns7 nothing waits any more
    assert sum(job.running for job in loop.jobs.values()) == 80
