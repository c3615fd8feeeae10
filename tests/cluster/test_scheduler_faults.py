"""The scheduler under fault: kills, a server that restarts, a rival, a lost leader; and under its own rights."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.cluster import volcano
from tests.cluster.cutter import cutter
from tests.cluster.following import Followed, following
from tests.cluster.pages import free_port, measured, page
from tests.cluster.test_scheduler import condition, create, scheduler, workload, workloads_bound
from tests.cluster.test_scheduler_rules import record
from tests.deploys import apply, deployed

SYSTEM = "fairlead-system"


def cache_is_true(api: Api, port: int) -> bool:
    """After one more comparison the scheduler finds no difference from a fresh list."""
    before = measured(port, "fairlead_self_checks_total")
    api.wait("a comparison", lambda: measured(port, "fairlead_self_checks_total") > before >= 0, seconds=60)
    return measured(port, "fairlead_cache_differences") == 0


MARK = "fairlead.test/bound-by"
SHARE = 0.25
"""Of the bound pods, what the rival is content with."""


@contextmanager
def rival(api: Api, followed: Followed, nodes: list[str], seed: int) -> Iterator[Counter[str]]:
    """Somebody who binds waiting pods at random, whether they are his or not, and marks them.

    Several hands at once, while fewer than SHARE of the bound pods are his. Yields what the server answered.
    """
    stop, tally, lock = threading.Event(), Counter[str](), threading.Lock()

    def count(answer: str) -> None:
        with lock:
            tally[answer] += 1

    def bind(pod: dict[str, Any], node: str) -> None:
        meta = {"name": pod["metadata"]["name"], "annotations": {MARK: "rival"}}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        try:
            api.create(f"{followed.path}/{meta['name']}/binding", body)
            count("bound")
        except ApiError as error:
            count(str(error.status))
        except (OSError, http.client.HTTPException):
            count("unreachable")

    def work(random: Random) -> None:
        while not stop.wait(0.05):
            found = followed.waiting
            if tally["bound"] <= SHARE * (len(followed) - len(found)):
                for pod in random.sample(found, min(5, len(found))):
                    bind(pod, random.choice(nodes))

    threads = [threading.Thread(target=work, args=(Random(seed + hand),), daemon=True) for hand in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def by_rival(pod: dict[str, Any]) -> bool:
    """Whether the rival bound it."""
    return (pod["metadata"].get("annotations") or {}).get(MARK) == "rival"


def all_there(api: Api, followed: Followed, pods: int) -> None:
    """Wait until the controllers have made all pods."""
    api.wait(f"{pods} pods", lambda: len(followed) == pods, seconds=300)


def all_bound(api: Api, followed: Followed) -> None:
    """Wait until every pod has a node."""
    api.wait("all pods bound", lambda: not followed.waiting, seconds=300)


def kill_at_random(api: Api, kubeconfig: Path, followed: Followed, goal: int, kills: int, seed: int) -> None:
    """Kill the scheduler again and again on the way to `goal` bound pods."""
    random = Random(seed)
    for number in range(kills):
        least = goal * (number + 1) // (kills + 1)
        with scheduler(kubeconfig, "--no-leader-election", "--no-events") as process:
            api.wait("progress", lambda least=least: followed.states["bound"] >= least, seconds=300)
            time.sleep(random.random() / 5)
            process.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the scheduler went through, and what came of it.

    `answers` are what the rival was told, `taken` how many pods he bound. `most` is the most cores of one node that the
    scheduler granted, `moved` counts pods that were seen on more than one node.
    """

    cuts: int
    answers: Counter[str]
    taken: int
    most: int
    moved: int
    true: bool


def live_through(
    api: Api,
    plane: ControlPlane,
    folder: Path,
    namespace: str,
    nodes: list[str],
    *,
    pods: int,
    kills: int,
    rounds: int,
) -> Story:
    """Pods of one core each, in three parts: kills; a server that restarts while watches are cut; more pods.

    A rival wants the same pods all the time. A queue, a weight and a gang are there too, so that there are books to be
    compared.
    """
    early = pods * 4 // 5
    each = max(early // 50, 10)
    port, pages, cuts, gangs = free_port(), free_port(), 0, f"{namespace[:40]}-gangs"
    volcano.install(api)
    with (
        cutter(plane.kubeconfig, folder) as way,
        volcano.namespaces(api, gangs),
        volcano.queues(api, cut={"weight": 2}),
        following(api, namespace) as followed,
    ):
        create(api, namespace, *(workload(namespace, f"w{number}", each) for number in range(early // each)))
        all_there(api, followed, early)
        volcano.weigh(api, gangs, 3)
        volcano.make_gang(api, gangs, "gang", 5, queue="cut")
        options = ("--no-leader-election", "--no-events", "--self-check", "1", "--listen", f"127.0.0.1:{port}")
        options += ("--pages", f"127.0.0.1:{pages}")
        with rival(api, followed, nodes, seed=4) as answers:
            kill_at_random(api, plane.kubeconfig, followed, early * 9 // 10, kills, seed=3)
            with scheduler(way.kubeconfig, *options):
                for number in range(rounds):
                    plane.restart_apiserver(kill=number % 2 == 0)
                    api.wait("it follows", lambda: page(port, "/readyz") == "ok\n", seconds=180)
                    cuts += way.cut()
                all_bound(api, followed)
                late = (pods - early) // 4
                create(api, namespace, *(workload(namespace, f"r{number}", late) for number in range(4)))
                all_there(api, followed, early + 4 * late)
                cuts += way.cut()
                all_bound(api, followed)
                api.wait("the gang", lambda: volcano.bound(api, gangs)["gang"] == 5, seconds=180)
                true = cache_is_true(api, port)
                some = next(iter(followed.pods))
                assert '"state":"bound"' in page(pages, f"/explain?pod={namespace}/{some}")
        found = api.items(followed.path)
        mine = Counter(pod["spec"]["nodeName"] for pod in found if not by_rival(pod))
        return Story(
            cuts=cuts,
            answers=answers,
            taken=len(found) - mine.total(),
            most=max(mine.values()),
            moved=sum(len(places) > 1 for places in followed.places.values()),
            true=true,
        )


def test_scheduler_survives_kills_cuts_a_restarted_server_and_a_rival(
    api: Api,
    control_plane: ControlPlane,
    tmp_path: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """5 kills during 500 pods and the rest: every pod bound once, no room promised twice, the cache true."""
    nodes = kwok_nodes(10, cpu="64", labels={"pool": namespace})
    story = live_through(api, control_plane, tmp_path, namespace, nodes, pods=500, kills=5, rounds=1)
    assert story.cuts
    assert story.taken >= 50
    assert (story.most <= 64, story.moved, story.true) == (True, 0, True)


@pytest.mark.proof
@pytest.mark.timeout(2400)
def test_scheduler_survives_fifty_kills(
    api: Api,
    control_plane: ControlPlane,
    tmp_path: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """50 kills during 5,000 pods, and the rest at full size; the result is written down."""
    nodes = kwok_nodes(100, cpu="64", labels={"pool": namespace})
    story = live_through(api, control_plane, tmp_path, namespace, nodes, pods=5000, kills=50, rounds=3)
    record(
        f"5,000 pods on {len(nodes)} nodes of 64 cores: 50 SIGKILLs, 3 restarts of the API server (2 by SIGKILL), "
        f"{story.cuts} connections cut (watches among them), all the time a rival of four hands that bound "
        f"{story.taken} of the pods and came too late for {story.answers['409']}: every pod bound, "
        f"{story.moved} of them on more than one node, at most {story.most} cores of a node granted by the scheduler, "
        f"the cache {'equal to' if story.true else 'NOT equal to'} a fresh list.",
        "faults",
    )
    assert story.taken >= 500
    assert (story.most <= 64, story.moved, story.true) == (True, 0, True)


def test_scheduler_that_lost_its_lease_binds_nothing(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Another takes the lease while it works: it stops at once; when the lease is gone it leads and works again."""
    kwok_nodes(4, cpu="64", labels={"pool": namespace})
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/fairlead-scheduler"
    port, pages = free_port(), free_port()
    options = ("--lease-namespace", namespace, "--listen", f"127.0.0.1:{port}", "--pages", f"127.0.0.1:{pages}")
    with scheduler(kubeconfig, *options):
        create(api, namespace, workload(namespace, "a", 20))
        api.wait("the first pods bound", lambda: workloads_bound(api, namespace)["a"] == 20, seconds=180)
        api.patch(lease, {"spec": {"holderIdentity": "somebody-else"}})
        api.wait("it knows", lambda: measured(port, "fairlead_leader") == 0, seconds=180)
        create(api, namespace, workload(namespace, "b", 20))
        where = f"/api/v1/namespaces/{namespace}/pods"

        def seen() -> bool:
            names = [pod["metadata"]["name"] for pod in api.items(where, labelSelector="app=b")]
            told = [page(pages, f"/explain?pod={namespace}/{name}") for name in names]
            return len(names) == 20 and all('"state":"waiting"' in each for each in told)

        api.wait("it sees the pods", seen, seconds=180)
        # One more look after all were seen: a cycle that should not be would have bound them by now.
        assert seen()
        assert workloads_bound(api, namespace)["b"] == 0
        api.delete(lease)
        api.wait("it works again", lambda: workloads_bound(api, namespace)["b"] == 20, seconds=180)


def idle_share(api: Api, kubeconfig: Path, namespace: str, pods: int, seconds: float) -> float:
    """CPU seconds a second of a scheduler with so many unschedulable pods."""
    create(api, namespace, *(workload(namespace, f"w{number}", pods // 10, cpu="500") for number in range(10)))
    port = free_port()

    def told() -> bool:
        found = api.items(f"/api/v1/namespaces/{namespace}/pods")
        return len(found) == pods and all(
            any(each["type"] == "PodScheduled" for each in pod["status"].get("conditions", ())) for pod in found
        )

    with scheduler(kubeconfig, "--no-leader-election", "--listen", f"127.0.0.1:{port}") as process:
        api.wait("all told", told, seconds=300)
        time.sleep(60)  # the events have their own pace
        before, start = _cpu(process.pid), time.monotonic()
        time.sleep(seconds)
        return (_cpu(process.pid) - before) / (time.monotonic() - start)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.proof
def test_scheduler_idles(api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]) -> None:
    """1,000 unschedulable pods cost less than 2 % of a core."""
    kwok_nodes(20, labels={"pool": namespace})
    share = idle_share(api, kubeconfig, namespace, 1000, 60)
    record(f"Idle with 1,000 unschedulable pods: {share:.2%} of a core over 60 s.")
    assert share < 0.02


def applied(plane: ControlPlane) -> Path:
    """Apply the deployment files; the kubeconfig of their ServiceAccount."""
    for manifest in deployed("common", "scheduler"):
        # Two more pods that nobody runs would only be in the way.
        query = {"dryRun": "All"} if manifest["kind"] == "Deployment" else {}
        apply(plane.api, manifest, **query)
    return plane.kubeconfig_for_service_account(SYSTEM, "fairlead-scheduler")


def test_scheduler_works_with_the_rights_it_is_deployed_with(
    api: Api, control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """The files apply; under their ServiceAccount it leads, binds, tells and records."""
    own = applied(control_plane)
    kwok_nodes(2, labels={"pool": namespace})
    create(api, namespace, workload(namespace, "web", 4), workload(namespace, "big", 1, cpu="500"))
    with scheduler(own, "--lease-namespace", SYSTEM):
        api.wait("the pods bound", lambda: workloads_bound(api, namespace)["web"] == 4, seconds=90)
        api.wait("the reason", lambda: condition(api, namespace, "big").get("status") == "False", seconds=60)
        events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        api.wait(
            "the events",
            lambda: {"Scheduled", "FailedScheduling"} <= {each["reason"] for each in api.items(events)},
            seconds=60,
        )
