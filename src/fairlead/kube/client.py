"""The API as calls: get, list, create, replace, patch, delete, bind, evict.

Pure request building over one `Transport`. Retries are bounded and only for calls that may be repeated
(`fairlead.kube.retry`); everything else is the caller's to decide. A client of elected work has a fence
(`fairlead.kube.fence`), which every attempt of every write passes.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from copy import copy
from typing import Any, Literal, TypeVar

import msgspec

from fairlead.kube import errors
from fairlead.kube.decode import decode
from fairlead.kube.errors import ApiError, KubeError, NotLeadingError, UnansweredError
from fairlead.kube.fence import Fence, Passing
from fairlead.kube.objects.meta import Raw
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS, Resource
from fairlead.kube.responses import Page, ServedGroups, ServedResources, Version, next_token, page_of
from fairlead.kube.retry import Jitter, Retry, default_jitter, may_have_acted
from fairlead.kube.transport import Query, Response, Transport

T = TypeVar("T")

PAGE = 500
TIMEOUT = 30.0

PatchKind = Literal["json", "merge", "strategic"]
PATCH_TYPES: Mapping[PatchKind, str] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
GZIP = {"Accept-Encoding": "gzip"}

Body = Mapping[str, Any] | msgspec.Struct
Patch = Mapping[str, Any] | list[Raw]


class Client:
    """Calls on one API server. Safe to share between tasks; holds no state but its transport.

    `sleep` and `jitter` are passed in so that tests need not wait.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        retry: Retry | None = None,
        timeout: float = TIMEOUT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Jitter = default_jitter,
        fence: Fence | None = None,
    ) -> None:
        self.transport = transport
        self.retry = retry or Retry()
        self.timeout = timeout
        self.sleep = sleep
        self.jitter = jitter
        self.fence = fence

    @property
    def term(self) -> int:
        """The term in which a write would be sent now; always 0 without a fence."""
        return 0 if self.fence is None else self.fence.term

    def fenced(self, fence: Fence | None) -> "Client":
        """A client on the same connections whose writes pass the fence; None: the work is not elected."""
        found = copy(self)
        found.fence = fence
        return found

    async def close(self) -> None:
        await self.transport.close()

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        """One object, as stored now (a consistent read)."""
        path = resource.path(namespace=namespace, name=name)
        answer = await self.call("GET", path, repeatable=True)
        return decode(answer.body, resource.shape, f"GET {path}")

    async def page(
        self,
        resource: Resource[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        limit: int = PAGE,
        token: str = "",
    ) -> Page[T]:
        """One page of a list. `limit` 0: everything at once. The token of an old page fails as `gone`."""
        path = resource.path(namespace=namespace)
        query = _filled(labelSelector=labels, fieldSelector=fields, limit=str(limit or ""))
        body = await self._part(path, query, token, GZIP)
        return decode(body, page_of(resource.shape), f"GET {path}")

    async def _part(self, path: str, query: Raw, token: str, headers: Mapping[str, str] | None) -> bytes:
        asked = query | {"continue": token} if token else query
        return (await self.call("GET", path, query=asked, headers=headers, repeatable=True)).body

    async def parts(
        self, resource: Resource[Any], *, namespace: str = "", labels: str = "", fields: str = "", limit: int = PAGE
    ) -> AsyncGenerator[bytes, None]:
        """The texts of all pages of one consistent list, each asked for while the caller reads the one before.

        They are not compressed, for a component is next to its server. Close it where it is not read to the end.
        Fails as `gone` if reading takes longer than the server keeps the list.
        """
        path = resource.path(namespace=namespace)
        query = _filled(labelSelector=labels, fieldSelector=fields, limit=str(limit or ""))
        body = await self._part(path, query, "", None)
        while token := next_token(body):
            coming = asyncio.ensure_future(self._part(path, query, token, None))
            try:
                await asyncio.sleep(0)  # the request leaves before the page is read
                yield body
                body = await coming
            finally:
                coming.cancel()
        yield body

    async def list(
        self, resource: Resource[T], *, namespace: str = "", labels: str = "", fields: str = "", limit: int = PAGE
    ) -> Page[T]:
        """A whole list, consistent in itself. If its pages expire midway it is read again in one piece."""
        scope, whole = {"namespace": namespace, "labels": labels, "fields": fields}, Page[T]()
        try:
            while True:
                page = await self.page(resource, **scope, limit=limit, token=whole.metadata.next)
                whole.metadata = page.metadata
                whole.items.extend(page.items)
                if not page.metadata.next:
                    return whole
        except ApiError as error:
            if not error.gone:
                raise
            return await self.page(resource, **scope, limit=0)

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """A new object. Not tried again once it may have been stored."""
        path = resource.path(namespace=namespace)
        answer = await self.call("POST", path, body=encode_object(resource, body))
        return decode(answer.body, resource.shape, f"POST {path}")

    async def replace(
        self, resource: Resource[T], name: str, body: Body, *, namespace: str = "", subresource: str = ""
    ) -> T:
        """The whole object anew; with `metadata.resourceVersion` in it a conflict is raised if it changed."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        answer = await self.call("PUT", path, body=encode_object(resource, body))
        return decode(answer.body, resource.shape, f"PUT {path}")

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Patch,
        *,
        kind: PatchKind = "merge",
        namespace: str = "",
        subresource: str = "",
    ) -> T:
        """Change parts of an object. A JSON patch is a list of operations (`fairlead.kube.patches`).

        Merge and strategic patches say what shall be, so they may be repeated; JSON patches may not.
        Behind a fence they name the object they mean, by uid or version.
        """
        if self.fence is not None and isinstance(patch, Mapping) and not _names_its_object(patch):
            raise ValueError(f"a patch of elected work names the uid or the version of its object: {resource.label}")
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        answer = await self.call(
            "PATCH",
            path,
            query={"fieldManager": "fairlead"},
            body=encode(patch),
            headers={"Content-Type": PATCH_TYPES[kind]},
            repeatable=kind != "json",
        )
        return decode(answer.body, resource.shape, f"PATCH {path}")

    async def delete(
        self, resource: Resource[Any], name: str, *, namespace: str = "", resource_version: str = ""
    ) -> None:
        """Delete one object; a conflict is raised if it is not the one meant by `resource_version`."""
        options: Raw = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if resource_version:
            options["preconditions"] = {"resourceVersion": resource_version}
        await self.call("DELETE", resource.path(namespace=namespace, name=name), body=encode(options))

    async def bind(
        self, namespace: str, pod: str, node: str, *, uid: str, annotations: Mapping[str, str] | None = None
    ) -> None:
        """Assign the pod with this uid to a node, for good. The annotations are merged into the pod.

        A conflict is raised if the pod is another one by now or sits on another node. Where no answer came the
        call is repeated, and a pod found on the wanted node counts as bound. `UnansweredError` is raised where the
        server may have acted and does not say so.
        """
        metadata: Raw = {"name": pod, "namespace": namespace, "uid": uid}
        if annotations:
            metadata["annotations"] = dict(annotations)
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        path = PODS.path(namespace=namespace, name=pod, subresource="binding")
        tries = Tries()
        try:
            await self.call("POST", path, body=encode(body), repeatable=True, tries=tries)
        except NotLeadingError:
            raise
        except KubeError as error:
            if not (tries.unanswered or may_have_acted(error)) or _code(error) == 404:
                raise
            unknown = UnansweredError(f"bind {namespace}/{pod} to {node}: {error}")
            if _code(error) != 409:
                raise unknown from error
            found = await self._read_after(unknown, namespace, pod)
            if found.metadata.uid == uid and not found.spec.node_name:
                raise unknown from error
            if found.metadata.uid != uid or found.spec.node_name != node:
                raise

    async def _read_after(self, unknown: UnansweredError, namespace: str, pod: str) -> Pod:
        """The pod as it is now; where that cannot be read, nothing more is known than before."""
        try:
            return await self.get(PODS, pod, namespace=namespace)
        except KubeError as error:
            raise error if _code(error) == 404 else unknown from error

    async def evict(self, namespace: str, pod: str, *, uid: str, dry_run: bool = False) -> None:
        """Ask for the pod with this uid to be removed. `too_many` is raised where a disruption budget says no."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        path = PODS.path(namespace=namespace, name=pod, subresource="eviction")
        # Not repeated: 429 is the answer of a budget here, and the caller holds the count of evictions.
        query = {"dryRun": "All"} if dry_run else None
        await self.call("POST", path, query=query, body=encode(body), retry=Retry(attempts=1))

    async def served(self, resource: Resource[Any]) -> bool:
        """Whether the server has this resource now (a custom one may come later).

        Raises where discovery does not answer: a 404 alone is no answer, for a proxy without its server says that too.
        """
        try:
            answer = await self.call("GET", resource.root, repeatable=True)
        except ApiError as error:
            if not (error.not_found and resource.group) or resource.api_version in await self.versions():
                raise
            return False
        found = decode(answer.body, ServedResources, f"GET {resource.root}")
        return any(each.name == resource.plural for each in found.resources)

    async def versions(self) -> set[str]:
        """Every group and version that discovery lists, the core group left out."""
        answer = await self.call("GET", "/apis", repeatable=True)
        found = decode(answer.body, ServedGroups, "GET /apis")
        return {each.group_version for group in found.groups for each in group.versions}

    async def versions_of(self, group: str) -> tuple[str, ...]:
        """The versions in which the server has anything of a group, as `group/version`."""
        return tuple(sorted(each for each in await self.versions() if each.startswith(f"{group}/")))

    async def version(self) -> Version:
        answer = await self.call("GET", "/version", repeatable=True)
        return decode(answer.body, Version, "GET /version")

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
        retry: Retry | None = None,
        tries: "Tries | None" = None,
    ) -> Response:
        """One request with retries; any answer that is not 2xx is raised as `ApiError`."""
        policy = retry or self.retry
        tries = tries if tries is not None else Tries()
        send: Callable[..., Awaitable[Response]] = self.transport.request
        if self.fence is not None and method != "GET":
            send = Passing(self.transport, self.fence).request
        while True:
            try:
                answer = await send(method, path, query=query, body=body, headers=headers, within=self.timeout)
                if 200 <= answer.status < 300:
                    return answer
                raise errors.from_answer(answer.status, answer.body, retry_after=answer.headers.get("retry-after"))
            except KubeError as error:
                tries.failures += 1
                wait = policy.wait(error, tries.failures, repeatable=repeatable, jitter=self.jitter)
                if wait is None:
                    raise
                tries.unanswered |= may_have_acted(error)
            await self.sleep(wait)


class Tries:
    """What happened before the last try of one call: an earlier one may have been acted upon unseen."""

    def __init__(self) -> None:
        self.failures = 0
        self.unanswered = False


def _names_its_object(patch: Mapping[str, Any]) -> bool:
    metadata = patch.get("metadata") or {}
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def encode(body: Body | Patch) -> bytes:
    return msgspec.json.encode(body)


def encode_object(resource: Resource[Any], body: Body) -> bytes:
    """A whole object, with the version and kind that it need not say itself."""
    said = msgspec.to_builtins(body) if isinstance(body, msgspec.Struct) else body
    return encode({"apiVersion": resource.api_version, "kind": resource.kind, **said})


def _code(error: KubeError) -> int:
    return error.status if isinstance(error, ApiError) else 0


def _filled(**values: str) -> dict[str, str]:
    return {key: value for key, value in values.items() if value}
