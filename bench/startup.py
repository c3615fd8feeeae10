"""From the start of the scheduler's process to its first bind, at growing clusters, on a server that only plays one.

Every pod but one runs already and has to be known before that one may be placed. `bench.large_api` is the server.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import yaml

from bench.contest import compiled, cost
from bench.goals import Figure
from bench.measure import Report

SIZES = ((500, 10_000), (1_500, 30_000), (5_000, 100_000))
LAPS = 3
MOST_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What one start took."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def run(report: Report) -> None:
    """All sizes."""
    rows = []
    for nodes, pods in SIZES:
        laps = [first_bind(nodes, pods) for _ in range(LAPS)]
        middle = [median(getattr(lap, name) for lap in laps) for name in ("seconds", "cpu_seconds", "peak_mib")]
        rows.append([f"{nodes:,}", f"{pods:,}", *(f"{value:.2f}" for value in middle[:2]), f"{middle[2]:.0f}"])
    headers = ("nodes", "pods", "seconds", "CPU s", "peak MiB")
    report.table(f"from the start of the process to the first bind, median of {LAPS}", headers, rows)


def to_first_bind() -> Figure:
    """Seconds of processor time of the scheduler up to its first bind."""
    found = [[first_bind(nodes, pods) for _ in range(LAPS)] for nodes, pods in SIZES]
    last = found[-1]
    seconds, peak = median(lap.seconds for lap in last), median(lap.peak_mib for lap in last)
    return Figure(
        sizes=tuple(f"{nodes:,} nodes, {pods:,} pods" for nodes, pods in SIZES),
        values=tuple(median(lap.cpu_seconds for lap in laps) for laps in found),
        note=f"{seconds:.1f} s by the clock, {peak:.0f} MiB",
    )


def first_bind(nodes: int, pods: int) -> Start:
    """One start."""
    with TemporaryDirectory() as folder, _server(nodes, pods) as server:
        assert server.stdout is not None
        config = _kubeconfig(Path(folder), int(server.stdout.readline()))
        options = [
            "--kubeconfig",
            str(config),
            "--no-leader-election",
            "--listen",
            "127.0.0.1:0",
            "--pages",
            "127.0.0.1:0",
        ]
        command = [*compiled(), "scheduler", *options]
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                said = server.stdout.readline()
                took = time.monotonic() - began
                cpu, peak = cost(process.pid)
            finally:
                process.terminate()
    if said.strip() != "bound":
        raise RuntimeError("the server ended before the first bind")
    return Start(seconds=took, cpu_seconds=cpu, peak_mib=peak)


@contextmanager
def _server(nodes: int, pods: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "bench.large_api", str(nodes), str(pods)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def _kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    here = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "large",
        "contexts": [{"name": "large", "context": {"cluster": "large", "user": "anybody"}}],
        "clusters": [{"name": "large", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "anybody", "user": {}}],
    }
    file.write_text(yaml.safe_dump(here))
    return file
