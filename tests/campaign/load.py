"""Ordinary work of all four kinds, changing at random, and what has to hold of it once it rests."""

from collections import Counter
from random import Random
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster import karmada, volcano
from tests.cluster.checker import quantity
from tests.cluster.fleets import CAPACITY, Fleet, deployment
from tests.cluster.following import Followed
from tests.cluster.longhorn import Longhorn
from tests.live import longhorn_objects as longhorn

POOL = "soak"
NODES, CORES = 20, 16
DEPLOYMENTS, REPLICAS = 8, 40
GANGS, MEMBERS = 6, 8
CLUSTERS = ("soak-a", "soak-b", "soak-c")
DISKS = 4


class Load:
    """Deployments with a minimum on demand, gangs, bindings and storage replicas; there is room for all of them."""

    def __init__(self, api: Api, namespace: str, gangs: str) -> None:
        self._api = api
        self._gangs = gangs
        self._numbers = iter(range(10**9))
        self.deployments = Fleet(api, namespace)
        self.bindings = karmada.Bindings(api, namespace)
        self.storage = Longhorn(api, namespace)

    def begin(self) -> None:
        """The first of everything."""
        for number in range(DEPLOYMENTS):
            body = deployment(f"web-{number}", 4, str(1 + number % 4))
            spec = body["spec"]["template"]["spec"]
            spec |= {"schedulerName": "fairlead", "nodeSelector": {"pool": POOL}}
            spec["containers"][0]["resources"] = {"requests": {"cpu": "250m"}}
            self.deployments.create(body)
        for name in CLUSTERS:
            self._api.create(karmada.CLUSTERS, karmada.cluster(name, {"pool": POOL}))
        self.storage.create(*(longhorn.node(f"disks-{number}", d=4000, e=3000) for number in range(DISKS)))

    def change(self, chance: Random) -> None:
        """One change of each kind."""
        name = f"web-{chance.randrange(DEPLOYMENTS)}"
        self.deployments.patch(name, {"spec": {"replicas": chance.randint(1, REPLICAS)}})
        if chance.random() < 0.2:
            turn = {"metadata": {"labels": {"turn": str(next(self._numbers))}}}
            self.deployments.patch(name, {"spec": {"template": turn}})
        self._change_gangs(chance)
        self._change_binding(chance)
        if chance.random() < 0.5:
            volume = longhorn.volume(f"v{next(self._numbers)}", 1)
            self.storage.create(volume, longhorn.replica(volume, 1))

    def _change_gangs(self, chance: Random) -> None:
        groups = [each["metadata"]["name"] for each in self._api.items(volcano.groups_path(self._gangs))]
        if len(groups) >= GANGS:
            gone = chance.choice(groups)
            pods = f"/api/v1/namespaces/{self._gangs}/pods"
            self._api.delete(f"{volcano.groups_path(self._gangs)}/{gone}")
            self._api.delete(pods, labelSelector=f"group={gone}", gracePeriodSeconds=0)
        volcano.make_gang(self._api, self._gangs, f"g{next(self._numbers)}", MEMBERS)

    def _change_binding(self, chance: Random) -> None:
        there = self.bindings.all()
        if len(there) < 20:
            weights = {name: chance.randint(1, 3) for name in CLUSTERS}
            name, replicas = f"b{next(self._numbers)}", chance.randint(1, 30)
            self.bindings.create(karmada.binding(name, replicas, karmada.static(POOL, weights)))
        else:
            name = chance.choice(there)["metadata"]["name"]
            self.bindings.patch(name, {"spec": {"replicas": chance.randint(1, 30)}})

    def rest(self, seconds: float = 300) -> None:
        """Wait until all that is asked for is there."""
        self.deployments.settled(seconds=seconds)
        self._api.wait("no Deployment is off", lambda: not self.deployments.off(), seconds=seconds)
        self._api.wait("all gangs run whole or not at all", lambda: not self._half(), seconds=seconds)
        self.bindings.settled(seconds=seconds)
        self.storage.settled(seconds=seconds)

    def _half(self) -> dict[str, int]:
        """Gangs that do not run, or of which too few members were created and some run: bound members of each."""
        bound = volcano.bound(self._api, self._gangs)
        groups = [each["metadata"]["name"] for each in self._api.items(volcano.groups_path(self._gangs))]
        pods = self._api.items(f"/api/v1/namespaces/{self._gangs}/pods")
        there = Counter(pod["metadata"]["labels"]["group"] for pod in pods)
        # The API server may have been away while the load created the members.
        return {name: bound[name] for name in groups if bound[name] != (MEMBERS if there[name] == MEMBERS else 0)}

    def wrong(self, followed: list[Followed]) -> list[str]:
        """What does not hold at rest, as sentences."""
        return [*self._overcommitted(), *self._divided(), *self._stored(), *_moved(followed)]

    def _overcommitted(self) -> list[str]:
        used: Counter[str] = Counter()
        for pod in self._api.items("/api/v1/pods"):
            if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed"):
                used[pod["spec"]["nodeName"]] += sum(map(_milli, pod["spec"]["containers"]))
        nodes = self._api.items("/api/v1/nodes", labelSelector=f"pool={POOL}")
        return [
            f"node {name} holds {used[name]}m of {CORES} cores"
            for name in (each["metadata"]["name"] for each in nodes)
            if used[name] > CORES * 1000
        ]

    def _divided(self) -> list[str]:
        return [
            f"binding {each['metadata']['name']}: {sum(karmada.counts(each).values())} of {each['spec']['replicas']}"
            for each in self.bindings.all()
            if sum(karmada.counts(each).values()) != each["spec"]["replicas"]
        ]

    def _stored(self) -> list[str]:
        return [f"storage replica {name} has no disk" for name, place in self.storage.places().items() if not place]

    def end(self) -> None:
        """Remove what a namespace does not take with it."""
        for name in CLUSTERS:
            try:
                self._api.delete(f"{karmada.CLUSTERS}/{name}")
            except ApiError:
                continue


def _milli(container: dict[str, Any]) -> int:
    asked = container.get("resources", {}).get("requests", {}).get("cpu", "0")
    return int(quantity(asked) * 1000)


def _moved(followed: list[Followed]) -> list[str]:
    return [
        f"pod {uid} was seen on {', '.join(sorted(places))}"
        for each in followed
        for uid, places in list(each.places.items())
        if len(places) > 1
    ]


def tier_of(number: int) -> dict[str, str]:
    """Labels of a node: every second one is on demand."""
    return {"pool": POOL, CAPACITY: ("on-demand", "spot")[number % 2]}
