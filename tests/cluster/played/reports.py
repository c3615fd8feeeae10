"""The status controllers: what became of the objects on the members, written into the bindings again and again."""

from collections.abc import Sequence
from typing import Any

from tests.cluster.played.host import Host
from tests.cluster.played.members import Member


class Reports:
    """Aggregated status and the condition FullyApplied; these writes are what a scheduler's own meet."""

    def __init__(self, host: Host, members: Sequence[Member]) -> None:
        self._host = host
        self._members = members

    def step(self) -> None:
        there = {each.name: set(each.objects()) for each in self._members if not each.down}
        for binding in self._host.bindings():
            if self._told(binding, there):
                self._host.report(binding)

    def _told(self, binding: dict[str, Any], there: dict[str, set[str]]) -> bool:
        """Put the report into the binding; False where it says so already. Of a member that is down nothing is new."""
        name = binding["metadata"]["name"]
        status = binding.setdefault("status", {})
        before = {each["clusterName"]: each for each in status.get("aggregatedStatus") or []}
        targets = [each["name"] for each in binding["spec"].get("clusters") or []]
        told = [
            _applied(at, name in there[at]) if at in there else before.get(at, _applied(at, False)) for at in targets
        ]
        whole = bool(told) and all(each.get("applied") for each in told)
        others = [each for each in status.get("conditions") or [] if each["type"] != "FullyApplied"]
        now = [*others, _fully_applied(whole)]
        if told == (status.get("aggregatedStatus") or []) and _same(now, status.get("conditions") or []):
            return False
        status["aggregatedStatus"], status["conditions"] = told, now
        return True


def _applied(cluster: str, there: bool) -> dict[str, Any]:
    return {"clusterName": cluster, "applied": True, "health": "Healthy"} if there else {
        "clusterName": cluster, "health": "Unknown",
    }  # fmt: skip


def _fully_applied(whole: bool) -> dict[str, Any]:
    return {
        "type": "FullyApplied",
        "status": str(whole),
        "reason": "FullyAppliedSuccess" if whole else "FullyAppliedFailed",
        "message": "All works have been successfully applied" if whole else "Failed to apply all works",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def _same(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    def sense(conditions: list[dict[str, Any]]) -> set[tuple[str, str]]:
        return {(each["type"], each["status"]) for each in conditions}

    return sense(one) == sense(other)
