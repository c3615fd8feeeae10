"""The floor of the race of Volcano Jobs: what everything but a scheduler takes.

Lets in PodGroups as they come until the room is given away, and binds every pod to a node by turns: no queue, no share,
no gang, no status. `python -m bench.bare_gangs KUBECONFIG PORT ROOM` until it is ended.
"""

import asyncio
import sys
from collections.abc import Coroutine
from itertools import cycle
from typing import Any

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.resources import NODES, POD_GROUPS, PODS
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.http import connect

IN_FLIGHT = 32


class BareLoop:
    """`room` is how many pods may be let in."""

    def __init__(self, client: Client, nodes: list[str], room: int) -> None:
        self._client = client
        self._nodes = cycle(nodes)
        self._room = room
        self._seen: set[str] = set()
        self._free = asyncio.Semaphore(IN_FLIGHT)
        self._calls: set[asyncio.Task[None]] = set()

    def on_group(self, change: Change[Any]) -> None:
        """Let it in, if there is room."""
        group = change.object
        if group.metadata.uid in self._seen or group.spec.min_member > self._room:
            return
        self._seen.add(group.metadata.uid)
        self._room -= group.spec.min_member
        patch = {"status": {"phase": "Inqueue"}}
        self._do(self._client.patch(POD_GROUPS, group.metadata.name, patch, namespace=group.metadata.namespace))

    def on_pod(self, change: Change[Any]) -> None:
        """Bind it."""
        meta = change.object.metadata
        if change.kind == "added" and meta.uid not in self._seen:
            self._seen.add(meta.uid)
            self._do(self._client.bind(meta.namespace, meta.name, next(self._nodes), uid=meta.uid))

    def _do(self, call: Coroutine[Any, Any, Any]) -> None:
        async def one() -> None:
            async with self._free:
                await call

        task = asyncio.create_task(one())
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)


async def ready(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Whoever asks is told that everything is there."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()
    writer.close()


async def main(kubeconfig: str, port: int, room: int) -> None:
    """Until cancelled."""
    client = connect(load(kubeconfig_path=kubeconfig))
    nodes = [node.metadata.name for node in (await client.page(NODES)).items]
    loop = BareLoop(client, nodes, room)
    watches = Reflector(client, POD_GROUPS, loop.on_group), Reflector(client, PODS, loop.on_pod)
    async with asyncio.TaskGroup() as group:
        for each in watches:
            group.create_task(each.run())
            await each.synced.wait()
        await asyncio.start_server(ready, "127.0.0.1", port)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
