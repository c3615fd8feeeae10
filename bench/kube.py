"""The Kubernetes edge: decoding 10,000 pods typed and as dictionaries, and watch events through a local TLS server."""

import asyncio
import gc
import json
import multiprocessing
import resource
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientSession, ClientTimeout, TCPConnector, web
from yarl import URL

from bench.measure import CPU, Report, milliseconds, ratio, side_by_side
from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.credentials import Credential, Fixed
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS
from fairlead.kube.responses import Page
from fairlead.kube.tls import tls_context
from fairlead.kube.transport import Response, Transport
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.http import HttpTransport

PODS_LISTED = 10_000
EVENTS_SENT = 40_000
POSTED = 4_000


def run(report: Report) -> None:
    """Decoding first, then what goes over TLS."""
    body = pod_list(PODS_LISTED)
    _decoding(report, body)
    _memory(report, body)
    with _server() as (port, authority):
        _watch(report, port, authority)
        _requests(report, port, authority)


def pod(number: int) -> dict[str, Any]:
    """A pod as a server sends it: managed fields, probes, environment, statuses — most of it never read by us."""
    name, uid = f"web-{number % 97}-{number:05d}", f"00000000-0000-4000-8000-{number:012d}"
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"web-{number % 97}",
        "uid": uid,
        "controller": True,
    }
    managed = {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "fieldsV1": {f"f:{i}": {} for i in range(60)},
    }
    container = {
        "name": "main",
        "image": "registry.example/shop/web:1.2.3",
        "env": [{"name": f"SETTING_{i}", "value": f"value {i}"} for i in range(12)],
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "1Gi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    }
    spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    selector = {"labelSelector": {"matchLabels": {"app": f"web-{number % 97}"}}}
    conditions = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    return {
        "metadata": {
            "name": name,
            "namespace": f"shop-{number % 20}",
            "uid": uid,
            "resourceVersion": str(100_000 + number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": f"web-{number % 97}", "pod-template-hash": f"{number % 97:010d}", "tier": "front"},
            "annotations": {"prometheus.io/scrape": "true", "note": "x" * 80},
            "ownerReferences": [owner],
            "managedFields": [managed, managed],
        },
        "spec": {
            "nodeName": f"node-{number % 500}",
            "schedulerName": "fairlead",
            "priority": number % 3,
            "containers": [container, {**container, "name": "sidecar"}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}],
            "topologySpreadConstraints": [{**spread, **selector}],
            "volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}],
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-01-01T00:00:05Z",
            "podIP": "10.1.2.3",
            "conditions": [
                {"type": each, "status": "True", "lastTransitionTime": "2026-01-01T00:00:05Z"} for each in conditions
            ],
            "containerStatuses": [
                {
                    "name": each,
                    "ready": True,
                    "restartCount": 0,
                    "imageID": "sha256:" + "0" * 64,
                    "state": {"running": {}},
                }
                for each in ("main", "sidecar")
            ],
        },
    }


def pod_list(count: int) -> bytes:
    items = [pod(number) for number in range(count)]
    return msgspec.json.encode({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": items})


typed = msgspec.json.Decoder(Page[Pod])
ways: dict[str, Callable[[bytes], Any]] = {
    "typed, only our fields": typed.decode,
    "msgspec dictionaries": msgspec.json.decode,
    "json dictionaries": json.loads,
}


def _decoding(report: Report, body: bytes) -> None:
    took = side_by_side({name: _bound(way, body) for name, way in ways.items()}, repeats=3, clock=CPU)
    base = took["typed, only our fields"]
    rows = [(name, milliseconds(seconds), ratio(seconds, base)) for name, seconds in took.items()]
    title = f"decode {PODS_LISTED:,} pods of {len(body) // PODS_LISTED:,} bytes (processor time)"
    report.table(title, ("way", "time", "ratio"), rows)


def _bound(way: Callable[[bytes], Any], body: bytes) -> Callable[[], object]:
    return lambda: way(body)


def _memory(report: Report, body: bytes) -> None:
    """Resident memory that the decoded objects add, each way in a process of its own; and a full collection."""
    rows, base = [], 0.0
    for name in ways:
        mebibytes, collect = _in_child(_weigh, name, body)
        base = base or mebibytes
        rows.append((name, f"{mebibytes:.0f} MiB", ratio(mebibytes, base), milliseconds(collect)))
    title = f"memory held by {PODS_LISTED:,} pods"
    report.table(title, ("way", "resident", "ratio", "one full collection"), rows)


def _weigh(pipe: Pipe, name: str, body: bytes) -> None:
    before = _resident()
    held = ways[name](body)
    after = _resident()
    began = time.perf_counter()
    gc.collect()
    pipe.send(((after - before) / 2**20, time.perf_counter() - began, held is not None))


def _resident() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


def _in_child(work: Callable[..., None], *arguments: Any) -> tuple[float, float]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    child = multiprocessing.get_context("spawn").Process(target=work, args=(theirs, *arguments))
    child.start()
    first, second, *_ = ours.recv()
    child.join()
    return first, second


@contextmanager
def _server() -> Iterator[tuple[int, str]]:
    """A TLS server in another process: its port, and the authority to trust."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        yield ours.recv()
    finally:
        server.kill()
        server.join()


def _watch(report: Report, port: int, authority: str) -> None:
    """Events per second, through a reflector's store to its sink."""
    rows = []
    for loop in ("uvloop", "asyncio"):
        wall, processor = _follow(port, authority, loop)
        rows.append((loop, f"{EVENTS_SENT / wall:,.0f}/s", f"{processor / EVENTS_SENT * 1e6:.0f} µs"))
    report.table(f"watch: {EVENTS_SENT:,} changes of pods over TLS", ("loop", "events", "processor time each"), rows)


def _follow(port: int, authority: str, name: str) -> tuple[float, float]:
    import uvloop

    factory = uvloop.new_event_loop if name == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(_count(port, authority))


async def _count(port: int, authority: str) -> tuple[float, float]:
    client = Client(HttpTransport(Connection(server=f"https://127.0.0.1:{port}", ca=authority)))
    seen, done = 0, asyncio.Event()

    def sink(change: Change[Pod]) -> None:
        nonlocal seen
        seen += 1
        if seen == EVENTS_SENT:
            done.set()

    task = asyncio.create_task(Reflector(client, PODS, sink).run())
    began, processor = time.perf_counter(), time.process_time()
    await done.wait()
    took = time.perf_counter() - began, time.process_time() - processor
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await client.close()
    return took


def _requests(report: Report, port: int, authority: str) -> None:
    """Bindings posted by our wire and by aiohttp's client, 48 at a time on uvloop."""
    import uvloop

    connection = Connection(
        server=f"https://127.0.0.1:{port}", ca=authority, credentials=Fixed(Credential(token="t" * 900))
    )
    calls: dict[str, Callable[[], object]] = {
        "our wire": lambda: uvloop.run(_post(lambda: HttpTransport(connection))),
        "aiohttp": lambda: uvloop.run(_post(lambda: _Aiohttp(connection))),
    }
    took = side_by_side(calls, repeats=3, clock=CPU)
    base = took["our wire"]
    rows = [(name, f"{seconds / POSTED * 1e6:.0f} µs", ratio(seconds, base)) for name, seconds in took.items()]
    report.table(f"{POSTED:,} bindings over TLS", ("client", "processor time each", "ratio"), rows)


async def _post(make: Callable[[], Transport]) -> None:
    client, work = Client(make()), iter(range(POSTED))

    async def turn() -> None:
        for number in work:
            await client.bind("default", f"pod-{number}", "node-1", uid="00000000-0000-4000-8000-000000000000")

    await asyncio.gather(*(turn() for _ in range(48)))
    await client.close()


class _Aiohttp(HttpTransport):
    """Requests by aiohttp, as a program would make them that has no client of its own."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._session = ClientSession(connector=TCPConnector(limit=0, ssl=tls_context(connection)))

    async def request(self, method: str, path: str, **given: Any) -> Response:
        sent = await self._headers(path, None, given["body"])
        url = URL(self._base + path, encoded=True)
        timeout = ClientTimeout(total=given["within"])
        async with self._session.request(method, url, data=given["body"], headers=sent, timeout=timeout) as answer:
            return Response(status=answer.status, body=await answer.read(), headers=dict(answer.headers))

    async def close(self) -> None:
        await self._session.close()
        await super().close()


def _serve(pipe: Pipe) -> None:
    asyncio.run(_serving(pipe))


async def _serving(pipe: Pipe) -> None:
    """An empty list, then all events as fast as they are read."""
    chunks = list(_chunks())

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        stream = web.StreamResponse()
        await stream.prepare(request)
        for chunk in chunks:
            await stream.write(chunk)
        await asyncio.sleep(600)
        return stream

    async def bound(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response({"kind": "Status", "status": "Success", "code": 201}, status=201)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    app.router.add_post("/{path:.*}", bound)
    runner = web.AppRunner(app)
    await runner.setup()
    context, authority = _certificates()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    pipe.send((runner.addresses[0][1], authority))
    await asyncio.sleep(3600)


def _chunks() -> list[bytes]:
    """Events in pieces as a server flushes them, about 64 KiB each."""
    pieces, piece = [], b""
    for number in range(EVENTS_SENT):
        changed = pod(number % 2000)
        changed["metadata"]["resourceVersion"] = str(number + 2)
        piece += msgspec.json.encode({"type": "MODIFIED", "object": changed}) + b"\n"
        if len(piece) > 65536:
            pieces.append(piece)
            piece = b""
    return [*pieces, piece]


def _certificates() -> tuple[ssl.SSLContext, str]:
    from tests.kube.authority import Authority

    authority = Authority()
    pair = authority.issue("bench", "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context, authority.pem
