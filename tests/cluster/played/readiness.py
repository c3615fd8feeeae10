"""The cluster status controller: a member that is not reached is not ready and repels new things."""

from collections.abc import Sequence
from typing import Any

from tests.cluster.played.host import Host
from tests.cluster.played.members import Member

NOT_READY = "cluster.karmada.io/not-ready"
APIS = {"apps/v1": ["Deployment"], "v1": ["ConfigMap"]}


class Readiness:
    """As recorded: Ready False and a taint of effect NoSchedule, never one of NoExecute; both go when it is back."""

    def __init__(self, host: Host, members: Sequence[Member]) -> None:
        self._host = host
        self._members = {each.name: each for each in members}

    def step(self) -> None:
        for cluster in self._host.clusters():
            member = self._members.get(cluster["metadata"]["name"])
            if member is not None and "deletionTimestamp" not in cluster["metadata"]:
                self._look(cluster, ready=not member.down)

    def _look(self, cluster: dict[str, Any], *, ready: bool) -> None:
        taints = cluster["spec"].get("taints") or []
        others = [each for each in taints if each["key"] != NOT_READY]
        wanted = others if ready else [*others, {"key": NOT_READY, "effect": "NoSchedule"}]
        conditions = cluster.get("status", {}).get("conditions") or []
        known = {each["type"]: each["status"] for each in conditions}
        if wanted != taints or known.get("Ready") != str(ready):
            self._host.mark(cluster, {"taints": wanted}, _status(ready=ready))


def _status(*, ready: bool) -> dict[str, Any]:
    listed = [
        {"groupVersion": group, "resources": [{"name": kind.lower(), "kind": kind} for kind in kinds]}
        for group, kinds in APIS.items()
    ]
    why = ("ClusterReady", "cluster is healthy") if ready else ("ClusterNotReachable", "cluster is not reachable")
    conditions = [
        {"type": "CompleteAPIEnablements", "status": "True"},
        {"type": "Ready", "status": str(ready), "reason": why[0], "message": why[1]},
    ]
    return {"apiEnablements": listed, "conditions": conditions}
