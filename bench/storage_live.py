"""Storage replicas that wait at once on a real API server: Fairlead, and a bare loop of the same writes beside it.

From the start of the process until every Replica of Longhorn has its disk, without Events. The loop sends one patch of
the same fields for every Replica, prepared beforehand, with as many in flight, reads nothing and decides nothing.
`python -m bench storage_live`, or with sizes of your own `python -m bench.storage_live 600 1800`.
"""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from tools.controlplane import build
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.contest import cost
from bench.goals import Figure
from bench.measure import Report

SIZES = (501, 1_500, 4_998)
"""Replicas, three of each volume, on a node for every ten."""
LAPS = 3
NAMESPACE = "longhorn-system"
MOST_SECONDS = 600.0


def run(report: Report, sizes: tuple[int, ...] = SIZES) -> None:
    """All sizes, each on a fresh server."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    rows = []
    for size in sizes:
        own, loop, cpu = measured_on_a_fresh_server(size)
        rows.append([f"{size:,}", f"{own:.1f} s", f"{loop:.1f} s", f"{loop / own:.2f}", f"{cpu:.1f} s"])
    report.table("storage replicas placed", ("replicas", "from start", "bare loop", "ratio", "CPU"), rows)


def of_a_bare_loop() -> Figure:
    """Replicas a second, from the start of the process, over those of a loop of the same writes."""
    found = [[measured_on_a_fresh_server(size) for _ in range(LAPS)] for size in SIZES]
    own, loop, cpu = (median(kind) for kind in zip(*found[-1], strict=True))
    return Figure(
        sizes=tuple(f"{size:,} replicas" for size in SIZES),
        values=tuple(median(loop / own for own, loop, _ in laps) for laps in found),
        note=f"{own:.1f} s, of which {cpu:.1f} s of processor time; the loop {loop:.1f} s",
    )


def measured_on_a_fresh_server(size: int) -> tuple[float, float, float]:
    """Seconds of the component, seconds of the loop, and the component's processor time."""
    from tests.cluster.longhorn import Longhorn, install, keeper
    from tests.live.longhorn_objects import fleet, waiting

    with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as plane:
        install(plane.api)
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        longhorn = Longhorn(plane.api, NAMESPACE)
        longhorn.create(*fleet(size // 10, 4), *waiting(size // 3))
        began = time.monotonic()
        with keeper(plane.kubeconfig, NAMESPACE, "--act", "--no-events") as running:
            done = f"fairlead_storage_writes_total {size}.0"
            plane.api.wait("all are written", lambda: done in running.page("/metrics").decode(), seconds=MOST_SECONDS)
            own = time.monotonic() - began
            cpu, _ = cost(running.process.pid)
        return own, bare_loop(plane, longhorn.all("replicas")), cpu


def bare_loop(plane: ControlPlane, replicas: list[dict[str, Any]]) -> float:
    """Seconds of the loop, in a process of its own."""
    file = plane.folder / "patches.json"
    file.write_text(json.dumps([_patch(each) for each in replicas]))
    command = [sys.executable, "-m", "bench.storage_live", "--bare", str(plane.kubeconfig), str(file)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _patch(found: dict[str, Any]) -> dict[str, Any]:
    """What a placement writes, for a Replica as it is, with another folder, so that something changes."""
    meta, spec = found["metadata"], found["spec"]
    folder = {"dataDirectoryName": spec["dataDirectoryName"] + "-again"}
    return {
        "metadata": {name: meta[name] for name in ("name", "uid", "resourceVersion", "labels")},
        "spec": {name: spec[name] for name in ("nodeID", "diskID", "diskPath")} | folder,
    }


async def post(kubeconfig: str, patches: list[dict[str, Any]]) -> float:
    """Seconds that all patches take, as many in flight as the component has."""
    from fairlead.kube.config import load
    from fairlead.kube.resources import LONGHORN_REPLICAS
    from fairlead.kube.wire.http import connect
    from fairlead.live.storage.writer import IN_FLIGHT

    client, work = connect(load(kubeconfig_path=kubeconfig)), iter(patches)

    async def turn() -> None:
        for each in work:
            name = each["metadata"]["name"]
            await client.patch(LONGHORN_REPLICAS.raw, name, each, namespace=NAMESPACE, kind="merge")

    began = time.monotonic()
    await asyncio.gather(*(turn() for _ in range(IN_FLIGHT)))
    took = time.monotonic() - began
    await client.close()
    return took


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bare"]:
        import uvloop

        config, prepared = sys.argv[2:]
        print(uvloop.run(post(config, json.loads(Path(prepared).read_text()))))
    else:
        run(Report(sys.stdout), tuple(map(int, sys.argv[1:])) or SIZES)
