"""Pods of Deployments that are counted, in bursts on a real API server, beside a list and a write for the same pods.

Every pod passes both webhooks, first the one of `bench.list_and_write`, which makes one consistent list and one
compare-and-swap a batch and decides nothing. What each took is told by the API server's own metrics.
"""

import base64
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.controlplane import build
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from bench.goals import Figure
from bench.measure import Report

OURS, BESIDE = "tier.fairlead.io", "beside.fairlead.io"
SIZES = (1, 4, 8)
"""Deployments created at once."""
REPLICAS, MINIMUM = 25, 5
TURNS = 5
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


def run(report: Report) -> None:
    """All sizes in one table."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    rows = []
    for size, (own, beside) in zip(SIZES, measured(), strict=True):
        means = [f"{each:.1f} ms" for each in (own, beside)]
        rows.append([f"{size}", f"{size * REPLICAS}", *means, f"{own / beside:.2f}×"])
    headers = ("Deployments", "pods", "counted", "a list and a write", "ratio")
    report.table(f"mean of a review, {TURNS} bursts of each size", headers, rows)


def of_a_list_and_a_write() -> Figure:
    """The mean of a review over that of a list and a write."""
    found = measured()
    own, beside = found[-1]
    return Figure(
        sizes=tuple(f"{size} × {REPLICAS} pods" for size in SIZES),
        values=tuple(own / beside for own, beside in found),
        note=f"{own:.0f} ms, a list and a write {beside:.0f} ms",
    )


def measured() -> list[tuple[float, float]]:
    """For each size the means in milliseconds, of ours and of the webhook beside it."""
    from tests.cluster.webhooks import HERE, SETTINGS, webhooks

    with (
        ControlPlane(Options(scheduler=False, kwok=False)) as plane,
        TemporaryDirectory() as folder,
        webhooks(plane, Path(folder), SETTINGS["webhook"], count=1) as these,
        _beside(plane, Path(folder) / "beside"),
    ):
        these.serve(these.replicas[0].port)
        plane.api.patch("/api/v1/namespaces/default", {"metadata": {"labels": HERE}})
        _burst(plane.api, "first", SIZES[0])
        return [_means(plane.api, size) for size in SIZES]


def _means(api: Api, size: int) -> tuple[float, float]:
    from tests.cluster.review_times import answers

    before = [answers(api, name) for name in (OURS, BESIDE)]
    for turn in range(TURNS):
        _burst(api, f"web-{size}-{turn}", size)
    after = [answers(api, name) for name in (OURS, BESIDE)]
    sums = [
        (late.seconds - early.seconds) / (late.count - early.count) for early, late in zip(before, after, strict=True)
    ]
    return 1000 * sums[0], 1000 * sums[1]


def _burst(api: Api, stem: str, size: int) -> None:
    """Deployments created at once; over when all their pods are stored."""
    from tests.cluster.fleets import Fleet, deployment

    fleet = Fleet(api, "default")
    before = len(api.items(fleet.pods_path))
    fleet.create(*(deployment(f"{stem}-{row}", REPLICAS, str(MINIMUM)) for row in range(size)))
    api.wait("the pods", lambda: len(api.items(fleet.pods_path)) >= before + size * REPLICAS, seconds=300)


@contextmanager
def _beside(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """The webhook that lists and writes, in force for the same pods and, by its name, asked first."""
    from tests.cluster.webhooks import certify

    folder.mkdir()
    certify(folder)
    command = [sys.executable, "-m", "bench.list_and_write", str(plane.kubeconfig), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = f"https://127.0.0.1:{int(process.stdout.readline())}/mutate"
        bundle = base64.b64encode((folder / "ca.crt").read_bytes()).decode()
        ours = plane.api.get(f"{CONFIGURATIONS}/fairlead-webhook")["webhooks"][0]
        webhook = ours | {"name": BESIDE, "clientConfig": {"url": url, "caBundle": bundle}}
        plane.api.create(CONFIGURATIONS, {"metadata": {"name": "beside"}, "webhooks": [webhook]})
        try:
            yield
        finally:
            plane.api.delete(f"{CONFIGURATIONS}/beside")
            process.terminate()
