"""Time to start gangs, side by side: PodGroups of Kubernetes itself under kube-scheduler and under Fairlead.

Each contestant gets a fresh API server with the feature gates of native gangs, the same nodes, PodGroups and pods,
which wait before it starts, and works under a ServiceAccount. Timed is from the moment it is ready, or binds its first
pod, to the last bind that a watch sees. Once there is room for all gangs, once for some of them only; then a contestant
is done when it has bound nothing for `QUIET` seconds. `python -m bench.gangs --full` runs the larger size several times
and writes the tables to docs/proof; `python -m bench gangs` runs the small one.
"""

import argparse
import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Self

from tools.controlplane import build
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.contest import MOST_SECONDS, PODS, PROOF, Contestant, account, fairlead, kube, prove, started
from bench.measure import Report

API = "scheduling.k8s.io/v1alpha2"
GROUPS = f"/apis/{API}/namespaces/default/podgroups"
GATES = {"GenericWorkload": True, "GangScheduling": True}
WRITES = {"apiGroups": ["scheduling.k8s.io"], "resources": ["podgroups", "podgroups/status"], "verbs": ["patch"]}
QUIET = 25.0
"""Seconds without a bind after which nothing moves any more: kube-scheduler tries again after 10 s at the latest."""

CONTESTANTS = {
    "kube-scheduler": Contestant(scheduler="default-scheduler", command=kube),
    "fairlead": Contestant(scheduler="fairlead", command=fairlead()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Gangs of so many pods of one core, in a shuffled order, on `nodes` of `cores` each; `laps` are runs of it."""

    sizes: tuple[int, ...]
    nodes: int
    cores: int
    laps: int = 1

    @property
    def gangs(self) -> dict[str, int]:
        """Gangs by name, in the order in which they are created."""
        shuffled = Random(7).sample(self.sizes, len(self.sizes))
        return {f"gang{number}": size for number, size in enumerate(shuffled)}

    @property
    def title(self) -> str:
        pods = sum(self.sizes)
        what = f"{pods} pods in {len(self.sizes)} gangs of {min(self.sizes)} to {max(self.sizes)}"
        room = self.nodes * self.cores
        return f"{what} on {self.nodes} nodes, room for {'all' if room >= pods else f'{room} pods'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one contestant did; seconds are from its start to the first gang that was whole and to the last bind."""

    started: int
    half: int
    pods: int
    first: float
    last: float
    cpu_seconds: float
    peak_mib: float


class Follower:
    """Follows the pods in a thread of its own, from now to the end of the block, and remembers when each was bound."""

    def __init__(self, api: Api, gangs: dict[str, int]) -> None:
        self.binds: list[float] = []
        """The moments, one for each pod that was bound."""
        self.whole: list[float] = []
        """The moments at which a gang had its last pod."""
        self._api = api
        self._missing = dict(gangs)
        self._bound: set[str] = set()
        self._version = api.get(PODS, limit=1)["metadata"]["resourceVersion"]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()

    def _read(self) -> None:
        """The server may end a watch at any time; then the next one goes on from there."""
        while not self._over.is_set():
            for event in self._api.watch(PODS, seconds=2 * MOST_SECONDS, resourceVersion=self._version):
                self._see(event["object"])

    def _see(self, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        self._version = meta["resourceVersion"]
        if pod["spec"].get("nodeName") and meta["name"] not in self._bound:
            gang = meta["labels"]["gang"]
            self._bound.add(meta["name"])
            self._missing[gang] -= 1
            self.binds.append(time.monotonic())
            if not self._missing[gang]:
                self.whole.append(self.binds[-1])


def group(name: str, size: int) -> dict[str, Any]:
    """A gang of which all pods start together."""
    spec = {"schedulingPolicy": {"gang": {"minCount": size}}}
    return {"apiVersion": API, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def pod(gang: str, number: int, scheduler: str) -> dict[str, Any]:
    """One member."""
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}
    spec = {"schedulerName": scheduler, "schedulingGroup": {"podGroupName": gang}, "containers": [container]}
    meta = {"name": f"{gang}-{number}", "labels": {"gang": gang}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@contextmanager
def cluster(each: Round, who: Contestant) -> Iterator[tuple[ControlPlane, Path]]:
    """A fresh control plane with nodes, gangs and waiting pods, and the kubeconfig of a ServiceAccount."""
    served = Options(
        feature_gates=GATES, runtime_config={API: True}, controller_manager=False, scheduler=False, kwok=False
    )
    with ControlPlane(served) as plane:
        plane.create_kwok_nodes(each.nodes, cpu=str(each.cores))
        plane.api.create_many(GROUPS, [group(gang, size) for gang, size in each.gangs.items()])
        members = [(gang, number) for gang, size in each.gangs.items() for number in range(size)]
        plane.api.create_many(PODS, [pod(gang, number, who.scheduler) for gang, number in members])
        yield plane, account(plane, events=who.events, more=[WRITES])


def race(name: str, each: Round) -> Result:
    """One contestant on a fresh server."""
    who, gangs = CONTESTANTS[name], each.gangs
    with cluster(each, who) as (plane, own), Follower(plane.api, gangs) as seen:
        with started(name, who, plane, own) as runner:
            start = min([time.monotonic(), *seen.binds[:1]])
            while len(seen.binds) < sum(gangs.values()) and _moves(start, seen):
                runner.pause(start + 2 * MOST_SECONDS)
            cpu, peak = runner.cost()
        found = plane.api.items(PODS)
    there = Counter(each["metadata"]["labels"]["gang"] for each in found if each["spec"].get("nodeName"))
    if there.total() != len(seen.binds):
        raise RuntimeError(f"{name}: {there.total()} pods are bound, and {len(seen.binds)} were seen to be")
    return Result(
        started=sum(there[gang] == size for gang, size in gangs.items()),
        half=sum(0 < there[gang] < size for gang, size in gangs.items()),
        pods=there.total(),
        first=[*seen.whole, start][0] - start,
        last=[start, *seen.binds][-1] - start,
        cpu_seconds=cpu,
        peak_mib=peak,
    )


def _moves(start: float, seen: Follower) -> bool:
    """Whether a bind may still be expected."""
    return time.monotonic() < min(max([start, *seen.binds[-1:]]) + QUIET, start + MOST_SECONDS)


def compare(report: Report, rounds: tuple[Round, ...]) -> None:
    """Round by round, lap by lap, every contestant on a fresh server; every other lap in the opposite order."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    for each in rounds:
        found: dict[str, list[Result]] = {name: [] for name in CONTESTANTS}
        for lap in range(each.laps):
            for name in list(found)[:: -1 if lap % 2 else 1]:
                found[name].append(race(name, each))
        of = f", {each.laps} laps" if each.laps > 1 else ""
        report.table(f"{each.title}{of}", ["contestant", *COLUMNS], [_row(name, own) for name, own in found.items()])


COLUMNS: dict[str, Callable[[Result], str]] = {
    "gangs started": lambda result: f"{result.started}",
    "half started": lambda result: f"{result.half}",
    "pods bound": lambda result: f"{result.pods}",
    "first gang s": lambda result: f"{result.first:.1f}",
    "last bind s": lambda result: f"{result.last:.1f}",
    "CPU s": lambda result: f"{result.cpu_seconds:.1f}",
    "peak MiB": lambda result: f"{result.peak_mib:.0f}",
}


def _row(name: str, laps: list[Result]) -> list[str]:
    """The median of the laps, with the least and the most where they differ."""
    row = [name]
    for text in COLUMNS.values():
        shown = sorted((text(lap) for lap in laps), key=float)
        apart = f" ({shown[0]}–{shown[-1]})" if shown[0] != shown[-1] else ""
        row.append(f"{shown[len(shown) // 2]}{apart}")
    return row


def _sizes(**pods: int) -> tuple[int, ...]:
    """Gang sizes from `of10=18`: eighteen gangs of ten."""
    return tuple(int(size.removeprefix("of")) for size, count in pods.items() for _ in range(count))


FEW = _sizes(of10=18, of20=10, of30=6, of50=4, of100=2)
MANY = _sizes(of10=9, of20=8, of50=5, of100=3, of200=1, of250=2, of500=1)
SMALL = (Round(sizes=FEW, nodes=200, cores=8), Round(sizes=FEW, nodes=200, cores=3))
FULL = (Round(sizes=MANY, nodes=500, cores=8, laps=3), Round(sizes=MANY, nodes=500, cores=2, laps=3))


def run(report: Report) -> None:
    """The small size."""
    compare(report, SMALL)


_INTRODUCTION = f"""# Gangs beside kube-scheduler's own

Written by `python -m bench.gangs --full`. Every contestant had a fresh API server and etcd on the same machine
({os.cpu_count()} cores, {platform.machine()}) with the feature gates {" and ".join(GATES)}, the same PodGroups
({API}) and pods waiting, a ServiceAccount, and no limits on its client. A gang's minCount is its size. Timed
is from being ready to the first gang that is whole, and to the last bind. Where not all gangs find room, a contestant
was done when it had bound nothing for {QUIET:.0f} s; those count in its CPU seconds. Of several laps
the median is shown, with the least and the most; every other lap runs in the opposite order: the speed of a shared
machine varies from minute to minute.

kube-scheduler takes gangs in the order of its queue, which differs from lap to lap; it writes the expected node on pods
of a gang before they are bound, and an Event for every pod. Fairlead takes them by age, then by name, and writes the
places of a gang on its PodGroup before it is bound. So where room is short they start other gangs: seconds and cost
compare, the number of gangs follows from the order. Gangs that do not fit are tried again every few seconds by
kube-scheduler, and by Fairlead when something changes that could help.
"""


def main() -> None:
    """The command line of this group alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.gangs", description="Gangs side by side.")
    parser.add_argument("--full", action="store_true", help="the larger size, written to docs/proof")
    if parser.parse_args().full:
        prove(PROOF / f"{time.strftime('%Y-%m-%d')}-gangs-bench.md", _INTRODUCTION, compare, FULL)
    else:
        run(Report(sys.stdout))


if __name__ == "__main__":
    main()
