"""Gangs of Volcano Jobs: 200 of ten pods in four queues with weights 1 to 4, room for half of them.

A played job controller (tests/cluster/played) makes the pods of a Job when its PodGroup is let in. Timed is from the
first Job to the last bind; at rest nothing was bound for `QUIET` seconds. The bare loop is the floor: the same Jobs,
server and controller without a scheduler (`bare_gangs.py`). `python -m bench volcano` prints a table;
`python -m bench.volcano --prove` writes it to a page of its own under docs/proof, beside the page in which people say
what it means.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tools.controlplane import build
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.contest import PODS, PROOF, Contestant, account, fairlead, started
from bench.gang_course import Course, followed
from bench.measure import Report

QUEUES = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
GANGS, SIZE, NODES, CORES = 200, 10, 50, 20
QUIET, MOST = 8.0, 120.0
SUBMITTERS = 8
RIGHTS = [
    {"apiGroups": ["scheduling.volcano.sh"], "resources": ["*"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction", "configmaps"], "verbs": ["create", "get", "update", "patch"]},
]
ROUNDS: dict[str, dict[str, Any] | None] = {
    "bare loop": None,
    "Fairlead, gate open": {"admit": "open"},
    "Fairlead, gate kept": {"admit": "gated"},
}
VOLCANO = ["vc-scheduler, as recorded", "19.0", "7.3", "300 / 240 / 230 / 230", "0"]
"""Its own controllers, 50 KWOK nodes, without reclaim; measured on 2026-11-16 on another day of the same machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Seconds to the last bind, CPU seconds, pods by queue at rest, pods that were evicted, what each stage took."""

    last: float
    cpu_seconds: float
    held: dict[str, int]
    evicted: int
    course: list[Sequence[str]]


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


def bare(plane: ControlPlane, own: Path, port: int) -> list[str]:
    """The floor: no scheduler, a loop that lets in and binds."""
    return [sys.executable, "-m", "bench.bare_gangs", str(own), str(port), str(NODES * CORES)]


def race(name: str, settings: dict[str, Any] | None) -> Result:
    """One round on a fresh server; without settings that of the bare loop."""
    from tests.cluster import volcano
    from tests.cluster.played.host import Crew
    from tests.cluster.played.volcano_jobs import JobController, PlayedJob, Task

    names = [f"{queue}-{number}" for number in range(GANGS // len(QUEUES)) for queue in QUEUES]
    order = Random(7).sample(names, len(names))
    course = Course(size=SIZE)
    with (
        cluster(settings or {}) as (plane, own, config),
        followed(plane.api, volcano.groups_path("default"), course) as (pods, groups),
    ):
        command = bare if settings is None else fairlead("--config", str(config))
        who = Contestant(scheduler="fairlead", command=command)
        # As the real one it watches: a controller that lists takes the processor from those who race.
        jobs = JobController(plane.api, "default", pods=pods, groups=groups)

        def submit(gang: str) -> None:
            course.reached(gang, "submitted")
            jobs.submit(PlayedJob(name=gang, queue=gang[:2], tasks={"t": Task(replicas=SIZE)}))

        with started(name, who, plane, own) as runner, Crew(jobs.sync):
            start = time.monotonic()
            with ThreadPoolExecutor(SUBMITTERS) as pool:
                list(pool.map(submit, order))
            while time.monotonic() < min(max(start + QUIET, course.last_bind) + QUIET, start + MOST):
                runner.pause(start + 2 * MOST)
            cpu, _ = runner.cost()
            found = plane.api.items(PODS)
    held = Counter(pod["metadata"]["labels"]["volcano.sh/queue-name"] for pod in found if pod["spec"].get("nodeName"))
    return Result(
        last=course.last_bind - start,
        cpu_seconds=cpu,
        held=dict(held),
        evicted=course.evicted,
        course=list(course.rows(start)),
    )


def run(report: Report) -> None:
    """The bare loop and both gates, beside the recorded figures."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    rows, courses = [VOLCANO], {}
    for name, settings in ROUNDS.items():
        found = race(name, settings)
        shares = " / ".join(str(found.held.get(queue, 0)) for queue in QUEUES)
        rows.append([name, f"{found.last:.1f}", f"{found.cpu_seconds:.1f}", shares, str(found.evicted)])
        courses[name] = found.course
    title = f"{GANGS} gangs of {SIZE} in queues 1:2:3:4, {NODES} nodes of {CORES} cores: room for half"
    report.table(title, ["scheduler", "last bind s", "CPU s", "pods by queue at rest", "evicted"], rows)
    for name, course in courses.items():
        heads = ["stage of the gangs that run", "first at s", "last at s", "took, median s", "most s"]
        report.table(f"{name}: where the time goes", heads, course)


def main() -> None:
    """The command line of this group alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.volcano", description="Gangs of Volcano Jobs.")
    parser.add_argument("--prove", action="store_true", help="write the table to docs/proof")
    if not parser.parse_args().prove:
        run(Report(sys.stdout))
        return
    page = PROOF / f"{time.strftime('%Y-%m-%d')}-volcano-gangs-table.md"
    with page.open("w") as file:
        file.write(
            "# Gangs of Volcano Jobs: the table\n\n"
            "Written by `python -m bench.volcano --prove`, with a job controller played from what the real one wrote. "
            f"The machine ({os.cpu_count()} cores) was shared with other work, so seconds are upper bounds. "
            "The shares by weight are 100 / 200 / 300 / 400.\n\n```\n"
        )
        run(Report(file))
        file.write("```\n")


if __name__ == "__main__":
    main()
