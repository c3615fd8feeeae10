"""The metrics of each component, from components that are made but not run."""

import asyncio

from prometheus_client import CollectorRegistry
from tests.fake.api import FakeApi

from fairlead.kube.client import Client
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.storage.component import StorageKeeper, StorageOptions
from fairlead.live.webhook.component import Webhook
from fairlead.settings import DEFAULTS

Family = tuple[str, str, tuple[str, ...], str]
"""Name, kind, labels, what it says."""


def families() -> dict[str, list[Family]]:
    """By component, in order of name."""
    return {name: _families(registry) for name, registry in asyncio.run(_registries()).items()}


async def _registries() -> dict[str, CollectorRegistry]:
    scheduler = Scheduler(Instance(Client(FakeApi())), Options())
    QueueMetrics(scheduler.registry)
    return {
        "scheduler": scheduler.registry,
        "webhook": Webhook(Client(FakeApi()), DEFAULTS).measures.registry,
        "fleet": Fleet(Instance(Client(FakeApi())), FleetOptions()).registry,
        "storage": StorageKeeper(Instance(Client(FakeApi())), StorageOptions()).registry,
    }


def _families(registry: CollectorRegistry) -> list[Family]:
    labels = {name: _labels(collector) for name, collector in registry._names_to_collectors.items()}
    found = []
    for each in registry.collect():
        name = f"{each.name}_total" if each.type == "counter" else each.name
        own = labels.get(each.name) or tuple(getattr(each, "_labelnames", ()))
        found.append((name, each.type, own, each.documentation))
    return sorted(found)


def _labels(collector: object) -> tuple[str, ...]:
    return tuple(getattr(collector, "_labelnames", ()))
