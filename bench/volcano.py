"""Gangs of Volcano Jobs: 200 of ten pods in four queues with weights 1 to 4, room for half of them.

A played job controller (tests/cluster/played) makes the pods of a Job when its PodGroup is let in. Timed is from the
first Job to the last bind; at rest nothing was bound for `QUIET` seconds. `python -m bench volcano` prints a table;
`python -m bench.volcano --prove` writes it to docs/proof.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Self

from tools.controlplane import build
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.contest import PODS, PROOF, Contestant, account, fairlead, started
from bench.measure import Report

QUEUES = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
GANGS, SIZE, NODES, CORES = 200, 10, 50, 20
QUIET, MOST = 8.0, 120.0
SUBMITTERS = 8
RIGHTS = [
    {"apiGroups": ["scheduling.volcano.sh"], "resources": ["*"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction", "configmaps"], "verbs": ["create", "get", "update", "patch"]},
]
ROUNDS = {
    "gate open": {"admit": "open"},
    "gate kept": {"admit": "gated"},
}
VOLCANO = ["vc-scheduler, as recorded", "19.0", "7.3", "300 / 240 / 230 / 230", "0"]
"""Its own controllers, 50 KWOK nodes, without reclaim; measured on 2026-11-16 on another day of the same machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Seconds to the last bind, CPU seconds, pods by queue at rest, pods that were evicted."""

    last: float
    cpu_seconds: float
    held: dict[str, int]
    evicted: int


class Follower:
    """Follows the pods: the moments of binds, and how many bound ones were deleted."""

    def __init__(self, api: Api) -> None:
        self.last_bind = 0.0
        self.evicted = 0
        self._api = api
        self._bound: set[str] = set()
        self._version = api.get(PODS, limit=1)["metadata"]["resourceVersion"]
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()

    def _read(self) -> None:
        while not self._over.is_set():
            for event in self._api.watch(PODS, seconds=2 * MOST, resourceVersion=self._version):
                self._see(event["type"], event["object"])

    def _see(self, kind: str, pod: dict[str, Any]) -> None:
        meta = pod["metadata"]
        self._version = meta["resourceVersion"]
        if kind == "DELETED":
            self.evicted += meta["uid"] in self._bound
        elif pod["spec"].get("nodeName") and meta["uid"] not in self._bound:
            self._bound.add(meta["uid"])
            self.last_bind = time.monotonic()


@contextmanager
def cluster(settings: dict[str, Any]) -> Iterator[tuple[ControlPlane, Path, Path]]:
    """A fresh control plane with nodes and queues; the kubeconfig of a ServiceAccount, and a configuration."""
    from tests.cluster import volcano

    with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as plane:
        volcano.install(plane.api)
        plane.create_kwok_nodes(NODES, cpu=str(CORES), memory="256Gi")
        for name, weight in QUEUES.items():
            body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
            plane.api.create(volcano.QUEUES, {**body, "spec": {"weight": weight, "reclaimable": True}})
        config = plane.folder / "fairlead.json"
        head = {"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration"}
        evictions = {"allowed": True, "perMinute": 600, "namespace": "default"}
        config.write_text(json.dumps({**head, "queue": {**settings, "statusSeconds": 0.5}, "evictions": evictions}))
        yield plane, account(plane, events=True, more=RIGHTS), config


def race(name: str, settings: dict[str, Any]) -> Result:
    """One round on a fresh server."""
    from tests.cluster.following import following
    from tests.cluster.played.host import Crew
    from tests.cluster.played.volcano_jobs import JobController, PlayedJob, Task

    names = [f"{queue}-{number}" for number in range(GANGS // len(QUEUES)) for queue in QUEUES]
    order = Random(7).sample(names, len(names))
    with (
        cluster(settings) as (plane, own, config),
        Follower(plane.api) as seen,
        following(plane.api, "default") as there,
    ):
        who = Contestant(scheduler="fairlead", command=fairlead("--config", str(config)))
        # As the real one it watches: a controller that lists takes the processor from those who race.
        jobs = JobController(plane.api, "default", pods=lambda: dict(there.pods))
        with started(name, who, plane, own) as runner, Crew(jobs.sync):
            start = time.monotonic()
            wanted = [PlayedJob(name=gang, queue=gang[:2], tasks={"t": Task(replicas=SIZE)}) for gang in order]
            with ThreadPoolExecutor(SUBMITTERS) as pool:
                list(pool.map(jobs.submit, wanted))
            while time.monotonic() < min(max(start + QUIET, seen.last_bind) + QUIET, start + MOST):
                runner.pause(start + 2 * MOST)
            cpu, _ = runner.cost()
            found = plane.api.items(PODS)
    held = Counter(pod["metadata"]["labels"]["volcano.sh/queue-name"] for pod in found if pod["spec"].get("nodeName"))
    return Result(last=seen.last_bind - start, cpu_seconds=cpu, held=dict(held), evicted=seen.evicted)


def run(report: Report) -> None:
    """Both gates, beside the recorded figures."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    rows = [VOLCANO]
    for name, settings in ROUNDS.items():
        found = race(name, settings)
        shares = " / ".join(str(found.held.get(queue, 0)) for queue in QUEUES)
        rows.append([f"Fairlead, {name}", f"{found.last:.1f}", f"{found.cpu_seconds:.1f}", shares, str(found.evicted)])
    title = f"{GANGS} gangs of {SIZE} in queues 1:2:3:4, {NODES} nodes of {CORES} cores: room for half"
    report.table(title, ["scheduler", "last bind s", "CPU s", "pods by queue at rest", "evicted"], rows)


def main() -> None:
    """The command line of this group alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.volcano", description="Gangs of Volcano Jobs.")
    parser.add_argument("--prove", action="store_true", help="write the table to docs/proof")
    if not parser.parse_args().prove:
        run(Report(sys.stdout))
        return
    page = PROOF / f"{time.strftime('%Y-%m-%d')}-volcano-gangs.md"
    with page.open("w") as file:
        file.write(
            "# Gangs of Volcano Jobs\n\n"
            "Written by `python -m bench.volcano --prove`, with a job controller played from what the real one wrote. "
            f"The machine ({os.cpu_count()} cores) was shared with other work, so seconds are upper bounds. "
            "The shares by weight are 100 / 200 / 300 / 400.\n\n```\n"
        )
        run(Report(file))
        file.write("```\n")


if __name__ == "__main__":
    main()
