"""Pods that are refused after the webhook has admitted them: by a quota, by a limit range, by a later webhook."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.fleets import Fleet, deployment

REPLICAS, MINIMUM = 10, 5
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
VETO = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@dataclass
class Refused:
    """A namespace with a Deployment for each obstacle: 10 replicas, 5 on demand. Nobody schedules their pods."""

    api: Api
    namespace: str
    wanted: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(("counted", "large", "vetoed"), MINIMUM))

    @contextmanager
    def standing(self) -> Iterator["Refused"]:
        """The obstacles are there first, then the Deployments come."""
        path = f"/api/v1/namespaces/{self.namespace}"
        try:
            # Only the pods of one Deployment are of this class, so the quota is for them alone.
            # It is no class of the system's: the tier level leaves those alone.
            self.api.create(PRIORITIES, {"metadata": {"name": self.namespace}, "value": 7})
            critical = {"scopeName": "PriorityClass", "operator": "In", "values": [self.namespace]}
            quota = {"hard": {"pods": "4"}, "scopeSelector": {"matchExpressions": [critical]}}
            self.api.create(f"{path}/resourcequotas", {"metadata": {"name": "few"}, "spec": quota})
            limit = {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}
            self.api.create(f"{path}/limitranges", {"metadata": {"name": "small"}, "spec": limit})
            self.api.create(VETO, self._veto())
            self.fleet.create(self._body("counted"), self._body("large", cpu="2"), self._body("vetoed"))
            self.api.wait("pods were refused", lambda: len(self._refused()) == 3)
            yield self
        finally:
            for each in (VETO, PRIORITIES):
                with suppress(ApiError):
                    self.api.delete(f"{each}/{self.namespace}")

    def quota_is_told(self) -> bool:
        """Whether an answer of the webhook to the Deployment over its quota names the quota."""
        events = self.api.items(f"/api/v1/namespaces/{self.namespace}/events")
        told = [each["message"] for each in events if "have not appeared" in each.get("message", "")]
        return any("the ReplicaSet reports:" in each and "exceeded quota: few" in each for each in told)

    @property
    def fleet(self) -> Fleet:
        """The Deployments."""
        return Fleet(self.api, self.namespace)

    def let_go(self) -> None:
        """Take the obstacles away and wait until every pod is there."""
        path = f"/api/v1/namespaces/{self.namespace}"
        for each in (f"{path}/resourcequotas/few", f"{path}/limitranges/small", f"{VETO}/{self.namespace}"):
            self.api.delete(each)
        turns = itertools.count()
        self.api.wait("all pods are there", lambda: self._all_there(next(turns)))

    def required(self) -> dict[str, int]:
        """Pods bound to on-demand nodes, by Deployment."""
        return {name: self.fleet.required(name) for name in self.wanted}

    def _all_there(self, turn: int) -> bool:
        if turn % 10 == 0:
            # After refusals a ReplicaSet's controller waits for minutes; a change wakes it.
            for name in self.wanted:
                self.fleet.patch(name, {"metadata": {"annotations": {"turn": str(turn)}}})
        pods = [pod for pod in self.api.items(self.fleet.pods_path) if pod["metadata"]["labels"]["app"] in self.wanted]
        gated = [pod for pod in pods if pod["spec"].get("schedulingGates")]
        return len(pods) == REPLICAS * len(self.wanted) and not gated

    def _refused(self) -> list[str]:
        """Deployments that were told that pods could not be created."""
        return [
            each["metadata"]["name"]
            for each in self.api.items(self.fleet.path)
            for condition in each.get("status", {}).get("conditions", ())
            if condition["type"] == "ReplicaFailure"
        ]

    def _body(self, name: str, cpu: str = "1m") -> dict[str, Any]:
        body = deployment(name, REPLICAS, str(MINIMUM))
        spec = body["spec"]["template"]["spec"]
        spec["schedulerName"] = "nobody"
        spec["containers"][0]["resources"] = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
        if name == "counted":
            spec["priorityClassName"] = self.namespace
        return body

    def _veto(self) -> dict[str, Any]:
        """A webhook that cannot be reached and must not be passed over; validating ones come after all changes."""
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
        webhook = {
            "name": "veto.fairlead.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "objectSelector": {"matchLabels": {"app": "vetoed"}},
            "sideEffects": "None",
            "failurePolicy": "Fail",
        }
        return {"metadata": {"name": self.namespace}, "webhooks": [webhook]}
