"""The taint manager and the graceful eviction controller.

A target on a cluster with a NoExecute taint is taken out of the binding once the placement *that was applied* tolerates
the taint no longer, and a task is added in the same write; the task goes when the rest is placed.
"""

import json
import time
from typing import Any

from tests.cluster.karmada import condition
from tests.cluster.played.host import Host

APPLIED = "policy.karmada.io/applied-placement"
Raw = dict[str, Any]


class Evictions:
    """`errors` are bindings whose applied placement could not be read: the real one logs them and evicts nothing.

    `evicted` are those that it took a target from.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._since: dict[tuple[str, str], float] = {}
        self.errors: list[str] = []
        self.evicted: set[str] = set()

    def step(self) -> None:
        taints = {each["metadata"]["name"]: self._no_execute(each) for each in self._host.clusters()}
        for binding in self._host.bindings():
            if self._evict(binding, taints) or self._complete(binding):
                self._host.update(binding)

    def _no_execute(self, cluster: Raw) -> list[tuple[Raw, float]]:
        """The taints with how long they are there."""
        name = cluster["metadata"]["name"]
        found = [each for each in cluster["spec"].get("taints") or [] if each["effect"] == "NoExecute"]
        keys = {(name, each["key"]) for each in found}
        self._since = {key: at for key, at in self._since.items() if key[0] != name or key in keys}
        now = time.monotonic()
        return [(each, now - self._since.setdefault((name, each["key"]), now)) for each in found]

    def _evict(self, binding: Raw, taints: dict[str, list[tuple[Raw, float]]]) -> bool:
        spec, going = binding["spec"], []
        for target in spec.get("clusters") or []:
            if any(self._ended(binding, taint, age) for taint, age in taints.get(target["name"], [])):
                going.append(target)
        if not going:
            return False
        spec["clusters"] = [each for each in spec["clusters"] if each not in going]
        tasks = [
            {
                "fromCluster": each["name"],
                "producer": "TaintManager",
                "purgeMode": "Gracefully",
                "reason": "TaintUntolerated",
                **({"replicas": each["replicas"]} if "replicas" in each else {}),
            }
            for each in going
        ]
        spec["gracefulEvictionTasks"] = [*(spec.get("gracefulEvictionTasks") or []), *tasks]
        self.evicted.add(binding["metadata"]["name"])
        return True

    def _ended(self, binding: Raw, taint: Raw, age: float) -> bool:
        """Whether the toleration of the applied placement ended, if there ever was one."""
        text = binding["metadata"].get("annotations", {}).get(APPLIED)
        if text is None:
            self.errors.append(binding["metadata"]["name"])
            return False
        for each in json.loads(text).get("clusterTolerations") or []:
            if each.get("key") in (None, "", taint["key"]) and each.get("effect") in (None, "", "NoExecute"):
                seconds = each.get("tolerationSeconds")
                return seconds is not None and age > seconds
        return True

    def _complete(self, binding: Raw) -> bool:
        """Tasks end when the scheduler has seen the binding and everything is placed."""
        if not binding["spec"].get("gracefulEvictionTasks"):
            return False
        seen = binding.get("status", {}).get("schedulerObservedGeneration") == binding["metadata"]["generation"]
        if not seen or condition(binding).get("status") != "True":
            return False
        del binding["spec"]["gracefulEvictionTasks"]
        return True
