"""All four components on a real control plane through random faults, under load, with invariants checked at rest.

Faults come one after another while the load changes and a storm of admissions blows; then the faults stop, everything
has to come to rest within minutes, and what has to hold is checked from outside: by our own rules, by kube-scheduler's
filters and by the API server's audit log.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from random import Random

from tools.controlplane.api import Api, ApiError
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane
from tools.oracle import build as oracle_build
from tools.oracle.process import Oracle

from fairlead.kube.resources import PERSISTENT_VOLUME_CLAIMS, POD_GROUPS, PODS, RESOURCE_BINDINGS
from tests.campaign import audit
from tests.campaign.admissions import DEPLOYMENTS, Storm, change_until
from tests.campaign.audit import Audit
from tests.campaign.crew import Crew
from tests.campaign.feasibility import misplaced
from tests.campaign.load import CORES, NODES, Load, tier_of
from tests.campaign.posting import Posting
from tests.cluster import karmada, longhorn, volcano
from tests.cluster.cutter import Cutter, cutter
from tests.cluster.following import Followed, following
from tests.cluster.webhooks import HERE, Setting, webhooks
from tests.poison.table import NESTED, TABLE

SPACE, GANG_SPACE, STORM_SPACE = "soak", "soak-gangs", "soak-storm"
POISONED = f"{GANG_SPACE}-poison"
FAULTS = 90
"""Faults between two quiet points."""
LEASE_SECONDS = 20.0
"""Longer than a lease lasts."""
REST_SECONDS = 300.0
"""Everything has to be at rest by then."""
SETTING = Setting("webhook", policy="Ignore", repair=True, count=3)
PAUSE_SECONDS = 0.5
"""The longest pause between two faults."""


@dataclass
class Soaked:
    """What a run came to."""

    seed: int
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    quiet_points: int = 0
    admitted: int = 0
    """Pods created through the API server after a webhook process had answered."""
    posted: int = 0
    """Reviews that were posted to the webhook processes directly, and answered."""
    asked: int = 0
    """Bound pods about whose node kube-scheduler's filters were asked."""
    leader_writes: int = 0
    """Writes that were compared with the lease of their writer."""
    found: list[str] = field(default_factory=list)
    largest_mib: dict[str, float] = field(default_factory=dict)

    @property
    def admissions(self) -> int:
        return self.admitted + self.posted


@dataclass
class Site:
    """What faults are done to."""

    plane: ControlPlane
    crew: Crew
    way: Cutter
    chance: Random
    load: Load
    storm: Storm
    followed: list[Followed]
    audit: Audit
    oracle: Oracle
    posting: Posting
    poisons: list[str] = field(default_factory=list)
    starting: threading.Lock = field(default_factory=threading.Lock)
    """Held while a webhook or the API server starts: a webhook is not started beside a server that is away."""

    @property
    def api(self) -> Api:
        return self.plane.api


def _poison(site: Site) -> None:
    """One poisonous object, as far as the API server takes it; all are removed before they come a second time."""
    if not site.poisons:
        _clear(site.api)
        site.poisons += [label for label in TABLE if label != NESTED]
    label = site.chance.choice(site.poisons)
    site.poisons.remove(label)
    for resource, body in TABLE[label].objects:
        if resource.kind in ("Pod", "ResourceBinding", "PodGroup", "PersistentVolumeClaim"):
            meta = {name: value for name, value in body["metadata"].items() if name != "namespace"}
            whole = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": meta}
            with suppress(ApiError, OSError, HTTPException):
                site.api.create(f"{resource.root}/namespaces/{POISONED}/{resource.plural}", whole)


def _clear(api: Api) -> None:
    for resource in (PODS, RESOURCE_BINDINGS, POD_GROUPS, PERSISTENT_VOLUME_CLAIMS):
        with suppress(ApiError, OSError, HTTPException):
            api.delete(f"{resource.root}/namespaces/{POISONED}/{resource.plural}", gracePeriodSeconds=0)


def _slow_etcd(site: Site) -> None:
    pid = site.plane.pids()["etcd"]
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(site.chance.uniform(1, 4))
    finally:
        os.kill(pid, signal.SIGCONT)


@dataclass(frozen=True)
class Fault:
    """What is done, and how often it comes beside the others of its lane. `starts`: it waits for a process to start."""

    often: int
    act: Callable[[Site], object]
    starts: bool = False


LANES: tuple[dict[str, Fault], ...] = (
    {
        "SIGKILL": Fault(4, lambda site: site.crew.end_one(site.chance, signal.SIGKILL)),
        "SIGTERM": Fault(2, lambda site: site.crew.end_one(site.chance, signal.SIGTERM)),
        "SIGKILL of a webhook": Fault(2, lambda site: site.crew.end_webhook(site.chance, signal.SIGKILL), starts=True),
        "SIGTERM of a webhook": Fault(1, lambda site: site.crew.end_webhook(site.chance, signal.SIGTERM), starts=True),
    },
    {
        "clock stepped": Fault(4, lambda site: site.crew.step_clock(site.chance)),
        "snapshot on a full disk": Fault(2, lambda site: site.crew.dump(site.chance)),
        "SIGSTOP beyond a lease": Fault(1, lambda site: site.crew.pause(site.chance, LEASE_SECONDS)),
        "SIGSTOP for a moment": Fault(3, lambda site: site.crew.pause(site.chance, site.chance.uniform(0.5, 5))),
    },
    {
        "connections cut": Fault(12, lambda site: site.way.cut()),
        "etcd slow": Fault(4, _slow_etcd),
        "poison": Fault(6, _poison),
        "API server killed": Fault(1, lambda site: site.plane.restart_apiserver(kill=True), starts=True),
        "API server restarted": Fault(1, lambda site: site.plane.restart_apiserver(), starts=True),
        "history forgotten": Fault(1, lambda site: site.plane.forget_history(), starts=True),
    },
)
"""Faults by name: processes end and others start; processes stand still or are misled; the world around them fails."""


def soak(
    minutes: float, seed: int, on_progress: Callable[[Soaked], None] = lambda found: None, *, faults: int = FAULTS
) -> Soaked:
    """Rounds of faults and rest, one at least, until the time is over; what does not hold is noted and ends the run."""
    found, begun = Soaked(seed=seed), time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-soak-")))
        options = Options(apiserver_args=audit.arguments(folder, (SPACE, STORM_SPACE)))
        plane = stack.enter_context(ControlPlane(options))
        site = stack.enter_context(_prepared(plane, folder, Random(seed)))
        while not found.found and (not found.quiet_points or time.monotonic() - begun < minutes * 60):
            found.found += [*_faulted(site, found, faults), *_rested(site), *site.crew.ended()]
            _check(site, found)
            found.seconds, found.largest_mib = time.monotonic() - begun, dict(site.crew.largest)
            on_progress(found)
        if found.found:
            found.found.append(f"logs: {_kept(folder)}")
    return found


@contextmanager
def _prepared(plane: ControlPlane, folder: Path, chance: Random) -> Iterator[Site]:
    """Definitions, nodes, namespaces, processes and the first of the load."""
    api = plane.api
    volcano.install(api)
    karmada.define(api, "karmada.yaml")
    longhorn.install(api)
    plane.create_kwok_nodes(NODES, cpu=str(CORES), pods=500, labels=tier_of)
    for name, labels in ((SPACE, HERE), (STORM_SPACE, HERE), (GANG_SPACE, {}), (POISONED, {})):
        api.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    with (
        webhooks(plane, folder, SETTING, count=0) as served,
        cutter(plane.kubeconfig, folder) as way,
        following(api, SPACE) as pods,
        following(api, GANG_SPACE) as gangs,
        Oracle(oracle_build.program()) as oracle,
    ):
        crew = Crew(plane, way, folder, SPACE, served, SETTING.count)
        load, storm = Load(api, SPACE, GANG_SPACE), Storm(api, STORM_SPACE)
        try:
            load.begin()
            storm.begin()
            api.wait("the storm has begun", lambda: len(storm.reviews()) > DEPLOYMENTS)
            log, posting = Audit(folder / "audit.jsonl"), Posting(crew.ports)
            with posting.running(storm.reviews()):
                yield Site(plane, crew, way, chance, load, storm, [pods, gangs], log, oracle, posting)
        finally:
            crew.stop()
            load.end()


def _faulted(site: Site, found: Soaked, faults: int) -> list[str]:
    """Nothing after a round in which every process that was told to end did so in time and well."""
    try:
        _round(site, found, faults)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        return [f"a fault was not taken well: {error}"]
    return []


def _round(site: Site, found: Soaked, faults: int) -> None:
    """Some faults, one after another, while the load changes and the storm blows beside them."""
    stop, chance = threading.Event(), site.chance
    changing = [
        threading.Thread(target=change_until, args=(stop, Random(chance.random()), change, seconds))
        for change, seconds in ((site.load.change, 0.5), (site.storm.change, 0.3))
    ]
    for each in changing:
        each.start()
    try:
        with ThreadPoolExecutor(len(LANES)) as pool:
            for lane in [pool.submit(_lane, site, found, lane, faults // len(LANES)) for lane in LANES]:
                lane.result()
    finally:
        stop.set()
        for each in changing:
            each.join(120)


def _lane(site: Site, found: Soaked, lane: dict[str, Fault], faults: int) -> None:
    """Faults of one kind, one after another, beside those of the other."""
    chance, names = Random(site.chance.random()), list(lane)
    for name in chance.choices(names, [lane[each].often for each in names], k=faults):
        with site.starting if lane[name].starts else nullcontext():
            lane[name].act(site)
        found.faults[name] += 1
        site.crew.measure()
        time.sleep(chance.uniform(0, PAUSE_SECONDS))


def _rested(site: Site) -> list[str]:
    """Nothing where all comes to rest, else what did not."""
    try:
        site.load.rest(REST_SECONDS)
        site.storm.rest(REST_SECONDS)
    except (AssertionError, TimeoutError) as error:
        return [f"no rest: {error}"]
    return []


def _check(site: Site, found: Soaked) -> None:
    """What has to hold at rest."""
    asked, refused = misplaced(site.api, site.oracle, [SPACE, GANG_SPACE])
    site.audit.read()
    found.found += [*site.load.wrong(site.followed), *refused, *site.audit.late()[:5], *site.posting.wrong[:3]]
    found.quiet_points += 1
    found.asked += asked
    found.admitted, found.posted, found.leader_writes = site.audit.admitted, site.posting.answered, site.audit.writes


def _kept(folder: Path) -> Path:
    """The logs in a place that stays."""
    kept = Path(tempfile.mkdtemp(prefix="fairlead-soak-logs-"))
    for log in folder.glob("*.log"):
        (kept / log.name).write_bytes(log.read_bytes())
    return kept
