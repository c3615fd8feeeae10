"""Pods, jobs and turns for tests of what happens after a turn, made by hand."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec

from fairlead.kube.changes import Key
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS
from fairlead.levels.queue.preemption.potential import Gain
from fairlead.levels.queue.result import Sharing
from fairlead.live.cluster.identity import JobSource
from fairlead.live.cluster.pod_sets import pod_set_key
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.cluster.turn_types import EvictionOrder, LiveJob, LiveRole, Place, Promise, QueueTurn
from fairlead.problems import share
from fairlead.text.documents import strict
from tests.fake import FakeApi

RECORDS = Records()


def body(name: str, *, node: str = "", app: str = "a", cpu: str = "1", made: str = "") -> dict[str, Any]:
    """A pod of namespace ml as the server stores it."""
    meta = {"name": name, "namespace": "ml", "uid": f"uid-{name}", "labels": {"app": app}}
    return {
        "metadata": {**meta, "creationTimestamp": made or None},
        "spec": {
            "schedulerName": "fairlead",
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        },
    }


def record(made: dict[str, Any]) -> PodRecord:
    """The pod as the cache has it."""
    return RECORDS.record(msgspec.convert(made, Pod))


class Held:
    """Stands for who makes the turns; remembers what it is told."""

    def __init__(self) -> None:
        self.made: dict[str, Promise] = {}
        self.withdrawn: list[str] = []
        self.started: set[str] = set()
        """Jobs whose pods wait no longer."""

    @property
    def by_job(self) -> Mapping[str, Promise]:
        return self.made

    def promise(self, promise: Promise) -> None:
        self.made[promise.job] = promise

    def withdraw(self, job: str) -> None:
        self.made.pop(job, None)
        self.withdrawn.append(job)

    def waits(self, promise: Promise) -> bool:
        return promise.job not in self.started


class Place4:
    """A node n1 with four pods of `low`, and pods `high-…` that wait for it."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.pods: dict[Key, PodRecord] = {}
        for number in range(4):
            self.put(f"low-{number}", node="n1")
        for number in range(2):
            self.put(f"high-{number}", app="b")
        self.holds = Held()
        self.nudges = 0

    def put(self, name: str, **more: Any) -> None:
        made = self.api.put(PODS, body(name, **more))
        self.pods["ml", name] = record(made)

    def nudge(self) -> None:
        self.nudges += 1

    def stored(self, name: str) -> dict[str, Any]:
        found = self.api.find(PODS, name, namespace="ml")
        assert found is not None
        return found

    @property
    def there(self) -> list[str]:
        return [name for _, name in self.pods if self.api.find(PODS, name, namespace="ml") is not None]

    def turn(self, victims: Mapping[str, str], *, better: bool = True, at: float = 0.0) -> QueueTurn:
        """A turn in which each victim (name → beneficiary) makes room for one pod of the beneficiary."""
        promises: dict[str, dict[Key, str]] = {}
        for number, job in enumerate(victims.values()):
            promises.setdefault(job, {})["ml", f"high-{number}"] = "n1"
        wanted = tuple(
            EvictionOrder(pod=self.pods["ml", name], node="n1", beneficiary=job, action="preempt")
            for name, job in victims.items()
        )
        return QueueTurn(
            sharing=sharing(dict.fromkeys(promises, (0, 1 if better else 0))),
            jobs=(),
            grants=(),
            evictions=wanted,
            promises=tuple(Promise(job=job, places=places, at=at) for job, places in promises.items()),
        )


def sharing(gains: Mapping[str, tuple[int, int]]) -> Sharing:
    """A decision about nothing, with these gains."""
    bare = share.solve(strict({"total": {"cpu": 1}, "jobs": []}, share.PROBLEM))
    made = {
        job: Gain(part="jobs' shares", before=(Fraction(before),), after=(Fraction(after),))
        for job, (before, after) in gains.items()
    }
    return replace(bare, gains=made)


def live_job(
    *,
    waiting: int = 0,
    running: int = 0,
    min_member: int = 1,
    queue: str = "q",
    name: str = "train",
    made: str = "",
    **more: Any,
) -> LiveJob:
    """The job of a PodGroup in namespace ml; its waiting pods were `made` then."""
    waits = tuple(record(body(f"{name}-w{number}", made=made)) for number in range(waiting))
    runs: tuple[Place, ...] = tuple((record(body(f"{name}-r{number}", node="n1")), "n1") for number in range(running))
    pods = [*waits, *(pod for pod, _ in runs)]
    roles = (LiveRole(key=pod_set_key(pods[0]), task="", waiting=waits, running=runs),) if pods else ()
    return LiveJob(
        key=f"PodGroup/ml/{name}",
        source=JobSource.GROUP,
        namespace="ml",
        name=name,
        queue=queue,
        roles=roles,
        min_member=min_member,
        **more,
    )
