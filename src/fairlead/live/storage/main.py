"""The storage component's process, or one look."""

import time
from typing import TypeVar

from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.decode import convert
from fairlead.kube.errors import AnswerError, ApiError
from fairlead.kube.resources import (
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    LONGHORN_SETTINGS,
    LONGHORN_VOLUMES,
    Resource,
)
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.elected import run_elected
from fairlead.live.runtime.process import Process
from fairlead.live.storage.cache import Seen
from fairlead.live.storage.component import StorageKeeper, StorageOptions
from fairlead.live.storage.decide import advise, outlook
from fairlead.live.storage.report import Report
from fairlead.model.errors import InputError

NAME = "fairlead-storage"
T = TypeVar("T")


async def run(
    process: Process, options: StorageOptions, *, kubeconfig: str, context: str, events: bool, pages: str
) -> None:
    """Serve until a signal says stop. `pages` is the address of `/report`."""
    connection = load(kubeconfig_path=kubeconfig, context=context)
    reporter = NAME if events and not options.shadow else ""
    await run_elected(
        process, connection, lambda instance: StorageKeeper(instance, options), reporter=reporter, pages=pages
    )


async def once(options: StorageOptions, *, kubeconfig: str, context: str) -> Report:
    """The report on a cluster as it is now; nothing is written."""
    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        return await look(client, options, time.time())
    finally:
        await client.close()


async def look(client: Client, options: StorageOptions, now: float) -> Report:
    """Read the objects, decide, report. An object that cannot be read is told; kinds that are not served are empty."""
    missing: list[str] = []
    unreadable: list[InputError] = []

    async def read(resource: Resource[T]) -> tuple[T, ...]:
        try:
            page = await client.list(resource.raw, namespace=options.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            missing.append(resource.label)
            return ()
        found = []
        for raw in page.items:
            what = f"{resource.kind} {raw.get('metadata', {}).get('name', '')}"
            try:
                found.append(convert(raw, resource.shape, what))
            except AnswerError as error:
                unreadable.append(InputError(what, str(error).removeprefix(f"{what}: ")))
        return tuple(found)

    seen = Seen(
        nodes=await read(LONGHORN_NODES),
        volumes=await read(LONGHORN_VOLUMES),
        replicas=await read(LONGHORN_REPLICAS),
        settings=await read(LONGHORN_SETTINGS),
    )
    return Report(
        outlook=outlook(seen, options.rules, now),
        advice=advise(seen, options.rules, now),
        missing=tuple(missing),
        unreadable=tuple(unreadable),
    )
