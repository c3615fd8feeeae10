"""Live clusters and simulations as sources."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.resources import DEPLOYMENTS, NODES, PODS, REPLICA_SETS
from fairlead.model.errors import InputError
from fairlead.sim.film import FRAMES, Film
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import run
from fairlead.web import source_live
from fairlead.web.replay import Replay
from fairlead.web.source_live import READ, Followed, LiveSource
from fairlead.web.source_replay import ReplaySource
from fairlead.web.stage import ViewStage
from fairlead.web.views import VIEWS, Look
from tests.deploys import deployed
from tests.fake.api import FakeApi
from tests.sim.stories import told, workload

ALLOCATABLE = {"cpu": "4", "memory": "8Gi", "pods": "110"}


def town(*nodes: str) -> FakeApi:
    """A cluster with these nodes, of four cores each, and a deployment of six replicas of one core."""
    api = FakeApi()
    for name in nodes:
        api.put(NODES, {"metadata": {"name": name}, "status": {"allocatable": ALLOCATABLE}})
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    body = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"replicas": 6, "template": template}}
    api.put(DEPLOYMENTS, body)
    return api


class Watched(ViewStage):
    """A stage that one can wait for."""

    async def until(self, wanted: Callable[[Look], bool]) -> Look:
        """The first look that is as wanted."""
        while not wanted(self.look):
            await self.newer(self.revision, 30)
        return self.look


@asynccontextmanager
async def following(*apis: tuple[str, FakeApi]) -> AsyncIterator[Watched]:
    """A stage fed by these clusters."""
    transports = dict(apis)

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    def client(connection: Connection) -> Client:
        return Client(transports[connection.server])

    stage = Watched("test")
    clusters = [Followed(name if len(apis) > 1 else "", Connection(server=name)) for name, _ in apis]
    task = asyncio.create_task(LiveSource(clusters, "test", client=client, sleep=at_once).run(stage))
    try:
        yield stage
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def waiting(look: Look) -> int | None:
    """Replicas that wait, None before there is a plan."""
    return look.decided.unplaced if look.decided is not None else None


async def test_live_change_is_planned_and_told() -> None:
    """A node that joins takes what waited; a pod that runs is seen on it."""
    api = town("n1")
    async with following(("one", api)) as stage:
        await stage.until(lambda look: waiting(look) == 2)
        api.put(NODES, {"metadata": {"name": "n2"}, "status": {"allocatable": ALLOCATABLE}})
        look = await stage.until(lambda look: waiting(look) == 0)
        assert VIEWS["map"](look)["sites"][0]["names"] == ["n1", "n2"]
        pod = {"nodeName": "n2", "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}
        api.put(PODS, {"metadata": {"name": "p", "namespace": "shop"}, "spec": pod})
        await stage.until(lambda look: waiting(look) == 1)
        assert [each["kind"] for each in stage.history.record()["changes"]]


def condemned(name: str, reason: str, message: str, status: str = "True", **meta: Any) -> dict[str, Any]:
    """A pod that runs on n1 and says why it is about to go."""
    condition = {"type": "DisruptionTarget", "status": status, "reason": reason, "message": message}
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", **meta},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "True"}, condition]},
    }


async def test_evictions_are_told_by_whom_for_whom() -> None:
    """From the pod's own condition: the first that is written counts, a refused eviction does not."""
    api = town("n1")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}
    above = {**owner, "kind": "Deployment", "name": "web"}
    group = {"annotations": {"scheduling.k8s.io/group-name": "train"}}
    preempting = "PreemptionByScheduler"
    api.put(REPLICA_SETS, {"metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [above]}})
    async with following(("one", api)) as stage:
        await stage.until(lambda look: waiting(look) == 2)
        api.put(PODS, condemned("a", preempting, "makes room for PodGroup/ml/serve", **group))
        api.put(PODS, condemned("a", "EvictionByEvictionAPI", "Eviction API: evicting", **group))
        api.put(PODS, condemned("b", preempting, "makes room for PodGroup/ml/serve", **group))
        api.put(PODS, condemned("c", preempting, "kube-scheduler: preempting to accommodate a higher priority pod"))
        api.put(PODS, condemned("d", "DeletionByTaintManager", "", ownerReferences=[owner]))
        api.put(PODS, condemned("e", preempting, "makes room for Job/ml/other"))
        api.put(PODS, condemned("e", preempting, "the eviction was refused", status="False"))

        def told() -> list[tuple[str, int, str, str]]:
            found = stage.history.record()["evictions"]
            return [(each["job"], each["count"], each["by"], each["for"]) for each in found]

        want = [
            ("PodGroup/shop/train", 2, "Fairlead's scheduler", "PodGroup/ml/serve"),
            ("Pod/shop/c", 1, "kube-scheduler", ""),
            ("Deployment/shop/web", 1, "taints of the node", ""),
        ]
        await stage.until(lambda look: told() == want)


async def test_several_clusters_are_sites_of_one_page() -> None:
    """Each object counts where it was read; no object of one is in another."""
    async with following(("east", town("n1")), ("west", town("n1", "n2"))) as stage:
        look = await stage.until(lambda look: waiting(look) is not None)
        sites = VIEWS["overview"](look)["sites"]
        assert [(site["cluster"], site["nodes"]) for site in sites] == [("east", 1), ("west", 2)]
        assert waiting(look) == 2


async def test_trouble_with_the_server_is_told_and_forgotten() -> None:
    """What was known stays."""
    api = town("n1")
    async with following(("one", api)) as stage:
        await stage.until(lambda look: waiting(look) == 2)
        api.fail(status=500, method="GET", times=40)
        api.end_watches(cut=True)
        look = await stage.until(lambda look: bool(look.trouble))
        assert look.view.sites[0].nodes.names == ("n1",)


async def test_trouble_of_one_cluster_names_it() -> None:
    """The other one is planned as before."""
    broken = town("n1")
    broken.fail(status=403, method="GET", path="/apis/apps/v1/deployments", times=1000)
    async with following(("east", broken), ("west", town("n1"))) as stage:
        look = await stage.until(lambda look: waiting(look) == 2)
        assert look.trouble.startswith("east: ")
        assert "west" not in look.trouble


async def test_kind_that_may_not_be_read_is_told_and_left_out() -> None:
    """The rest is planned."""
    api = town("n1")
    api.fail(status=403, method="GET", path="/apis/longhorn.io/v1beta2/volumes", times=1000)
    async with following(("one", api)) as stage:
        look = await stage.until(lambda look: waiting(look) == 2)
        assert "volumes" in look.trouble


@pytest.mark.parametrize("broken", ["snapshot", "plan"])
async def test_defect_keeps_the_last_plan_and_ends_with_the_next_change(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says what failed beside the last plan; a change is planned again."""
    api, sound = town("n1"), getattr(source_live, broken)

    def defective(*given: Any) -> Any:
        raise ZeroDivisionError("too thin")

    async with following(("one", api)) as stage:
        before = await stage.until(lambda look: waiting(look) == 2)
        monkeypatch.setattr(source_live, broken, defective)
        api.put(NODES, {"metadata": {"name": "n2"}, "status": {"allocatable": ALLOCATABLE}})
        told = await stage.until(lambda look: bool(look.trouble))
        assert told.decided is before.decided
        assert re.fullmatch(
            r"no new plan: a defect of Fairlead: ZeroDivisionError at test_sources.py:\d+: too thin", told.trouble
        )
        assert VIEWS["overview"](told)["trouble"] == told.trouble
        assert len(stage.history.record()["samples"]) == 1
        monkeypatch.setattr(source_live, broken, sound)
        api.put(NODES, {"metadata": {"name": "n3"}, "status": {"allocatable": ALLOCATABLE}})
        assert not (await stage.until(lambda look: waiting(look) == 0)).trouble


@pytest.mark.parametrize("broken", ["snapshot", "plan"])
async def test_defect_of_the_first_plan_is_told_and_tried_again(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes, yet after a pause it is tried again."""
    sound, tries = getattr(source_live, broken), []

    def defective(*given: Any) -> Any:
        tries.append(given)
        if len(tries) < 3:
            raise InputError("nodes/n1", "is too thin")
        return sound(*given)

    monkeypatch.setattr(source_live, broken, defective)
    monkeypatch.setattr(source_live, "AGAIN_S", 0.05)
    async with following(("one", town("n1"))) as stage:
        told = await stage.until(lambda look: bool(look.trouble))
        assert (told.trouble, told.decided) == ("no new plan: nodes/n1: is too thin", None)
        assert not (await stage.until(lambda look: waiting(look) == 2)).trouble


def test_rights_of_the_component_are_to_read_what_a_plan_reads() -> None:
    """deploy/ui allows every kind that is followed, and to write nothing."""
    role = next(each for each in deployed("ui") if each["kind"] == "ClusterRole")
    allowed = {(group, kind) for rule in role["rules"] for group in rule["apiGroups"] for kind in rule["resources"]}
    assert allowed == {(each.group, each.plural) for each in READ}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}


def replay(**fields: Any) -> tuple[Replay, Film]:
    """A short simulation under one policy."""
    story = told(**fields)
    film = Film(story)
    policy = SimPolicy(name="communism")
    return Replay(story, [run(story, policy, film=film)], {"communism": film}), film


async def test_moment_of_a_simulation_can_be_planned() -> None:
    """What runs then is there, what waits then waits, and the plan explains it."""
    found, _ = replay(workloads=[workload("a", 12, duration="30m"), workload("b", 8, at="10m")])
    early, late = await found.look("", 60), await found.look("communism", 15 * 60)
    assert (waiting(early), waiting(late)) == (0, 4)
    running = VIEWS["overview"](late)["replicas"]["running"]
    assert running == 16
    later = await found.look("", 40 * 60)
    assert VIEWS["overview"](later)["replicas"] == {"asked": 8, "running": 8, "placed": 0, "waiting": 0}
    with pytest.raises(InputError, match="was not simulated"):
        await found.look("other", 0)


async def test_lives_of_jobs_tell_waiting_and_running() -> None:
    """From the first wait to the end."""
    found, _ = replay(workloads=[workload("a", 16, duration="30m"), workload("b", 4, at="10m", duration="5m")])
    jobs = {job["job"]: job["spans"] for job in found.record()["policies"][0]["jobs"]}
    assert jobs["default/a"] == [[0.0, 16, 0], [1800.0, 0, 0]]
    assert jobs["default/b"] == [[600.0, 0, 4], [1800.0, 4, 0], [2100.0, 0, 0]]


async def test_evictions_name_the_job_they_are_for() -> None:
    """By whom and for whom."""
    story = told(
        namespaces={"x": 1, "y": 3},
        workloads=[
            workload("low", 16, namespace="x", duration="50m"),
            workload("high", 8, namespace="y", at="10m", duration="20m", priority=10),
        ],
    )
    film = Film(story)
    run(story, SimPolicy(name="p", preempt=True), film=film)
    evicted = [each for job in film.jobs() for each in job["evictions"]]
    assert {each["for"] for each in evicted} <= {"y/high"}
    assert evicted


def test_film_is_thinned_where_it_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second frame goes; moments are still found."""
    monkeypatch.setattr("fairlead.sim.film.MOST_ROWS", 100)
    _, film = replay(workloads=[workload(f"w{number}", 1) for number in range(4)])
    assert film.every_ms > 3_600_000 // FRAMES
    assert len(film.snapshot(film.place(59 * 60 * 1000)).sites[0].workloads) == 4


async def test_replay_shows_its_first_moment() -> None:
    """Before any other is asked for."""
    found, _ = replay(workloads=[workload("a", 2, at="1m")])
    stage = ViewStage("test")
    await ReplaySource(found, "test").run(stage)
    assert VIEWS["overview"](stage.look)["replicas"]["asked"] == 0
    assert found.about()["policies"] == ["communism"]
