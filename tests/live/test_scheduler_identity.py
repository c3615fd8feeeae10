"""Identity is the uid: a late word about a pod that is gone does nothing to the pod that has its name now."""

import asyncio
from typing import Any

import pytest

from fairlead.kube.resources import NODES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES
from fairlead.live.scheduler.pending import Pending
from tests.kube.virtual import run
from tests.live.bad_network import Balancer, scheduler
from tests.live.test_scheduler_cache import pod as record


class Slow(Balancer):
    """Every bind takes its time, by uid of the pod; the answer comes then."""

    def __init__(self, **seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    async def request(self, method: str, path: str, **rest: Any) -> Any:
        if path.endswith("/binding"):
            uid = next(each for each in self.seconds if f'"{each}"'.encode() in rest["body"])
            await asyncio.sleep(self.seconds[uid])
        return await super().request(method, path, **rest)


def test_late_refusal_of_a_pod_that_is_gone_does_not_free_its_successors_room() -> None:
    """web-0 is deleted while its bind is under way and comes again: the second one's room stays its own."""

    async def main() -> tuple[str, str, int]:
        api = Slow(u1=2.0, u2=3.0, other=0.0)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("web-0", "u1")
            await asyncio.sleep(0.5)
            api.drop("web-0")
            await asyncio.sleep(0.1)
            api.pod("web-0", "u2")
            await asyncio.sleep(0.5)
            api.pod("other")
            await asyncio.sleep(1.5)
            assert list(made.cache.assumed) == [("ns", "web-0")]
            await asyncio.sleep(30)
            return api.on("web-0"), api.on("other"), api.most

    assert run(main()) == ("n1", "", 6)


def test_bind_of_a_pod_that_is_gone_is_not_waited_for() -> None:
    """Its place in flight is free at once, and nothing is sent for a pod that went while it was queued."""

    async def main() -> list[str]:
        api = Slow(u1=500.0, u2=0.0, u3=0.0)
        api.node("n1")
        api.hold = {}
        async with scheduler(api) as made:
            api.pod("web-0", "u1")
            await asyncio.sleep(0.5)
            assert made.delivery.binder.sends(made.cache.pods["ns", "web-0"])
            queued = made.cache.pods["ns", "web-0"]
            api.drop("web-0")
            await asyncio.sleep(0.05)
            assert not made.delivery.binder.sends(queued)
            made.delivery.binder.bind(queued, "n1")
            api.pod("web-0", "u2")
            await asyncio.sleep(1)
            return [uid for uid in ("u1", "u2") if api.on("web-0") and uid in str(made.cache.pods["ns", "web-0"])]

    assert run(main()) == ["u2"]


def test_pod_meant_for_a_node_that_is_gone_goes_elsewhere_at_once() -> None:
    """The bind to n1 would take ten minutes; n1 goes, n2 comes: the pod is on n2 within seconds."""

    async def main() -> str:
        api = Slow(x=600.0)
        api.node("n1")
        async with scheduler(api):
            api.pod("x")
            await asyncio.sleep(0.5)
            api.remove(NODES, "n1")
            api.seconds["x"] = 0.0
            await asyncio.sleep(0.1)
            api.node("n2")
            await asyncio.sleep(5)
            return api.on("x")

    assert run(main()) == "n2"


def with_claim(api: Balancer) -> None:
    """A claim that waits for the node of its pod, and whose volume nobody makes."""
    delayed = {"provisioner": "x.csi", "volumeBindingMode": "WaitForFirstConsumer"}
    api.put(STORAGE_CLASSES, {"metadata": {"name": "later"}, **delayed})
    asks = {"storageClassName": "later", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}
    api.put(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "c", "namespace": "ns", "uid": "c1"}, "spec": asks})


VOLUMES = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize("gone", ["pod", "node"])
def test_wait_for_volumes_ends_with_its_pod_or_its_node(gone: str) -> None:
    """The ten minutes that a volume may take are not waited for, and the claim is promised to no node."""

    async def main() -> tuple[int, int, dict[Any, Any]]:
        api = Balancer()
        with_claim(api)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("web-0", "u1", volumes=VOLUMES)
            await asyncio.sleep(1)
            assert (len(made.delivery.volumes._tasks), list(made.cache.storage._promised)) == (1, [("ns", "c")])
            if gone == "pod":
                api.drop("web-0")
            else:
                api.remove(NODES, "n1")
            await asyncio.sleep(0.05)
            return len(made.delivery.volumes._tasks), len(made.cache.storage._promised), made.cache.assumed

    assert run(main()) == (0, 0, {})


def test_volumes_of_a_successor_are_its_own() -> None:
    """The first web-0 goes while its claim is promised; the promise to the second outlives every word about it."""

    async def main() -> tuple[list[set[str]], int]:
        api = Balancer()
        with_claim(api)
        api.node("n1")
        async with scheduler(api, volume_seconds=100.0) as made:
            api.pod("web-0", "u1", volumes=VOLUMES)
            await asyncio.sleep(60)
            api.drop("web-0")
            api.pod("web-0", "u2", volumes=VOLUMES)
            await asyncio.sleep(60)
            return [each.pods for each in made.cache.storage._promised.values()], len(made.delivery.volumes._tasks)

    assert run(main()) == ([{"u2"}], 1)


def test_claim_deleted_and_made_again_is_not_the_one_that_was_decided_for() -> None:
    """The pod is decided anew where its claim is another one by now."""

    async def main() -> tuple[int, float]:
        api = Balancer()
        with_claim(api)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("web-0", "u1", volumes=VOLUMES)
            await asyncio.sleep(1)
            api.remove(PERSISTENT_VOLUME_CLAIMS, "c", namespace="ns")
            with_claim(api)
            found = api.find(PERSISTENT_VOLUME_CLAIMS, "c", namespace="ns")
            assert found is not None
            found["metadata"]["uid"] = "c2"
            await asyncio.sleep(0.05)
            return len(made.delivery.volumes._tasks), made.measures.failed._value.get()

    assert run(main()) == (0, 1.0)


def test_rest_after_a_refusal_is_of_one_pod() -> None:
    """A pod that has the name of one that was refused a moment ago does not wait for it."""
    pending = Pending()
    first, second = record("web-0", uid="u1"), record("web-0", uid="u2")
    pending.rest(first, 4.0)
    assert (pending.rests(first), pending.rests(second), pending.next_rest()) == (True, False, 5.0)
    assert pending.rested([first, second], 4.5) == [second]
    pending.gone(first)
    assert (pending.rested([first, second], 4.5), pending.next_rest()) == ([first, second], None)
