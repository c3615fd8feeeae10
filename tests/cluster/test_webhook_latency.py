"""What the webhook adds to a creation, as the API server's own metrics see it, beside one that returns an empty answer.

Nothing here asserts a time; the numbers are written down.
"""

import base64
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from tests.cluster.fleets import Fleet, deployment
from tests.cluster.review_times import Answers, answers
from tests.cluster.webhooks import HERE, SETTINGS, certify, webhooks

PROOF = Path(__file__).parents[2] / "docs" / "proof"
OURS, EMPTY = "tier.fairlead.io", "empty.fairlead.io"
CREATIONS, TURNS = 2000, 10

SERVE_EMPTY = """
import asyncio, sys
from pathlib import Path
import uvloop
from fairlead.kube.admission.review import allow
from fairlead.live.webhook.metrics import Measures
from fairlead.live.webhook.server import AdmissionServer
from fairlead.live.webhook.tls import Certificate, Files

async def answer(request):
    return allow(request.uid)

async def main():
    certificate = Certificate(Files(Path(sys.argv[1])))
    await certificate.refresh()
    server = AdmissionServer({"/mutate": answer}, Measures(), budget=9)
    async with server.listening("127.0.0.1:0", certificate.context) as port:
        print(port, flush=True)
        await asyncio.Event().wait()

uvloop.run(main())
"""


@contextmanager
def empty_webhook(api: Api, folder: Path) -> Iterator[None]:
    """A webhook that decides nothing, in force beside ours for the same pods."""
    certify(folder)
    process = subprocess.Popen([sys.executable, "-c", SERVE_EMPTY, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = f"https://127.0.0.1:{int(process.stdout.readline())}/mutate"
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ours = api.get(f"{path}/fairlead-webhook")["webhooks"][0]
    bundle = base64.b64encode((folder / "ca.crt").read_bytes()).decode()
    webhook = ours | {"name": EMPTY, "clientConfig": {"url": url, "caBundle": bundle}}
    api.create(path, {"metadata": {"name": "fairlead-empty"}, "webhooks": [webhook]})
    try:
        yield
    finally:
        api.delete(f"{path}/fairlead-empty")
        process.terminate()
        process.wait(30)
        process.stdout.close()


def pod_of(owner: dict[str, Any], name: str) -> dict[str, Any]:
    """A pod that says it belongs to the owner."""
    keys = {"apiVersion": "apps/v1", "kind": owner["kind"], "controller": True}
    reference = keys | {key: owner["metadata"][key] for key in ("name", "uid")}
    return {
        "metadata": {"name": name, "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }


@dataclass
class Scene:
    """A namespace that both webhooks serve, with a workload of each kind."""

    api: Api
    namespace: str

    def owner(self, kind: str, minimum: str | None) -> dict[str, Any]:
        """A workload of two replicas that says it wants so many on demand; of a Deployment its ReplicaSet."""
        apps = f"/apis/apps/v1/namespaces/{self.namespace}"
        body = deployment(f"of-{kind.lower()}", 2, minimum)
        if kind == "StatefulSet":
            body["spec"]["serviceName"] = "db"
            return self.api.create(f"{apps}/statefulsets", body | {"kind": kind}) | {"kind": kind}
        self.api.create(f"{apps}/deployments", body)
        self.api.wait("a ReplicaSet", lambda: self.api.items(f"{apps}/replicasets"))
        return self.api.items(f"{apps}/replicasets")[0] | {"kind": kind}

    def dry_runs(self, owner: dict[str, Any], stem: str) -> None:
        """Creations that are reviewed and not stored."""
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        with ThreadPoolExecutor(4) as pool:
            list(
                pool.map(
                    lambda row: self.api.request("POST", path, pod_of(owner, f"{stem}-{row}"), query={"dryRun": "All"}),
                    range(100, 100 + CREATIONS // TURNS),
                )
            )

    def burst(self, turn: int) -> None:
        """Deployments created at once, whose pods are counted and stored."""
        fleet = Fleet(self.api, self.namespace)
        before = len(self.api.items(fleet.pods_path))
        fleet.create(*(deployment(f"web-{turn}-{row}", 25, "5") for row in range(4)))
        self.api.wait("the pods", lambda: len(self.api.items(fleet.pods_path)) >= before + 100, seconds=300)


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_latency_is_written_down(api: Api, namespace: str, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Unmanaged pods and StatefulSets by dry runs, Deployments by bursts, in turns; each beside the empty webhook."""
    (tmp_path / "empty").mkdir()
    scene = Scene(api, namespace)
    with (
        webhooks(control_plane, tmp_path, SETTINGS["webhook"], count=1) as these,
        empty_webhook(api, tmp_path / "empty"),
    ):
        # Both are reached directly, for the balancer of the tests is no part of what is measured.
        these.serve(these.replicas[0].port)
        api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": HERE}})
        stateful, replica_set = scene.owner("StatefulSet", "2"), scene.owner("ReplicaSet", None)
        acts: dict[str, Callable[[int], None]] = {
            "unmanaged pods": lambda turn: scene.dry_runs(replica_set, "plain"),
            "pods of StatefulSets": lambda turn: scene.dry_runs(stateful, "of-statefulset"),
            "pods of Deployments, counted, in bursts": scene.burst,
        }
        for act in acts.values():
            act(-1)
        seen = {title: dict.fromkeys((OURS, EMPTY), Answers({}, 0.0)) for title in acts}
        for turn in range(TURNS):
            for title, act in acts.items():
                before = {name: answers(api, name) for name in (OURS, EMPTY)}
                act(turn)
                for name in (OURS, EMPTY):
                    seen[title][name] = seen[title][name].plus(answers(api, name), before[name])
    _write_down(seen)


def _write_down(seen: dict[str, dict[str, "Answers"]]) -> None:
    rows = []
    for title, found in seen.items():
        cells = [f"{value:.1f}" for name in (OURS, EMPTY) for value in found[name].numbers]
        ratios = [f"{mine / other:.1f}×" for mine, other in zip(found[OURS].numbers, found[EMPTY].numbers, strict=True)]
        rows.append(f"| {title} | {found[OURS].count} | " + " | ".join(cells + ratios) + " |")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    lines = [
        "# What the webhook adds to a creation",
        "",
        f"{today}, milliseconds as the API server's own metrics see them, one process each on two shared cores. The",
        "empty webhook answers the same reviews in the same creations and decides nothing. The kinds take turns, ten",
        "times. Means are exact; quantiles are read off the histogram's buckets (5, 25, 100, 500 ms …), interpolated.",
        "The last three columns are ours over the empty one's.",
        "",
        "| pods | reviews | mean | p50 | p99 | empty mean | empty p50 | empty p99 | mean | p50 | p99 |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    (PROOF / f"{today}-webhook-latency.md").write_text("\n".join(lines))
