"""The fake as a transport, with handles for tests: look inside, change things behind a client's back, break it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any

import msgspec

from fairlead.kube import errors
from fairlead.kube.errors import UnreachableError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import ALL, Resource
from fairlead.kube.transport import Headers, Query, Response
from tests.fake.faults import FaultRule, Faults, Hook
from tests.fake.routes import Route, parse
from tests.fake.store import Store
from tests.fake.verbs import RefusalError, Verbs, as_object

BOOKMARK_SECONDS = 60.0
"""A real server sends a bookmark about once a minute."""
START = "2026-01-01T00:00:00Z"


class FakeApi:
    """An API server in memory. `now` gives the text of creation times; `calls` lists what was asked."""

    def __init__(self, *, served: Iterable[Resource[Any]] = ALL, now: Callable[[], str] = lambda: START) -> None:
        self.faults = Faults()
        self.calls: list[tuple[str, str]] = []
        self.store = Store(now, self._wake)
        self._served = {(resource.root, resource.plural): resource for resource in served}
        self._verbs = Verbs(self.store)
        self._news = asyncio.Event()
        self._epoch = 0
        self._cut = False
        self._bookmarks = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | None = None,
        headers: Headers | None = None,
        within: float | None = None,
    ) -> Response:
        self.calls.append((method, path))
        try:
            async with asyncio.timeout(within):
                await asyncio.sleep(self.faults.seconds)
        except TimeoutError as error:
            raise UnreachableError(f"{method} {path}", "no answer in time") from error
        caught = self.faults.meet(method, path, after=False)
        if caught is not None:
            return caught
        answer = self._answer(method, path, query or {}, body, (headers or {}).get("Content-Type", ""))
        return self.faults.meet(method, path, after=True) or answer

    def _answer(self, method: str, path: str, query: Query, body: bytes | None, content: str) -> Response:
        try:
            status = 201 if method == "POST" else 200
            found = self._act(method, path, query, as_object(body), content)
            return Response(status=status, body=msgspec.json.encode(found))
        except RefusalError as refusal:
            return Response(status=refusal.status, body=msgspec.json.encode(refusal.body()))

    def _act(self, method: str, path: str, query: Query, body: Any, content: str) -> Raw:
        if path == "/version":
            return {"major": "1", "minor": "36", "gitVersion": "v1.36.3-fake"}
        if path == "/apis":
            return self._groups()
        route = self._route(path)
        if not route.plural:
            here = [{"name": plural} for root, plural in self._served if root == route.root]
            return {"kind": "APIResourceList", "resources": here}
        dry = query.get("dryRun") == "All"
        if method == "GET":
            return self._verbs.get(route) if route.name else self._verbs.read_all(route, query)
        if method == "POST" and route.subresource == "binding":
            return self._verbs.bind(route, body, dry=dry)
        if method == "POST" and route.subresource == "eviction":
            return self._verbs.evict(route, body, dry=dry)
        if method == "POST":
            return self._verbs.create(route, body, dry=dry)
        if method == "PUT":
            return self._verbs.replace(route, body, dry=dry)
        if method == "PATCH":
            return self._verbs.patch(route, body, content, dry=dry)
        if method == "DELETE":
            return self._verbs.delete(route, body, dry=dry)
        raise RefusalError(405, "MethodNotAllowed", f"{method} is not known")

    def _groups(self) -> Raw:
        offered = {each.api_version for each in self._served.values() if each.group}
        return {"kind": "APIGroupList", "groups": [{"versions": [{"groupVersion": each}]} for each in sorted(offered)]}

    def _route(self, path: str) -> Route:
        route = parse(path)
        roots = {root for root, _ in self._served}
        if route is None or route.root not in roots:
            raise RefusalError(404, "NotFound", "the server could not find the requested resource")
        if route.plural and (route.root, route.plural) not in self._served:
            raise RefusalError(404, "NotFound", "the server could not find the requested resource")
        return route

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        self.calls.append(("WATCH", path))
        bookmarks = self._bookmarks
        await asyncio.sleep(self.faults.seconds)
        caught = self.faults.meet("WATCH", path, after=False)
        if caught is not None:
            raise errors.from_answer(caught.status, caught.body, retry_after=caught.headers.get("retry-after"))
        try:
            route = self._route(path)
        except RefusalError as refusal:
            raise errors.from_answer(refusal.status, msgspec.json.encode(refusal.body())) from refusal
        yield b""
        async for line in self._follow(route, query, bookmarks):
            yield line

    async def _follow(self, route: Route, query: Query, bookmarks: int) -> AsyncGenerator[bytes, None]:
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        version, epoch = int(query.get("resourceVersion") or 0), self._epoch
        loop = asyncio.get_running_loop()
        end = loop.time() + float(query.get("timeoutSeconds") or 1800)
        bookmark = loop.time() + BOOKMARK_SECONDS
        while self._epoch == epoch:
            news = self._news
            if version < self.store.floor:
                yield _line("ERROR", RefusalError(410, "Expired", "too old resource version").body())
                return
            told = self.store.version
            for record in self.store.since(route.where, version):
                version = record.version
                seen = record.seen_through(labels, fields)
                if seen is not None and route.namespace in ("", record.new["metadata"].get("namespace")):
                    yield _line(*seen)
            if self._bookmarks != bookmarks or loop.time() >= bookmark:
                bookmark = loop.time() + BOOKMARK_SECONDS
                # What came while lines were taken is not told yet.
                bookmarks, version = self._bookmarks, max(version, told)
                yield _line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}, "spec": None})
            try:
                async with asyncio.timeout_at(min(end, bookmark)):
                    await news.wait()
            except TimeoutError:
                if loop.time() >= end:
                    return
        if self._cut:
            raise UnreachableError(f"WATCH {route.where}", "the connection was cut on purpose")

    async def close(self) -> None:
        self.end_watches()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    # Handles for tests: everything below happens behind the back of the clients.

    def put(self, resource: Resource[Any], body: Raw, *, namespace: str = "") -> Raw:
        """Store an object, created or replaced, whatever its version says."""
        space = namespace or body.get("metadata", {}).get("namespace", "")
        key = (space, body["metadata"]["name"])
        where = f"{resource.root}/{resource.plural}"
        if self.store.get(where, key) is None:
            return self.store.create(where, key, body)
        return self.store.replace(where, key, body)

    def find(self, resource: Resource[Any], name: str, *, namespace: str = "") -> Raw | None:
        return self.store.get(f"{resource.root}/{resource.plural}", (namespace, name))

    def remove(self, resource: Resource[Any], name: str, *, namespace: str = "") -> None:
        self.store.delete(f"{resource.root}/{resource.plural}", (namespace, name))

    def serve(self, resource: Resource[Any]) -> None:
        self._served[(resource.root, resource.plural)] = resource

    def stop_serving(self, resource: Resource[Any]) -> None:
        del self._served[(resource.root, resource.plural)]
        self.end_watches()

    def end_watches(self, *, cut: bool = False) -> None:
        """End every stream now, politely or by cutting the connection."""
        self._epoch += 1
        self._cut = cut
        self._wake()

    def bookmark(self) -> None:
        """Send a bookmark with the present version to every watch."""
        self._bookmarks += 1
        self._wake()

    def compact(self) -> None:
        """Make every older version `gone`, for lists, tokens and watches."""
        self.store.compact()
        self._wake()

    def fail(
        self,
        status: int,
        *,
        method: str = "",
        path: str = "",
        times: int = 1,
        reason: str = "",
        retry_after: int | None = None,
    ) -> None:
        """Answer the next requests with this code instead of acting on them."""
        body = RefusalError(status, reason or "Injected", "injected on purpose").body()
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        answer = Response(status=status, body=msgspec.json.encode(body), headers=headers)
        self.faults.rules.append(FaultRule(method=method, path=path, times=times, answer=answer))

    def cut(self, *, method: str = "", path: str = "", times: int = 1, after: bool = False) -> None:
        """Cut the connection of the next requests, before they are acted upon or (`after`) instead of the answer."""
        self.faults.rules.append(FaultRule(method=method, path=path, times=times, cut=True, after=after))

    def before(self, hook: Hook, *, method: str = "", path: str = "", times: int = 1) -> None:
        """Call `hook` before the next requests are acted upon: another client was faster."""
        self.faults.rules.append(FaultRule(method=method, path=path, times=times, hook=hook))


def _line(kind: str, found: Raw) -> bytes:
    return msgspec.json.encode({"type": kind, "object": found})
