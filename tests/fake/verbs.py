"""What the fake does for each verb: the same codes and reasons as a real server, for what Fairlead uses."""

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from fairlead.kube.objects.meta import Raw
from tests.fake import patching, selectors
from tests.fake.routes import Route
from tests.fake.store import Store

BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
EVENTS = "/apis/events.k8s.io/v1/events"
POD_GROUPS = "/apis/scheduling.volcano.sh/v1beta1/podgroups"


class RefusalError(Exception):
    """An answer that is not 2xx."""

    def __init__(
        self, status: int, reason: str, message: str, *, cause: str = "", retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.cause = cause
        self.retry_after = retry_after

    def body(self) -> Raw:
        details: Raw = {"causes": [{"reason": self.cause}]} if self.cause else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            "code": self.status,
            "details": details,
        }


class Verbs:
    """The verbs over one store. With `dry` the answer is right and nothing is kept."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._tokens: dict[str, tuple[int, list[Raw]]] = {}

    def read_all(self, route: Route, query: Mapping[str, str]) -> Raw:
        version, items = self._snapshot(route, query)
        limit = int(query.get("limit") or 0)
        rest = items[limit:] if limit else []
        metadata: Raw = {"resourceVersion": str(version)}
        if rest:
            token = f"t{len(self._tokens)}"
            self._tokens[token] = (version, rest)
            metadata |= {"continue": token, "remainingItemCount": len(rest)}
        return {"kind": "List", "metadata": metadata, "items": items[:limit] if limit else items}

    def _snapshot(self, route: Route, query: Mapping[str, str]) -> tuple[int, list[Raw]]:
        token = query.get("continue")
        if token:
            version, items = self._tokens.get(token, (0, []))
            if version < self.store.floor or version == 0:
                raise RefusalError(410, "Expired", "the provided continue parameter is too old")
            return version, items
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        return self.store.version, self.store.listed(route.where, route.namespace, labels, fields)

    def get(self, route: Route) -> Raw:
        found = self.store.get(route.where, route.key)
        if found is None:
            raise RefusalError(404, "NotFound", f'{route.plural} "{route.name}" not found')
        return found

    def create(self, route: Route, body: Raw, *, dry: bool) -> Raw:
        name = body.get("metadata", {}).get("name", "")
        key = (route.namespace, name)
        if name and self.store.get(route.where, key) is not None:
            raise RefusalError(409, "AlreadyExists", f'{route.plural} "{name}" already exists')
        _check(route, body)
        return body if dry else self.store.create(route.where, key, body)

    def replace(self, route: Route, body: Raw, *, dry: bool) -> Raw:
        old = self.get(route)
        given = body.get("metadata", {})
        self._same(old, given.get("uid"), given.get("resourceVersion"))
        return self._store(route, old, body, dry=dry)

    def patch(self, route: Route, patch: Any, content: str, *, dry: bool) -> Raw:
        if "apply" in content and self.store.get(route.where, route.key) is None:
            return self.create(route, patch, dry=dry)
        old = self.get(route)
        try:
            if "json-patch" in content:
                new = patching.apply_json(old, patch)
            else:
                new = patching.merge(old, patch, strategic="strategic" in content)
        except patching.PatchError as error:
            raise RefusalError(422, "Invalid", str(error)) from error
        given = new.get("metadata", {})
        self._same(old, given.get("uid"), given.get("resourceVersion"))
        return self._store(route, old, new, dry=dry)

    def _store(self, route: Route, old: Raw, new: Raw, *, dry: bool) -> Raw:
        """The main resource does not touch the status, the status subresource touches nothing else."""
        _check(route, new)
        result = copy.deepcopy(new)
        if route.subresource == "status":
            result = copy.deepcopy(old)
            if "status" in new:
                result["status"] = copy.deepcopy(new["status"])
        elif "status" in old and route.where != POD_GROUPS:
            result["status"] = old["status"]
        return result if dry else self.store.replace(route.where, route.key, result)

    def delete(self, route: Route, options: Raw, *, dry: bool) -> Raw:
        old = self.get(route)
        conditions = options.get("preconditions") or {}
        self._same(old, conditions.get("uid"), conditions.get("resourceVersion"))
        return old if dry else self.store.delete(route.where, route.key)

    def bind(self, route: Route, body: Raw, *, dry: bool) -> Raw:
        pod = copy.deepcopy(self.get(route))
        self._same(pod, body["metadata"].get("uid"), None)
        spec = pod.setdefault("spec", {})
        if spec.get("nodeName"):
            raise RefusalError(409, "Conflict", f"pod {route.name} is already assigned to node {spec['nodeName']!r}")
        spec["nodeName"] = body["target"]["name"]
        pod["metadata"].setdefault("annotations", {}).update(body["metadata"].get("annotations") or {})
        done = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
        pod["status"] = patching.merge(pod.get("status"), done, strategic=True)
        if not dry:
            self.store.replace(route.where, route.key, pod)
        return {"kind": "Status", "status": "Success", "code": 201}

    def evict(self, route: Route, body: Raw, *, dry: bool) -> Raw:
        pod = self.get(route)
        options = body.get("deleteOptions") or {}
        self._same(pod, (options.get("preconditions") or {}).get("uid"), None)
        labels = pod["metadata"].get("labels") or {}
        budgets = [
            each
            for each in self.store.listed(BUDGETS, route.namespace, "", "")
            if selectors.selects(each.get("spec", {}).get("selector"), labels)
        ]
        if len(budgets) > 1:
            text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            raise RefusalError(500, "", text)
        for budget in budgets:
            status = budget.get("status", {})
            if status.get("disruptionsAllowed", 0) <= 0:
                text = "Cannot evict pod as it would violate the pod's disruption budget."
                raise RefusalError(429, "TooManyRequests", text, cause="DisruptionBudget")
            if not dry:
                left = status["disruptionsAllowed"] - 1
                key = (route.namespace, budget["metadata"]["name"])
                self.store.replace(BUDGETS, key, patching.merge(budget, {"status": {"disruptionsAllowed": left}}))
        if not dry:
            self.store.delete(route.where, route.key)
        return {"kind": "Status", "status": "Success", "code": 201}

    def _same(self, old: Raw, uid: str | None, version: str | None) -> None:
        metadata = old["metadata"]
        if uid and uid != metadata["uid"]:
            raise RefusalError(409, "Conflict", f"the uid in the precondition is not that of {metadata['name']}")
        if version and version != metadata["resourceVersion"]:
            raise RefusalError(
                409, "Conflict", "the object has been modified; apply your changes to the latest version"
            )


def _check(route: Route, body: Raw) -> None:
    """What the API server refuses of an Event: a series is of two at least."""
    if route.where == EVENTS and body.get("series", {}).get("count", 2) < 2:
        raise RefusalError(422, "Invalid", "series.count: should be at least 2")


def as_object(body: bytes | None) -> Any:
    try:
        return msgspec.json.decode(body) if body else {}
    except msgspec.DecodeError as error:
        raise RefusalError(400, "BadRequest", f"not JSON: {error}") from error
