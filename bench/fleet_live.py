"""Bindings that change at once on a real API server: Fairlead, and a bare loop of the same writes beside it.

One change that concerns every binding (a cluster no longer matches their affinity) is answered with one write of each
object and one of its status. The loop sends the same two patches for every binding, prepared beforehand, with as many
in flight, and decides nothing. Also: from the start of the process to its first and its last write, with all bindings
waiting. `python -m bench fleet_live`, or with sizes of your own `python -m bench.fleet_live 1000 4000`.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tools.controlplane import build
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.contest import MOST_SECONDS
from bench.goals import Figure
from bench.measure import Report

SIZES = (250, 500, 1000)
MEMBERS = [f"m{number}" for number in range(1, 11)]
POOL = "fleet"
WRITES = 'fairlead_fleet_writes_total{part="status"}'


def run(report: Report, sizes: tuple[int, ...] = SIZES) -> None:
    """All sizes, each on a fresh server."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    rows = []
    for size in sizes:
        found = measured_on_a_fresh_server(size)
        start = [f"{found['first']:.2f} s", f"{size / found['all']:.0f}"]
        for events in (False, True):
            own, loop = found[contestant("fairlead", events)], found[contestant("loop", events)]
            what = "with Events" if events else "without"
            rows.append([f"{size:,}", what, *start, f"{size / own:.0f}", f"{size / loop:.0f}", f"{loop / own:.2f}"])
    headers = ("bindings", "Events", "start to first", "from start, /s", "changed, /s", "bare loop, /s", "ratio")
    report.table("bindings placed a second", headers, rows)


def of_a_bare_loop() -> Figure:
    """Bindings a second over those of a loop of the same writes, with Events."""
    values = []
    for size in SIZES:
        found = measured_on_a_fresh_server(size)
        values.append(found[contestant("loop", True)] / found[contestant("fairlead", True)])
    return Figure(sizes=tuple(f"{size:,} bindings" for size in SIZES), values=tuple(values))


def contestant(name: str, events: bool) -> str:
    """Who is measured: with Events there is one more write a binding."""
    return f"{name}, events" if events else name


def measured_on_a_fresh_server(size: int) -> dict[str, float]:
    """Seconds: from the start to the first and to the last write, for a change of all, and of the bare loop."""
    from tests.cluster.karmada import Bindings, binding, cluster, define, static
    from tests.cluster.pages import free_port

    found = {}
    with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as plane:
        define(plane.api, "karmada.yaml")
        clusters = "/apis/cluster.karmada.io/v1alpha1/clusters"
        plane.api.create_many(clusters, [cluster(name, {"pool": POOL}) for name in MEMBERS])
        placement = static(POOL, dict.fromkeys(MEMBERS, 1))
        bindings = Bindings(plane.api, "default")
        bindings.create(*(binding(f"b{number}", 25, placement) for number in range(size)))
        for events in (False, True):
            port, pages, began = free_port(), free_port(), time.monotonic()
            options = ["--pages", f"127.0.0.1:{pages}", *([] if events else ["--no-events"])]
            with process(plane.kubeconfig, port, options):
                if not events:
                    found["first"] = until(port, 1, began)
                    found["all"] = until(port, size, began)
                wait(partial(_has_written, pages))
                before, began = max(0.0, status_writes(port)), time.monotonic()
                plane.api.patch(f"{clusters}/{MEMBERS[events]}", {"metadata": {"labels": {"pool": "none"}}})
                found[contestant("fairlead", events)] = until(port, before + size, began)
            found[contestant("loop", events)] = bare_loop(plane, bindings.all(), events)
    return found


def _has_written(pages: int) -> bool:
    """Whether its page of decisions tells of a write."""
    return '"written"' in decisions(pages)


def decisions(port: int) -> str:
    """The page of the last verdicts: it has some once everything was looked at."""
    from tests.cluster.pages import page

    return page(port, "/decisions")


@contextmanager
def process(kubeconfig: Path, port: int, options: list[str]) -> Iterator[None]:
    """The component, stopped at the end."""
    command = ["fleet", "--kubeconfig", str(kubeconfig), "--health", f"127.0.0.1:{port}", "--no-leader-election"]
    running = subprocess.Popen(
        [sys.executable, "-m", "fairlead", *command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        running.terminate()
        running.wait(60)


def status_writes(port: int) -> float:
    """Statuses written so far; −1 before the process serves."""
    from tests.cluster.pages import page

    lines = page(port, "/metrics").splitlines()
    found = [line for line in lines if line.startswith(WRITES)]
    return float(found[0].split()[1]) if found else (0.0 if lines else -1.0)


def until(port: int, count: float, began: float) -> float:
    """Seconds since `began` at which so many statuses are written."""
    wait(lambda: status_writes(port) >= count)
    return time.monotonic() - began


def wait(condition: Callable[[], bool]) -> None:
    """Until the condition holds; looked at seldom enough to cost next to nothing."""
    ends = time.monotonic() + MOST_SECONDS
    while not condition():
        if time.monotonic() > ends:
            raise TimeoutError("the fleet scheduler did not get there")
        time.sleep(0.02)


def bare_loop(plane: ControlPlane, bindings: list[dict[str, Any]], events: bool) -> float:
    """Seconds of the loop, in a process of its own."""
    file = plane.folder / "patches.json"
    file.write_text(json.dumps([_patches(each) for each in bindings]))
    command = [sys.executable, "-m", "bench.fleet_live", "--bare", str(plane.kubeconfig), str(file), str(int(events))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _patches(found: dict[str, Any]) -> dict[str, Any]:
    """What a change of clusters writes, for a binding as it is: other replicas, the record of it, the status."""
    meta, spec, status = found["metadata"], found["spec"], found["status"]
    targets = [{**each, "replicas": each["replicas"] + 1} for each in spec["clusters"]]
    record = {name: text for name, text in meta["annotations"].items() if name.startswith("fairlead.io/")}
    return {
        "name": meta["name"],
        "spec": {
            "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "annotations": record},
            "spec": {"clusters": targets},
        },
        "status": {
            "lastScheduledTime": "2026-01-01T00:00:00Z",
            "schedulerObservedGeneration": meta["generation"] + 1,
            **({"lastScheduleResult": status["lastScheduleResult"]} if "lastScheduleResult" in status else {}),
        },
    }


async def post(kubeconfig: str, bindings: list[dict[str, Any]], events: bool) -> float:
    """Seconds that both patches of every binding take, and an Event of each, as many in flight as the component has."""
    from fairlead.kube.config import load
    from fairlead.kube.resources import EVENTS, RESOURCE_BINDINGS
    from fairlead.kube.wire.http import connect
    from fairlead.live.fleet.writer import IN_FLIGHT

    client = connect(load(kubeconfig_path=kubeconfig))
    work = iter(bindings)
    resource = RESOURCE_BINDINGS.raw

    async def turn() -> None:
        for each in work:
            name = each["name"]
            stored = await client.patch(resource, name, each["spec"], namespace="default", kind="merge")
            version = {"resourceVersion": stored["metadata"]["resourceVersion"], "uid": stored["metadata"]["uid"]}
            patch = {"metadata": version, "status": each["status"]}
            await client.patch(resource, name, patch, namespace="default", kind="merge", subresource="status")
            if events:
                await client.create(EVENTS.raw, _event(name), namespace="default")

    began = time.monotonic()
    await asyncio.gather(*(turn() for _ in range(IN_FLIGHT)))
    took = time.monotonic() - began
    await client.close()
    return took


def _event(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{name}.{time.monotonic_ns()}", "namespace": "default"},
        "regarding": {"kind": "ResourceBinding", "namespace": "default", "name": name},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "bare",
        "reportingInstance": "bare",
        "reason": "ScheduleBindingSucceed",
        "action": "Scheduling",
        "note": "25 replicas over 9 clusters: m2 3, m3 3, m4 3, m5 3, m6 3, m7 3, m8 3, m9 2 and 1 more",
        "type": "Normal",
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        import uvloop

        config, patches, told = sys.argv[2:]
        print(uvloop.run(post(config, json.loads(Path(patches).read_text()), told == "1")))
    else:
        run(Report(sys.stdout), tuple(map(int, sys.argv[1:])) or SIZES)
