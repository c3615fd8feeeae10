"""Three members with API servers of their own, an hour of trouble: no object is deleted that was still asked for."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from tests.cluster.karmada import CLUSTERS, Bindings, binding, cluster, condition, define
from tests.cluster.played.evictions import Evictions
from tests.cluster.played.host import Crew, Host
from tests.cluster.played.leads import Leads, Load, takeovers
from tests.cluster.played.members import Member
from tests.cluster.played.readiness import Readiness
from tests.cluster.played.reports import Reports
from tests.cluster.played.stopwatch import Stopwatch, percentiles
from tests.cluster.played.witness import Cause, Witness
from tests.cluster.played.works import Works

PROOF = Path(__file__).parents[2] / "docs" / "proof"
SECONDS = 60 * float(os.environ.get("MINUTES", "60"))
BARE = Options(controller_manager=False, scheduler=False, kwok=False)
WORKLOADS, SETTINGS = 12, 8
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


class Trouble:
    """Everything that happens to a fleet, one thing at a time, drawn by lot. Each is undone before the end."""

    def __init__(
        self, host: Host, planes: dict[str, ControlPlane], members: list[Member], pair: "Pair", leads: Leads
    ) -> None:
        self.host = host
        self.planes = planes
        self.members = {each.name: each for each in members}
        self.pair = pair
        self.leads = leads
        self.paces = Stopwatch(host.api, host.path, leads)
        self.load = Load()
        self.witness = Witness()
        self.done: Counter[str] = Counter()
        self._lot = random.Random(20)
        self._undo: list[Callable[[], None]] = []
        self._unjoined: set[str] = set()

    def happen(self) -> None:
        """One thing; what lasts is ended by a later one."""
        self.load.look()
        if len(self._undo) > 2:
            self._undo.pop(0)()
        what = self._lot.choice(
            (self.scale, self.scale, self.scale, self.outage, self.outage, self.taint, self.drain, self.edit,
             self.rejoin, self.kill)
        )  # fmt: skip
        self.done[what.__name__] += 1
        what(self._lot.choice(sorted(self.members.keys() - self._unjoined)))

    def end(self) -> None:
        while self._undo:
            self._undo.pop(0)()

    def scale(self, name: str) -> None:
        """Never below one replica a member, so that no target is scaled away."""
        which = f"web-{self._lot.randrange(WORKLOADS)}"
        self.host.api.patch(f"{self.host.path}/{which}", {"spec": {"replicas": self._lot.randint(6, 15)}})

    def outage(self, name: str) -> None:
        """The member's API server is killed, or the network to it is away."""
        member, plane = self.members[name], self.planes[name]
        if member.down:
            return
        member.down = True
        killed = self._lot.random() < 0.5
        if killed:
            plane.stop_apiserver(kill=True)

        def back() -> None:
            if killed:
                plane.start_apiserver()
            member.down = False

        self._undo.append(back)

    def taint(self, name: str) -> None:
        self._tainted(name, "NoSchedule", None)

    def drain(self, name: str) -> None:
        self._tainted(name, "NoExecute", self.witness.ask("NoExecute", name))

    def _tainted(self, name: str, effect: str, cause: Cause | None) -> None:
        key = f"trouble-{len(self._undo)}-{self._lot.randrange(10**6)}"
        self._taints(name, lambda taints: [*taints, {"key": key, "effect": effect}])

        def off() -> None:
            ended(cause)
            # A cluster that was unjoined since comes back without its taints.
            if name not in self._unjoined:
                self._taints(name, lambda taints: [each for each in taints if each["key"] != key])

        self._undo.append(off)

    def _taints(self, name: str, changed: Callable[[list[dict[str, str]]], list[dict[str, str]]]) -> None:
        """Other taints of the cluster; again where the status controller was faster, whose taint must not be lost."""

        def write() -> bool:
            found = self.host.api.get(f"{CLUSTERS}/{name}")
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            spec = {"taints": changed(found["spec"].get("taints") or [])}
            self.host.api.patch(f"{CLUSTERS}/{name}", {"metadata": version, "spec": spec})
            return True

        self.host.api.wait(f"taints of {name}", write)

    def edit(self, name: str) -> None:
        """A person takes a member out of one policy, and puts it back later."""
        which = self._lot.choice(("web-0", "settings-0"))
        cause = self.witness.ask("affinity", name, which)
        path = f"{self.host.path}/{which}"
        self.host.api.patch(path, {"spec": {"placement": {"clusterAffinity": {"exclude": [name]}}}})

        def put_back() -> None:
            self.host.api.patch(path, {"spec": {"placement": {"clusterAffinity": {"exclude": None}}}})
            ended(cause)

        self._undo.append(put_back)

    def rejoin(self, name: str) -> None:
        """Unjoined and joined again."""
        if self._unjoined:
            return
        cause = self.witness.ask("unjoined", name)
        self._unjoined.add(name)
        self.host.api.delete(f"{CLUSTERS}/{name}")

        def join() -> None:
            self._unjoined.discard(name)
            self.host.api.create(CLUSTERS, cluster(name, {"pool": self.host.namespace}))
            ended(cause)

        self._undo.append(join)

    def kill(self, name: str) -> None:
        """The scheduler dies without a word, and another is started."""
        self.pair.replace()


def ended(cause: Cause | None) -> None:
    if cause is not None:
        cause.ended = time.monotonic()


class Pair:
    """Two instances of the scheduler, led by a lease."""

    def __init__(self, kubeconfig: Path, folder: Path, leads: Leads) -> None:
        self._kubeconfig = kubeconfig
        self._leads = leads
        self._log = (folder / "fleet.log").open("w")
        self._running = [self._start(), self._start()]

    def _start(self) -> subprocess.Popen[bytes]:
        command = ["fleet", "--kubeconfig", str(self._kubeconfig), "--health", "127.0.0.1:0"]
        begun = subprocess.Popen([sys.executable, "-m", "fairlead", *command], stdout=self._log, stderr=self._log)
        self._leads.started(begun.pid, time.monotonic())
        return begun

    def replace(self) -> None:
        first = self._running.pop(0)
        first.send_signal(signal.SIGKILL)
        first.wait(30)
        self._leads.killed(first.pid, time.monotonic())
        self._running.append(self._start())

    def stop(self) -> None:
        for each in self._running:
            each.send_signal(signal.SIGTERM)
        for each in self._running:
            each.wait(60)
        self._log.close()


@contextmanager
def three_members(names: list[str]) -> Iterator[dict[str, ControlPlane]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(ControlPlane(BARE)) for name in names}


@pytest.mark.proof
@pytest.mark.timeout(SECONDS + 1800)
def test_hour_of_trouble_deletes_nothing_that_was_asked_for(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """Taints, outages, joins, edits, scalings and kills: each target that left had a cause, and all return at last."""
    define(api, "karmada.yaml")
    with suppress(ApiError):
        api.create("/api/v1/namespaces", {"metadata": {"name": "fairlead-system"}})
    names = [f"{namespace}-m{number}" for number in (1, 2, 3)]
    began = datetime.now(UTC)
    with three_members(names) as planes:
        members = [Member(name, planes[name].api, "played") for name in names]
        api.create_many(CLUSTERS, [cluster(name, {"pool": namespace}) for name in names])
        host, bindings = Host(api, namespace), Bindings(api, namespace)
        where = {"clusterAffinity": {"labelSelector": {"matchLabels": {"pool": namespace}}}}
        divided = {**where, "replicaScheduling": DIVIDED}
        bindings.create(*(binding(f"web-{n}", 6, divided) for n in range(WORKLOADS)))
        bindings.create(*(without_replicas(binding(f"settings-{n}", 0, where)) for n in range(SETTINGS)))
        leads = Leads(api, "fairlead-fleet")
        pair = Pair(kubeconfig, tmp_path, leads)
        trouble = Trouble(host, planes, members, pair, leads)
        works, evictions = Works(host, members), Evictions(host)
        readiness, reports = Readiness(host, members), Reports(host, members)

        def watch() -> None:
            trouble.witness.look(host.bindings())

        try:
            with (
                Crew(readiness.step, watch, evictions.step, watch, works.step, watch, reports.step),
                leads,
                trouble.paces,
            ):
                bindings.settled(seconds=300)
                until = time.monotonic() + SECONDS
                while time.monotonic() < until and not trouble.witness.unexplained:
                    trouble.happen()
                    # A pause between two troubles, as long as a person takes.
                    time.sleep(random.Random(time.monotonic()).uniform(0.5, 4))
                trouble.end()
                for n in range(WORKLOADS):
                    bindings.patch(f"web-{n}", {"spec": {"replicas": 20}})
                told = lambda: missing(bindings.all(), host.clusters(), members)  # noqa: E731
                try:
                    api.wait("everything is everywhere", lambda: all(map(whole, bindings.all())), seconds=300)
                    there = lambda: all(len(each.objects()) == WORKLOADS + SETTINGS for each in members)  # noqa: E731
                    api.wait("the members have it", there, seconds=300)
                except AssertionError as error:
                    raise AssertionError("\n".join((str(error), *told(), *trouble.paces.long))) from error
        finally:
            pair.stop()
            for name in names:
                api.delete(f"{CLUSTERS}/{name}")
    write_down(began, trouble, works)
    assert trouble.witness.unexplained == []
    assert evictions.errors == []


def without_replicas(body: dict[str, object]) -> dict[str, object]:
    spec = body["spec"]
    assert isinstance(spec, dict)
    del spec["replicas"]
    spec["resource"] |= {"apiVersion": "v1", "kind": "ConfigMap"}
    return body


def whole(found: dict[str, object]) -> bool:
    spec = found["spec"]
    assert isinstance(spec, dict)
    return len(spec.get("clusters") or []) == 3 and condition(found).get("status") == "True"


def missing(bindings: list[dict[str, Any]], clusters: list[dict[str, Any]], members: list[Member]) -> Iterator[str]:
    """What is not as it should be in the end, a line each."""
    for each in bindings:
        if not whole(each):
            spec, status = each["spec"], each.get("status", {})
            yield (
                f"{each['metadata']['name']}: {spec.get('replicas', 0)} on {spec.get('clusters')}, tasks"
                f" {spec.get('gracefulEvictionTasks')}, generation {each['metadata']['generation']}, observed"
                f" {status.get('schedulerObservedGeneration')}, {condition(each)}, placement {spec.get('placement')}"
            )
    for each in clusters:
        meta = each["metadata"]
        yield f"cluster {meta['name']}: {meta.get('deletionTimestamp', 'stays')}, taints {each['spec'].get('taints')}"
    for member in members:
        names = {each["metadata"]["name"] for each in bindings} - set(member.objects())
        yield f"member {member.name}: down {member.down}, without {sorted(names)}"


def write_down(began: datetime, trouble: Trouble, works: Works) -> None:
    minutes = (datetime.now(UTC) - began).total_seconds() / 60
    happened = ", ".join(f"{count} × {what}" for what, count in sorted(trouble.done.items()))
    left = ", ".join(f"{count} for {what}" for what, count in sorted(trouble.witness.left.items())) or "none"
    with_standby, without = takeovers(trouble.leads.vacancies)
    paces = trouble.paces
    lines = [
        "# Three members in trouble",
        "",
        f"{began:%Y-%m-%d}, one shared machine of two cores (load {trouble.load}), {minutes:.0f} minutes.",
        f"A host and three members with real API servers; Karmada's controllers are played. {WORKLOADS} workloads",
        f"with replicas and {SETTINGS} objects without, two instances of the scheduler.",
        "",
        f"What happened: {happened}.",
        "",
        f"From a scaling to its decision while an instance led: {percentiles(paces.led)}.",
        f"Where nobody led for a while: {percentiles(paces.orphaned)};",
        f"counted from the moment an instance led again: {percentiles(paces.taken_over)}.",
        "",
        f"From the kill of a leader to the next one, a standby being ready: {percentiles(with_standby, 'kills')}.",
        f"Where the standby was killed as well or had not begun to look at the lease: {percentiles(without, 'kills')}.",
        "",
        f"Targets that left: {left}; without a cause: {len(trouble.witness.unexplained)}.",
        f"Objects deleted on members: {len(works.deletions)}.",
        "In the end everything was on all three members again.",
        "",
    ]
    if paces.long:
        lines += ["Steps that took long while an instance led:", "", *(f"- {each}" for each in paces.long), ""]
    PROOF.mkdir(parents=True, exist_ok=True)
    (PROOF / f"{began:%Y-%m-%d}-fleet-members.md").write_text("\n".join(lines))
