"""What reads from outside, each as a function that takes one random input and must answer in its own words.

A target counts inputs by what came of them (an exit code, `read`, `refused`). Whatever it raises is a defect.
"""

import asyncio
import gc
import io
import json
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import yaml

from fairlead.cli.main import main
from fairlead.kube.admission.review import decode
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.resources import NODES, PODS, RESOURCE_BINDINGS, Resource
from fairlead.kube.transport import Headers, Query, Response
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.response import HttpResponse
from fairlead.model.errors import InputError
from tests.campaign.mangling import fuzzed, mangled, spliced
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.cluster_of_pods import Process
from tests.poison.objects import Object
from tests.poison.table import NESTED, TABLE
from tests.poison.town import Town
from tests.tier.pods import pod, reference, review, web_pod, workload

Target = Callable[[Random], dict[str, int]]
"""Feeds a few inputs; how many ended how."""
ROOT = Path(__file__).parents[2]
EXIT_CODES = (0, 1, 2)
BATCH = 200
"""Inputs of targets that need something set up."""


class DefectError(Exception):
    """An input that was not answered as it should be: what was done with it, and what came of it."""


# --- the command line ---------------------------------------------------------------------------------------------

CLUSTERS = [{"name": f"c{n}", "weight": n + 1, "capacity": 9, "min": 0, "max": 8, "initial": n} for n in range(3)]
PROBLEMS: dict[str, list[Any]] = {
    "divide": [
        {
            "workload": {"name": "web", "uid": "u", "replicas": 7},
            "policy": {"mode": "static", "sticky": "seed", "capacityCoefficient": 0.5},
            "clusters": CLUSTERS,
            "previous": {
                "mode": "static",
                "replicas": 6,
                "clusters": [{"name": "c0", "weight": 1, "replicas": 2}, {"name": "c1", "weight": 2, "replicas": 4}],
            },
        },
        {"workload": {"name": "web", "replicas": 5}, "policy": {"mode": "webster"}, "clusters": CLUSTERS},
        {"workload": {"name": "web", "replicas": 5}, "policy": {"mode": "dynamic"}, "clusters": CLUSTERS},
    ],
    "share": [json.loads((ROOT / "examples/queues/fairshare.json").read_text())],
    "place": [
        json.loads((ROOT / "examples/nodes/rack.json").read_text()),
        {
            "strategy": "global",
            "count": 3,
            "nodes": [{"name": f"n{n}", "capacity": 4, "usage": n / 100, "rate": 0.004, "count": n} for n in range(3)],
        },
    ],
    "balance": [json.loads((ROOT / "examples/storage/scenario.json").read_text())],
    "split": [json.loads((ROOT / "examples/tiers/review.json").read_text())],
    "config check": [
        {
            "apiVersion": "fairlead.io/v1alpha1",
            "kind": "Configuration",
            "queue": {"statusSeconds": 0.5},
            "scheduler": {"gangSeconds": 60},
        }
    ],
}
"""Problems of every verb that are answered as they are."""
MANIFESTS = [
    document
    for name in ("batch", "fleet", "nodes-west", "running", "storage", "store")
    for document in yaml.safe_load_all((ROOT / f"examples/shop/{name}.yaml").read_text())
    if document
]


@contextmanager
def _terminal(words: list[str], typed: bytes) -> Iterator[io.StringIO]:
    """The process as the shell starts it; gives what is said beside the answer."""
    before = sys.argv, sys.stdin, sys.stdout
    sys.argv, sys.stdin = ["fairlead", *words], io.TextIOWrapper(io.BytesIO(typed))
    sys.stdout = io.TextIOWrapper(io.BytesIO())
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            yield said
    finally:
        sys.argv, sys.stdin, sys.stdout = before
        gc.enable()  # a command that reads much turns it off for the rest of its process


def called(words: list[str], typed: bytes) -> int:
    """The exit code of one call of the command line in this process."""
    with _terminal(words, typed) as said:
        try:
            main()
        except SystemExit as end:
            code = end.code
        except Exception as error:
            raise DefectError(f"fairlead {' '.join(words)}: {type(error).__name__}: {error}") from error
    if code not in EXIT_CODES or "Traceback" in said.getvalue():
        raise DefectError(f"fairlead {' '.join(words)}: exit code {code}: {said.getvalue()[:500]}")
    if code == 2 and not said.getvalue().strip():
        raise DefectError(f"fairlead {' '.join(words)}: exit code 2 without a word")
    return int(code or 0)


def verbs(chance: Random) -> dict[str, int]:
    """One problem for one of the verbs, as JSON or YAML, answered as JSON or as a table."""
    verb = chance.choice([each for each in PROBLEMS if each != "config check"])
    text = _written(chance, PROBLEMS[verb])
    form = [] if verb == "split" else ["-o", chance.choice(("json", "json", "yaml", "table"))]
    return {f"exit {called([verb, '-f', '-', *form], text)}": 1}


def config(chance: Random) -> dict[str, int]:
    """One configuration."""
    return {f"exit {called(['config', 'check', '-f', '-'], _written(chance, PROBLEMS['config check']))}": 1}


def _written(chance: Random, seeds: list[Any]) -> bytes:
    if chance.random() < 0.7:
        return fuzzed(chance, seeds)
    text = yaml.safe_dump(mangled(chance.choice(seeds), chance), allow_unicode=True).encode()
    return spliced(text, chance) if chance.random() < 0.3 else text


def manifests(folder: Path) -> Target:
    """A few mangled objects beside a cluster, planned; they pass through a file in `folder`."""
    file = folder / "mangled.yaml"

    def plan(chance: Random) -> dict[str, int]:
        objects = [mangled(each, chance, 0.01) for each in chance.sample(MANIFESTS, 8)]
        text = yaml.safe_dump_all(objects, allow_unicode=True).encode()
        file.write_bytes(spliced(text, chance) if chance.random() < 0.1 else text)
        words = ["plan", "-f", str(file), "-o", chance.choice(("json", "table"))]
        words += ["--keep-going"] if chance.random() < 0.8 else []
        return {f"exit {called(words, b'')}": len(objects)}

    return plan


# --- the webhook ----------------------------------------------------------------------------------------------------

REVIEWS = (
    review(pod(owner=reference("ReplicaSet", "web-1", "r"), generateName="web-", namespace="shop"), dryRun=True),
    review(web_pod(labels={"a": "b"}, spec={"nodeSelector": {"a": "b"}})),
    review(pod(name="db-1", owner=reference("StatefulSet", "db", "s"))),
    review(workload("Deployment", "web", "u", minimum="2"), kind="Deployment", operation="UPDATE", oldObject={}),
)


def webhook(chance: Random) -> dict[str, int]:
    """Reviews for one webhook over the fake API server, each answered or refused as bad input."""
    return run(_reviewed([fuzzed(chance, REVIEWS) for _ in range(BATCH)]))


async def _reviewed(bodies: list[bytes]) -> dict[str, int]:
    ended = {"read": 0, "refused": 0}
    async with Process(FakeApi()) as process:
        for body in bodies:
            try:
                response = await process.mutator.answer(decode(body).request)
            except InputError:
                ended["refused"] += 1
                continue
            except Exception as error:
                raise DefectError(f"review {body!r}: {type(error).__name__}: {error}") from error
            if not isinstance(msgspec.json.decode(msgspec.json.encode(response))["response"]["allowed"], bool):
                raise DefectError(f"review {body!r}: answered {response}")
            ended["read"] += 1
    return ended


# --- the wire and watches -----------------------------------------------------------------------------------------

ANSWERS = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"kind":"Pod"}',
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
    b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nA: b\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 409 Conflict\r\nConnection: close\r\n\r\n{}",
    b"HTTP/1.1 204 No Content\r\nRetry-After: 1\r\n\r\n",
)


def wire(chance: Random) -> dict[str, int]:
    """An answer of a server, mangled, in pieces of any size."""
    text = chance.choice(ANSWERS)
    for _ in range(chance.randrange(1, 4)):
        text = spliced(text, chance)
    response = HttpResponse(most=2**16)
    try:
        while text:
            size = chance.randrange(1, len(text) + 1)
            piece, text = text[:size], text[size:]
            if response.feed(piece) is not None:
                return {"read": 1}
        return {"cut" if response.end() is None else "read": 1}
    except ValueError:
        return {"refused": 1}
    except Exception as error:
        raise DefectError(f"answer {text!r}: {type(error).__name__}: {error}") from error


SEEDS: tuple[tuple[Resource[Any], Object], ...] = tuple(
    made for label, poison in TABLE.items() if label != NESTED for made in poison.objects if len(str(made[1])) < 20_000
)


class _Stream:
    """A transport whose lists are empty and whose watches bring these lines."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines

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
        return Response(status=200, body=b'{"metadata":{"resourceVersion":"1"},"items":[]}', headers={})

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        yield b""
        while self.lines:
            yield self.lines.pop()

    async def close(self) -> None:
        """Nothing is open."""


def watch(chance: Random) -> dict[str, int]:
    """Lines of a watch: whatever they hold, the one that follows it goes on."""
    resource = chance.choice((PODS, NODES, RESOURCE_BINDINGS))
    seeds = [body for kind, body in SEEDS if kind is resource]
    lines = [_line(chance, seeds) for _ in range(BATCH)]
    read, aside = run(_followed(resource, lines))
    return {"read": read, "refused": aside}


def _line(chance: Random, seeds: list[Object]) -> bytes:
    body = {**chance.choice(seeds)}
    body["metadata"] = {**body["metadata"], "resourceVersion": str(chance.randrange(2, 10**6)), "uid": "u"}
    kind = chance.choice(("ADDED", "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "x"))
    return fuzzed(chance, [{"type": kind, "object": body}])


async def _followed(resource: Resource[Any], lines: list[bytes]) -> tuple[int, int]:
    told: list[str] = []
    refused: list[Exception | None] = []
    reflector = Reflector[Any](
        Client(_Stream(lines)),
        resource,
        lambda change: told.append(change.kind),
        aside=lambda resource, metadata, error: refused.append(error),
    )
    task = asyncio.create_task(reflector.run())
    for _ in range(10 * BATCH):
        await asyncio.sleep(60)
        if task.done() or not lines:
            break
    if task.done():
        raise DefectError(f"watch of {resource.plural} ended: {task.exception()!r}")
    if lines:
        raise DefectError(f"watch of {resource.plural} stopped reading {len(lines)} lines before the end")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return len(told), sum(error is not None for error in refused)


# --- all components together ----------------------------------------------------------------------------------------


def components(chance: Random) -> dict[str, int]:
    """Mangled objects of every kind beside ordinary work, with all four components on the fake API server."""
    try:
        return run(_lived([(kind, _odd(body, chance)) for kind, body in chance.sample(SEEDS, 40)]))
    finally:
        # The scheduler freezes what it knows at its start: right for one in a process, not for many after another.
        gc.unfreeze()


def _odd(body: Object, chance: Random) -> Object:
    """The object, mangled in all but its metadata, whose types every API server holds."""
    rest = {name: value for name, value in body.items() if name != "metadata"}
    return {**{name: mangled(value, chance, 0.02) for name, value in rest.items()}, "metadata": body["metadata"]}


async def _lived(made: list[tuple[Resource[Any], Any]]) -> dict[str, int]:
    town, put = Town(), 0
    for number, (kind, body) in enumerate(made):
        put += _put(town, kind, body, number)
    await asyncio.sleep(30)
    wanted = town.ordinary(1)
    await asyncio.sleep(300)
    failed, open_ = town.failed(), [each for each in wanted if not town.holds(each)]
    await town.stop()
    if failed or open_:
        raise DefectError(f"components: ended {failed}, not done {open_}, with {made}")
    return {"read": put, "refused": len(made) - put}


def _put(town: Town, kind: Resource[Any], body: Object, number: int) -> bool:
    """Store the object under a name of its own; False where the fake keeps no such object, as no server would."""
    body = {**body, "metadata": {**body["metadata"], "name": f"m{number}"}}
    try:
        town.put((kind, body))
    except (KubeError, TypeError, ValueError, AttributeError):
        return False
    return True
