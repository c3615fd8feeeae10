"""All four components on a real control plane through random faults, under load, with invariants checked at rest.

Faults come one after another while the load changes; then the faults stop, everything has to come to rest within
minutes, and what has to hold is checked from outside. What is not checked here: that no write follows a lost lease
(tests/live/test_two_leaders.py does).
"""

import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.campaign.crew import Crew
from tests.campaign.load import CORES, NODES, Load, tier_of
from tests.cluster import karmada, longhorn, volcano
from tests.cluster.cutter import Cutter, cutter
from tests.cluster.following import Followed, following
from tests.cluster.webhooks import HERE, Setting, webhooks
from tests.poison.table import NESTED, TABLE

SPACE, GANG_SPACE = "soak", "soak-gangs"
FAULTS = 15
"""Faults between two quiet points."""
LEASE_SECONDS = 20.0
"""Longer than a lease lasts."""
SETTING = Setting("webhook", policy="Ignore", repair=True, count=3)


@dataclass
class Soaked:
    """What a run came to."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    quiet_points: int = 0
    admissions: int = 0
    found: list[str] = field(default_factory=list)
    largest_mib: dict[str, float] = field(default_factory=dict)


@dataclass
class Site:
    """What faults are done to."""

    plane: ControlPlane
    crew: Crew
    way: Cutter
    chance: Random
    poisons: list[str] = field(default_factory=lambda: [label for label in TABLE if label != NESTED])

    @property
    def api(self) -> Api:
        return self.plane.api


def _poison(site: Site) -> None:
    """One poisonous object, as far as the API server takes it; it is removed again later with its namespace."""
    label = site.chance.choice(site.poisons)
    site.poisons.remove(label)
    for resource, body in TABLE[label].objects:
        if resource.kind in ("Pod", "ResourceBinding", "PodGroup", "PersistentVolumeClaim"):
            meta = {name: value for name, value in body["metadata"].items() if name != "namespace"}
            whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": meta}
            with suppress(ApiError):
                site.api.create(f"{resource.root}/namespaces/{GANG_SPACE}-poison/{resource.plural}", whole)


def _slow_etcd(site: Site) -> None:
    pid = site.plane.pids()["etcd"]
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(site.chance.uniform(1, 4))
    finally:
        os.kill(pid, signal.SIGCONT)


KINDS: dict[str, tuple[int, Callable[[Site], object]]] = {
    "SIGKILL": (6, lambda site: site.crew.end_one(site.chance, signal.SIGKILL)),
    "SIGTERM": (3, lambda site: site.crew.end_one(site.chance, signal.SIGTERM)),
    "SIGKILL of a webhook": (3, lambda site: site.crew.end_webhook(site.chance, signal.SIGKILL)),
    "SIGTERM of a webhook": (2, lambda site: site.crew.end_webhook(site.chance, signal.SIGTERM)),
    "SIGSTOP beyond a lease": (1, lambda site: site.crew.pause(site.chance, LEASE_SECONDS)),
    "SIGSTOP for a moment": (3, lambda site: site.crew.pause(site.chance, site.chance.uniform(0.5, 5))),
    "connections cut": (6, lambda site: site.way.cut()),
    "API server killed": (1, lambda site: site.plane.restart_apiserver(kill=True)),
    "API server restarted": (1, lambda site: site.plane.restart_apiserver()),
    "history forgotten": (1, lambda site: site.plane.forget_history()),
    "etcd slow": (2, _slow_etcd),
    "poison": (4, _poison),
}
"""By name: how often it comes beside the others, and what is done."""


def soak(
    minutes: float, seed: int, on_progress: Callable[[Soaked], None] = lambda found: None, *, faults: int = FAULTS
) -> Soaked:
    """Rounds of faults and rest, one at least, until the time is over; what does not hold is noted and ends the run."""
    found, begun = Soaked(seed=seed), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-soak-")))
        plane = stack.enter_context(ControlPlane())
        site, load, followed = stack.enter_context(_prepared(plane, folder, Random(seed)))
        while not found.found and (not found.quiet_points or time.monotonic() - begun < minutes * 60):
            _round(site, load, found, faults)
            found.found += [*_rested(load), *site.crew.ended(), *load.wrong(followed)]
            found.quiet_points += 1
            found.admissions = sum(len(each.places) for each in followed)
            found.seconds, found.largest_mib = time.monotonic() - begun, dict(site.crew.largest)
            on_progress(found)
        if found.found:
            found.found.append(f"logs: {_kept(folder)}")
    return found


@contextmanager
def _prepared(plane: ControlPlane, folder: Path, chance: Random) -> Iterator[tuple[Site, Load, list[Followed]]]:
    """Definitions, nodes, namespaces, processes and the first of the load."""
    api = plane.api
    volcano.install(api)
    karmada.define(api, "karmada.yaml")
    longhorn.install(api)
    plane.create_kwok_nodes(NODES, cpu=str(CORES), pods=500, labels=tier_of)
    for name, labels in ((SPACE, HERE), (GANG_SPACE, {}), (f"{GANG_SPACE}-poison", {})):
        api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    with (
        webhooks(plane, folder, SETTING) as served,
        cutter(plane.kubeconfig, folder) as way,
        following(api, SPACE) as pods,
        following(api, GANG_SPACE) as gangs,
    ):
        crew = Crew(way.kubeconfig, folder, SPACE, served)
        load = Load(api, SPACE, GANG_SPACE)
        try:
            load.begin()
            yield Site(plane, crew, way, chance), load, [pods, gangs]
        finally:
            crew.stop()
            load.end()


def _round(site: Site, load: Load, found: Soaked, faults: int) -> None:
    """Some faults, one after another, while the load changes beside them."""
    stop = threading.Event()
    changing = threading.Thread(target=_change, args=(load, Random(site.chance.random()), stop))
    changing.start()
    try:
        names = list(KINDS)
        for name in site.chance.choices(names, [KINDS[each][0] for each in names], k=faults):
            if name == "poison" and not site.poisons:
                continue
            KINDS[name][1](site)
            found.faults[name] += 1
            site.crew.measure()
            time.sleep(site.chance.uniform(0, 2))
    finally:
        stop.set()
        changing.join(120)


def _change(load: Load, chance: Random, stop: threading.Event) -> None:
    while not stop.wait(0.5):
        with suppress(OSError, ApiError, ValueError):
            load.change(chance)


def _rested(load: Load) -> list[str]:
    """Nothing where all comes to rest, else what did not."""
    try:
        load.rest()
    except (AssertionError, TimeoutError) as error:
        return [f"no rest: {error}"]
    return []


def _kept(folder: Path) -> Path:
    """The logs in a place that stays."""
    kept = Path(tempfile.mkdtemp(prefix="fairlead-soak-logs-"))
    for log in folder.glob("*.log"):
        (kept / log.name).write_bytes(log.read_bytes())
    return kept
