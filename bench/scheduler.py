"""Pods per second, side by side: kube-scheduler, Fairlead, and a bare loop in Go that only posts bindings (`ceiling`).

Each contestant gets a fresh API server and etcd, the same nodes and the same pods, which wait before it starts, and
works under a ServiceAccount. Timed until no pod is left, so that deciding counts, twice: from the moment the contestant
says that it is ready (its caches are full; the loop: it has bound a pod), and from the start of its process.
`python -m bench.scheduler --full` runs the sizes of the claim in three quarters of an hour and writes the tables to
docs/proof; `python -m bench scheduler` runs a small size.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from tools.controlplane import build
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench import ceiling
from bench.contest import MOST_SECONDS, PODS, PROOF, Contestant, account, fairlead, kube, prove, started
from bench.goals import Figure
from bench.measure import Report

WORKLOADS = 50
IN_FLIGHT = 48
EVENTS = 70
"""Events of the bare loop: as many as Fairlead writes in the same time, one a workload and some for pods."""
ZONE = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """So many pods on so many nodes; `contestants` by name, who all run once in each lap."""

    pods: int
    nodes: int
    constrained: bool
    contestants: tuple[str, ...]
    laps: int = 1
    owned: bool = True
    """Whether the pods belong to workloads, or are bare as those of CI runners and notebooks are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one contestant did."""

    name: str
    bound: int
    pods_per_second: float
    from_start: float
    """Pods a second since its process was started."""
    cpu_seconds: float
    peak_mib: float


def pod(number: int, scheduler: str, *, constrained: bool, owned: bool = True) -> dict[str, Any]:
    """One pod of one of the workloads; where they are not owned, it only looks like the others."""
    app = f"w{number % WORKLOADS}"
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
    }
    if constrained:
        linux = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [linux]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    meta: dict[str, Any] = {"name": f"{app}-{number}", "labels": {"app": app}}
    if owned:
        meta["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@contextmanager
def cluster(size: Round, scheduler: str, *, events: bool = True) -> Iterator[tuple[ControlPlane, Path]]:
    """A fresh control plane with nodes and waiting pods, and the kubeconfig of a ServiceAccount."""
    with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as plane:
        plane.create_kwok_nodes(size.nodes, labels=lambda number: {ZONE: "abc"[number % 3]})
        kind = {"constrained": size.constrained, "owned": size.owned}
        plane.api.create_many(PODS, [pod(number, scheduler, **kind) for number in range(size.pods)])
        yield plane, account(plane, events=events)


def bare(events: int) -> Callable[[ControlPlane, Path, int], list[str]]:
    """The loop of `bench.ceiling`, with so many Events."""
    return lambda plane, own, port: ceiling.command(own, in_flight=IN_FLIGHT, events=events)


CONTESTANTS: dict[str, Contestant] = {
    "kube-scheduler": Contestant(scheduler="default-scheduler", command=kube),
    "kube-scheduler, no events": Contestant(scheduler="default-scheduler", command=kube, events=False),
    "fairlead": Contestant(scheduler="fairlead", command=fairlead()),
    "fairlead, no events": Contestant(scheduler="fairlead", command=fairlead("--no-events"), events=False),
    "bare loop": Contestant(scheduler="fairlead", command=bare(0), events=False, says_ready=False),
    "bare loop with events": Contestant(scheduler="fairlead", command=bare(EVENTS), says_ready=False),
}
ALL = tuple(CONTESTANTS)
SECOND = ("kube-scheduler", "fairlead")
CLOSE = ("fairlead", "bare loop", "bare loop with events", "fairlead, no events")
SMALL = (
    Round(pods=1000, nodes=200, constrained=False, contestants=ALL),
    Round(pods=1000, nodes=200, constrained=False, contestants=CLOSE, owned=False),
    Round(pods=1000, nodes=200, constrained=True, contestants=SECOND),
)
FULL = (
    Round(pods=5000, nodes=1000, constrained=False, contestants=ALL, laps=5),
    Round(pods=10000, nodes=5000, constrained=False, contestants=ALL, laps=3),
    Round(pods=10000, nodes=5000, constrained=False, contestants=CLOSE, laps=5),
    Round(pods=5000, nodes=1000, constrained=False, contestants=CLOSE, laps=3, owned=False),
    Round(pods=5000, nodes=1000, constrained=True, contestants=SECOND),
)


def race(name: str, size: Round) -> Result:
    """One contestant on a fresh server."""
    who = CONTESTANTS[name]
    with (
        cluster(size, who.scheduler, events=who.events) as (plane, own),
        started(name, who, plane, own) as runner,
    ):
        start = time.monotonic()
        while (left := _unbound(plane)) and time.monotonic() < start + MOST_SECONDS:
            runner.pause(start + 2 * MOST_SECONDS, left / 2000)
        end, bound = time.monotonic(), size.pods - left
        cpu, peak = runner.cost()
    return Result(
        name=name,
        bound=bound,
        pods_per_second=bound / (end - start),
        from_start=bound / (end - runner.began),
        cpu_seconds=cpu,
        peak_mib=peak,
    )


def _unbound(plane: ControlPlane) -> int:
    """Pods without a node. All of them come with the answer, so ask seldom while there are many."""
    return len(plane.api.items(PODS, fieldSelector="spec.nodeName=", resourceVersion="0"))


def compare(report: Report, rounds: tuple[Round, ...]) -> None:
    """Round by round, lap by lap, every contestant on a fresh server; every other lap in the opposite order."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    for each in rounds:
        laps = _laps(each)
        kind = "node affinity and topology spread" if each.constrained else "plain" if each.owned else "bare pods"
        of = f", {each.laps} laps" if each.laps > 1 else ""
        report.table(f"{each.pods} pods on {each.nodes} nodes, {kind}{of}", HEADERS, _rows(each.contestants, laps))


def _laps(each: Round) -> list[dict[str, Result]]:
    orders = (each.contestants[:: -1 if lap % 2 else 1] for lap in range(each.laps))
    return [{name: race(name, each) for name in order} for order in orders]


HEADERS = [
    *("contestant", "bound", "pods/s", "from start", "against kube-scheduler", "against bare loop", "from start"),
    *("CPU s", "peak MiB"),
]


def _rows(contestants: tuple[str, ...], laps: list[dict[str, Result]]) -> list[list[str]]:
    """Each beside kube-scheduler and the bare loop with Events where it may write them itself, else beside those
    without, where they ran. Medians of the laps, and how far ratios of one lap went apart."""
    rows = []
    for name in contestants:
        quiet = not CONTESTANTS[name].events and "kube-scheduler, no events" in contestants
        slow = "kube-scheduler, no events" if quiet else "kube-scheduler"
        loop = "bare loop with events" if CONTESTANTS[name].events else "bare loop"
        own = [lap[name] for lap in laps]
        rows.append(
            [
                name,
                str(min(each.bound for each in own)),
                f"{median(each.pods_per_second for each in own):.0f}",
                f"{median(each.from_start for each in own):.0f}",
                *(_ratios(laps, name, other) if other in contestants else "" for other in (slow, loop)),
                _ratios(laps, name, loop, from_start=True) if loop in contestants else "",
                f"{median(each.cpu_seconds for each in own):.1f}",
                f"{median(each.peak_mib for each in own):.0f}",
            ]
        )
    return rows


def _ratios(laps: list[dict[str, Result]], name: str, other: str, *, from_start: bool = False) -> str:
    def speed(result: Result) -> float:
        return result.from_start if from_start else result.pods_per_second

    found = [speed(lap[name]) / speed(lap[other]) for lap in laps]
    apart = f" ({min(found):.2f}–{max(found):.2f})" if len(found) > 1 and name != other else ""
    return f"{median(found):.2f}×{apart}"


GROWTH = ((1000, 200), (2500, 500), (5000, 1000))
LARGE_GROWTH = ((2500, 1250), (5000, 2500), (10000, 5000))
LAPS = 5


def of_the_ceiling() -> Figure:
    """Fairlead's pods a second over those of the bare loop with as many Events, from the start of the process."""
    return _of_the_ceiling(GROWTH)


def of_the_large_ceiling() -> Figure:
    """The same on 5,000 nodes."""
    return _of_the_ceiling(LARGE_GROWTH)


def _of_the_ceiling(sizes: tuple[tuple[int, int], ...]) -> Figure:
    """Each size with the loop beside it; the last one with kube-scheduler too."""
    own, loop, slow = "fairlead", "bare loop with events", "kube-scheduler"
    values, note = [], ""
    for pods, nodes in sizes:
        last = (pods, nodes) == sizes[-1]
        names = (own, loop, slow) if last else (own, loop)
        laps = _laps(Round(pods=pods, nodes=nodes, constrained=False, contestants=names, laps=LAPS))
        values.append(_median_ratio(laps, own, loop))
        if last:
            costs = [f"{name} {median(lap[name].cpu_seconds for lap in laps):.1f} s" for name in names]
            note = f"{_median_ratio(laps, own, slow):.1f}× kube-scheduler; processor time: {', '.join(costs)}"
    return Figure(sizes=_named(sizes), values=tuple(values), note=note)


def _median_ratio(laps: list[dict[str, Result]], name: str, other: str) -> float:
    return median(lap[name].from_start / lap[other].from_start for lap in laps)


def bare_beside_owned() -> Figure:
    """Processor time for bare pods over that for pods of controllers, which take turns."""
    values, note = [], ""
    for pods, nodes in GROWTH:
        size = Round(pods=pods, nodes=nodes, constrained=False, contestants=("fairlead",))
        laps = [[race("fairlead", replace(size, owned=owned)) for owned in (False, True)] for _ in range(LAPS)]
        values.append(median(ownerless.cpu_seconds / owned.cpu_seconds for ownerless, owned in laps))
        costs = [
            f"{median(each.cpu_seconds for each in kind):.1f} s and {median(each.peak_mib for each in kind):.0f} MiB"
            for kind in zip(*laps, strict=True)
        ]
        note = f"{costs[0]}, with owners {costs[1]}"
    return Figure(sizes=_named(GROWTH), values=tuple(values), note=note)


def _named(sizes: tuple[tuple[int, int], ...]) -> tuple[str, ...]:
    return tuple(f"{pods:,} pods, {nodes:,} nodes" for pods, nodes in sizes)


def run(report: Report) -> None:
    """The small size."""
    compare(report, SMALL)


_INTRODUCTION = f"""# The live scheduler beside kube-scheduler

Written by `python -m bench.scheduler --full`. Every contestant had a fresh API server and etcd on the same machine
({os.cpu_count()} cores, {platform.machine()}), the same pods of {WORKLOADS} workloads waiting, a ServiceAccount, and no
limits on its client. Timed is to the last binding, from being ready and from the start of the process. kube-scheduler
writes an Event for every pod; Fairlead one for every workload and, at a bounded rate, for pods. Without Events means
that the right to write them is missing. The bare loop (Go, standard library) lists pods and nodes and posts the same
number of bindings, {IN_FLIGHT} at a time, and {EVENTS} Events where it has any. Of several laps the median is shown,
ratios are taken within a lap, and every other lap runs in the opposite order: the speed of a shared machine varies from
minute to minute.
"""


def main() -> None:
    """The command line of this group alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description="Schedulers side by side.")
    parser.add_argument("--full", action="store_true", help="the sizes of the claim, written to docs/proof")
    parser.add_argument("--pods", type=int, help="pods, instead of a known size")
    parser.add_argument("--nodes", type=int, default=200, help="nodes, with --pods")
    parser.add_argument("--write", metavar="FILE", help="write the tables as a page, too")
    options = parser.parse_args()
    rounds: tuple[Round, ...] = FULL if options.full else SMALL
    if options.pods:
        rounds = tuple(replace(each, pods=options.pods, nodes=options.nodes) for each in SMALL)
    page = options.write or (PROOF / f"{time.strftime('%Y-%m-%d')}-scheduler-bench.md" if options.full else None)
    if page:
        prove(Path(page), _INTRODUCTION, compare, rounds)
    else:
        compare(Report(sys.stdout), rounds)


if __name__ == "__main__":
    main()
