"""Caches of nodes, pods and jobs compared with fresh lists.

A difference that is there because the cluster moves on is gone at the next comparison.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import msgspec
import structlog

from fairlead.kube.client import Client
from fairlead.kube.decode import decode
from fairlead.kube.errors import AnswerError, KubeError
from fairlead.kube.resources import NODES, PODS, Resource
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.records import Records
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.scheduler.metrics import SchedulerMetrics

T = TypeVar("T")

TRIES = 4
PAUSE = 1.0
"""Seconds between two looks: longer than a watch event takes to arrive."""

log = structlog.get_logger("scheduler")


async def compare_every(
    seconds: float,
    client: Client,
    cache: Cache,
    job_cache: JobCache,
    measures: SchedulerMetrics,
    synced: Callable[[], bool],
) -> None:
    """Compare with fresh lists again and again; a server that cannot be asked is asked later."""
    while True:
        await asyncio.sleep(seconds)
        if not synced():
            continue
        try:
            found = await differences(client, cache, job_cache)
        except KubeError as error:
            log.warning("not compared", why=error)
            continue
        measures.differences.set(len(found))
        measures.checks.inc()
        for line in found[:10]:
            log.error("cache differs from a fresh list", what=line)


async def differences(client: Client, cache: Cache, job_cache: JobCache) -> list[str]:
    """How the caches differ from fresh lists, in the same words every time."""
    found: set[str] | None = None
    for _ in range(TRIES):
        now = set(await _look(client, cache, job_cache))
        found = now if found is None else found & now
        if not found:
            return []
        await asyncio.sleep(PAUSE)
    return sorted(found or ())


async def _readable(client: Client, resource: Resource[T]) -> list[T]:
    """The objects of a list that can be read: one that cannot is set aside by its watch, and hides no other."""
    found = []
    for raw in (await client.list(resource.of(msgspec.Raw))).items:
        with suppress(AnswerError):
            found.append(decode(bytes(raw), resource.shape, resource.label))
    return found


async def _look(client: Client, cache: Cache, job_cache: JobCache) -> list[str]:
    records = Records()
    shared = {
        resource: await _readable(client, resource) if job_cache.served(resource) else ()
        for resource, _ in job_cache.watched()
    }
    nodes = (await client.list(NODES)).items
    pods = [records.record(pod) for pod in (await client.list(PODS)).items]
    found = cache.differences(nodes, pods) + job_cache.differences(shared, pods, cache.assumed)
    for resource, kept in (*cache.storage.kept(), *cache.rules.kept()):
        listed = {
            (each.metadata.namespace, each.metadata.name): each.metadata.resource_version
            for each in (await client.list(resource)).items
        }
        mine = {key: each.metadata.resource_version for key, each in kept.items()}
        found += [f"{resource.plural} {'/'.join(key)}" for key in listed.keys() ^ mine.keys()]
        found += [
            f"{resource.plural} {'/'.join(key)}: version {mine[key]} in the cache, {listed[key]} in a fresh list"
            for key in listed.keys() & mine.keys()
            if listed[key] != mine[key]
        ]
    return found
