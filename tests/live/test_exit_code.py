"""A component as a process against an API server on a socket: it ends with 0 when asked to, and not when it failed."""

import asyncio
import signal
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from fairlead.kube.errors import ApiError
from fairlead.kube.resources import LEASES
from fairlead.kube.transport import Response
from tests.fake import FakeApi
from tests.kube.server import Handler, serving

FAILS = """
import fairlead.live.{module} as it
async def fails(self):
    raise RuntimeError("a round that fails")
it.{what} = fails
"""
RUN = """
import sys
from fairlead.cli.main import main
sys.argv[0] = "fairlead"
main()
"""
COMPONENTS = {
    "scheduler": ("scheduler.cycle", "Cycle.run", ["--listen", "127.0.0.1:0"]),
    "fleet": ("fleet.component", "Fleet.round", ["--health", "127.0.0.1:0"]),
    "storage": ("storage.component", "StorageKeeper.look", ["--health", "127.0.0.1:0"]),
}


class Elections(FakeApi):
    """Tells when a lease was written."""

    def __init__(self) -> None:
        super().__init__()
        self.held = asyncio.Event()

    async def request(self, method: str, path: str, **options: Any) -> Response:
        answer = await super().request(method, path, **options)
        if method == "POST" and path.endswith(f"/{LEASES.plural}"):
            self.held.set()
        return answer


def handler(api: FakeApi) -> Handler:
    """The fake API server over HTTP."""

    async def answer(request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        if query.get("watch") == "1":
            response = web.StreamResponse()
            try:
                async with aclosing(api.stream(request.path, query)) as lines:
                    await anext(lines)
                    await response.prepare(request)
                    async for line in lines:
                        await response.write(line + b"\n")
            except ApiError as error:
                return web.Response(status=error.status)
            return response
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = await api.request(request.method, request.path, query=query, body=body or None, headers=headers)
        return web.Response(status=found.status, body=found.body, headers={"Content-Type": "application/json"})

    return answer


def kubeconfig(folder: Path, address: str) -> Path:
    """For the server at the address."""
    file = folder / "config"
    body = {
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_bytes(msgspec.json.encode(body))
    return file


async def process(name: str, before: str, config: Path) -> asyncio.subprocess.Process:
    """`fairlead NAME`, after the code `before` has run in it."""
    options = [name, "--kubeconfig", str(config), "--pages", "127.0.0.1:0", *COMPONENTS[name][2]]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", before + RUN, *options, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )


def holders(api: FakeApi) -> list[str]:
    """Who holds the leases."""
    found = api.store.listed(f"{LEASES.root}/{LEASES.plural}", "", "", "")
    return [each["spec"].get("holderIdentity") or "" for each in found]


@pytest.mark.parametrize("name", COMPONENTS)
async def test_run_that_fails_ends_with_another_code_and_frees_the_lease(name: str, tmp_path: Path) -> None:
    """A defect outside any object ends the process: it says where, and the next instance need not wait."""
    api = FakeApi()
    module, what, _ = COMPONENTS[name]
    async with serving(handler(api), None) as address, asyncio.timeout(120):
        started = await process(name, FAILS.format(module=module, what=what), kubeconfig(tmp_path, address))
        told, _ = await started.communicate()
        assert started.returncode == 1
        assert b"ends, for it has failed" in told
        assert b"RuntimeError at <string>:4: a round that fails" in told
        assert holders(api) == [""]


async def test_run_that_is_stopped_ends_with_zero(tmp_path: Path) -> None:
    """SIGTERM to a leader: the lease is free, and nothing failed."""
    api = Elections()
    async with serving(handler(api), None) as address, asyncio.timeout(120):
        started = await process("scheduler", "", kubeconfig(tmp_path, address))
        await api.held.wait()
        started.send_signal(signal.SIGTERM)
        told, _ = await started.communicate()
        assert (started.returncode, holders(api)) == (0, [""])
        assert b"failed" not in told
