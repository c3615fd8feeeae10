"""Volcano's podgroup controller, played: a ReplicaSet's group comes after its first pod, its name on pods later."""

from contextlib import suppress
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.played.volcano_jobs import quota_names
from tests.cluster.volcano import GROUP, groups_path

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
Raw = dict[str, Any]


class GroupController:
    """For ReplicaSets that announce a group: makes it, born `Pending`, and patches its name onto one pod a step."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def sync(self) -> None:
        """One step: late annotations come one after another."""
        owners = {each["metadata"]["uid"]: each for each in self._owners()}
        for pod in self.api.items(self.pods_path):
            owner = owners.get(next((each["uid"] for each in pod["metadata"].get("ownerReferences", [])), ""))
            if owner is not None and GROUP not in pod["metadata"].get("annotations", {}):
                self._join(owner, pod)
                return

    def _owners(self) -> list[Raw]:
        found = self.api.items(f"/apis/apps/v1/namespaces/{self.namespace}/replicasets")
        return [each for each in found if MIN_MEMBER in each["metadata"].get("annotations", {})]

    def _join(self, owner: Raw, pod: Raw) -> None:
        meta, least = owner["metadata"], int(owner["metadata"]["annotations"][MIN_MEMBER])
        name = f"podgroup-{meta['uid']}"
        body = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": name,
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": meta["name"], "uid": meta["uid"]}
                ],
            },
            "spec": {"minMember": least, "minResources": quota_names(least, least), "queue": "default"},
            "status": {"phase": "Pending"},
        }
        with suppress(ApiError):
            self.api.create(groups_path(self.namespace), body)
        marks = {"metadata": {"annotations": {GROUP: name}}}
        self.api.patch(f"{self.pods_path}/{pod['metadata']['name']}", marks)
