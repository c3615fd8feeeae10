"""The fleet scheduler as a process with estimators, on a real API server: shadow first, then at work."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api

from tests.cluster.karmada import CLUSTERS, Bindings, binding, cluster, condition, counts, define, defined_by, fleet
from tests.cluster.pages import free_port, page
from tests.cluster.test_fleet_definitions import SHIPPED
from tests.live.estimators import serving

APPLIED = "policy.karmada.io/applied-placement"
BY_ROOM = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
NOW = "2026-01-01T00:00:00Z"
COMPONENTS = [
    {"name": name, "replicas": n, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}
    for name, n in (("manager", 1), ("worker", 3))
]


@contextmanager
def estimators(answer: Callable[[bytes], bytes]) -> Iterator[int]:
    """A server of estimators in a thread of its own; the port."""
    loop, started, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with serving(answer) as server:
            ports.append(server.port)
            started.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    started.wait(30)
    try:
        yield ports[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()


@pytest.fixture
def pair(api: Api, namespace: str) -> Iterator[tuple[Bindings, list[str]]]:
    """Two members that report nine free pods and cores each; Karmada's own definitions where they are at hand."""
    define(api, "karmada.yaml")
    names = [f"{namespace}-m1", f"{namespace}-m2"]
    with ExitStack() as stack:
        files = sorted(SHIPPED.glob("work.karmada.io_*.yaml"))
        stack.enter_context(defined_by(api, [yaml.safe_load(file.read_text()) for file in files]))
        api.create_many(CLUSTERS, [cluster(name, {"pool": namespace}) for name in names])
        for name in names:
            summary = {"allocatable": {"cpu": "9", "pods": "9"}}
            api.patch(f"{CLUSTERS}/{name}/status", {"status": {"resourceSummary": summary}})
        found = Bindings(api, namespace)
        yield found, names
        for each in found.all():
            api.delete(f"{found.path}/{each['metadata']['name']}")
        for name in names:
            api.delete(f"{CLUSTERS}/{name}")


def answered(bindings: Bindings, name: str, **replicas: int) -> None:
    """What karmada-scheduler writes: clusters and the applied placement, then the status."""
    placement = bindings.get(name)["spec"]["placement"]
    clusters = [{"name": at, "replicas": n} for at, n in replicas.items()]
    said = {"annotations": {APPLIED: json.dumps(placement)}}
    bindings.patch(name, {"metadata": said, "spec": {"clusters": clusters}})
    generation = bindings.get(name)["metadata"]["generation"]
    scheduled = {"type": "Scheduled", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": NOW}
    status = {"conditions": [scheduled], "schedulerObservedGeneration": generation, "lastScheduledTime": NOW}
    bindings.api.patch(f"{bindings.path}/{name}/status", {"status": status})


def test_shadow_with_estimators_differs_and_says_by_what_then_places_by_them(
    api: Api, kubeconfig: Path, namespace: str, pair: tuple[Bindings, list[str]], tmp_path: Path
) -> None:
    """The reports allow four and four, the estimators one and seven; a set goes where they have room for a whole."""
    bindings, (first, second) = pair
    room = {first: 1, second: 7}
    sets = {first: 0, second: 1}

    def answer(message: bytes) -> bytes:
        told = sets if b"manager" in message else room
        count = told.get(message[2 : 2 + message[1]].decode(), 0)
        return bytes((8, count)) if count else b""

    where = {"clusterAffinity": {"labelSelector": {"matchLabels": {"pool": namespace}}}}
    divided = {**where, "replicaScheduling": BY_ROOM}
    needs = {"replicaRequirements": {"resourceRequest": {"cpu": "1"}}}
    with estimators(answer) as port:
        file = tmp_path / "fairlead.yaml"
        settings = {"estimator": {"address": f"127.0.0.1:{port}"}}
        file.write_text(json.dumps({"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", "fleet": settings}))
        bindings.create(binding("theirs", 8, divided, **needs, schedulerName="default-scheduler"))
        pages = free_port()
        options = ("--config", str(file), "--pages", f"127.0.0.1:{pages}")
        with fleet(kubeconfig, "--shadow", *options):
            api.wait("it is decided", lambda: "theirs" in page(pages, "/decisions"), seconds=180)
            answered(bindings, "theirs", **{first: 4, second: 4})

            def found() -> list[dict[str, Any]]:
                return list(json.loads(page(pages, "/differences") or "{}").get("differences", []))

            api.wait("the difference is told", lambda: bool(found()), seconds=180)
            (difference,) = found()
        assert difference["ours"]["clusters"] == difference["ours"]["estimates"] == room
        assert difference["theirs"]["clusters"] == {first: 4, second: 4}
        train = binding("train", 0, where, components=COMPONENTS)
        del train["spec"]["replicas"]
        bindings.create(binding("web", 8, divided, **needs), train)
        with fleet(kubeconfig, *options):
            api.wait("both are placed", lambda: all(placed(bindings, name) for name in ("web", "train")), seconds=180)
        assert counts(bindings.get("web")) == room
        assert list(counts(bindings.get("train"))) == [second]


def placed(bindings: Bindings, name: str) -> bool:
    return condition(bindings.get(name)).get("reason") == "Success"
