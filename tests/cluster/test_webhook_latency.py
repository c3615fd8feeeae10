"""What the webhook adds to a creation, as the API server's own metrics see it, beside one that returns an empty answer.

Nothing here asserts a time; the numbers are written down.
"""

import base64
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from fairlead.live.webhook.certificates import issue, make_authority
from tests.cluster.fleets import Fleet, deployment
from tests.cluster.webhooks import HERE, webhooks

PROOF = Path(__file__).parents[2] / "docs" / "proof"
OURS, EMPTY = "tier.fairlead.io", "empty.fairlead.io"
CREATIONS = 1000

SERVE_EMPTY = """
import asyncio, sys
from pathlib import Path
import uvloop
from fairlead.kube.admission.review import allow
from fairlead.live.webhook.measures import Measures
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
    now = datetime.now(UTC)
    authority = make_authority(now)
    pair = issue(authority, ["127.0.0.1"], now)
    (folder / "tls.crt").write_text(pair.certificate)
    (folder / "tls.key").write_text(pair.key)
    process = subprocess.Popen([sys.executable, "-c", SERVE_EMPTY, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = f"https://127.0.0.1:{int(process.stdout.readline())}/mutate"
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ours = api.get(f"{path}/fairlead-webhook")["webhooks"][0]
    bundle = base64.b64encode(authority.certificate.encode()).decode()
    webhook = ours | {"name": EMPTY, "clientConfig": {"url": url, "caBundle": bundle}}
    api.create(path, {"metadata": {"name": "fairlead-empty"}, "webhooks": [webhook]})
    try:
        yield
    finally:
        api.delete(f"{path}/fairlead-empty")
        process.terminate()
        process.wait(30)
        process.stdout.close()


def histogram(api: Api, name: str) -> dict[float, int]:
    """Answers of one webhook by upper bound in seconds, so far."""
    pattern = r"^apiserver_admission_webhook_admission_duration_seconds_bucket{([^}]*)} (\d+)$"
    found: dict[float, int] = {}
    for labels, count in re.findall(pattern, api.get("/metrics"), re.M):
        bound = re.search(r'le="([^"]+)"', labels)
        if f'name="{name}"' in labels and bound:
            found[float(bound[1])] = found.get(float(bound[1]), 0) + int(count)
    return found


def quantile(before: dict[float, int], after: dict[float, int], share: float) -> str:
    """Milliseconds below which that share of the answers between two looks lies, read off the buckets."""
    counts = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    wanted, low, below = share * counts[float("inf")], 0.0, 0
    for bound, count in counts.items():
        if count >= wanted:
            high = low if bound == float("inf") else bound
            part = (wanted - below) / (count - below) if count > below else 1.0
            return f"{(low + (high - low) * part) * 1000:.1f}"
        low, below = bound, count
    raise AssertionError("no bucket holds everything")


def pod_of(owner: dict[str, Any], name: str) -> dict[str, Any]:
    """A pod that says it belongs to the owner."""
    keys = {"apiVersion": "apps/v1", "kind": owner["kind"], "controller": True}
    reference = keys | {key: owner["metadata"][key] for key in ("name", "uid")}
    return {
        "metadata": {"name": name, "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "c", "image": "x"}]},
    }


@pytest.mark.proof
@pytest.mark.timeout(3600)
def test_latency_is_written_down(api: Api, namespace: str, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Unmanaged pods and StatefulSets by dry runs, Deployments by a burst; each beside the empty webhook."""
    (tmp_path / "empty").mkdir()
    rows = []
    with webhooks(control_plane, tmp_path, count=2), empty_webhook(api, tmp_path / "empty"):
        api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": HERE}})
        fleet = Fleet(api, namespace)
        fleet.create(deployment("plain", 2, None))
        sets = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
        body = deployment("db", 3, "2") | {"kind": "StatefulSet"}
        body["spec"]["serviceName"] = "db"
        stateful = api.create(sets, body) | {"kind": "StatefulSet"}
        plain = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        api.wait("a ReplicaSet", lambda: api.items(plain))
        replica_set = api.items(plain)[0] | {"kind": "ReplicaSet"}

        def dry_runs(owner: dict[str, Any], stem: str) -> None:
            path = f"/api/v1/namespaces/{namespace}/pods"
            with ThreadPoolExecutor(4) as pool:
                list(
                    pool.map(
                        lambda row: api.request("POST", path, pod_of(owner, f"{stem}-{row}"), query={"dryRun": "All"}),
                        range(100, 100 + CREATIONS),
                    )
                )

        def burst() -> None:
            fleet.create(*(deployment(f"web-{row}", 50, "10") for row in range(10)))
            pods = fleet.pods_path
            api.wait("the pods", lambda: len(api.items(pods)) >= 500, seconds=300)

        for title, act in (
            ("unmanaged pods", lambda: dry_runs(replica_set, "plain")),
            ("pods of StatefulSets", lambda: dry_runs(stateful, "db")),
            ("pods of Deployments, counted, in bursts", burst),
        ):
            before = {name: histogram(api, name) for name in (OURS, EMPTY)}
            act()
            after = {name: histogram(api, name) for name in (OURS, EMPTY)}
            cells = [quantile(before[name], after[name], share) for name in (OURS, EMPTY) for share in (0.5, 0.99)]
            rows.append(f"| {title} | " + " | ".join(cells) + " |")
    assert len(rows) == 3
    lines = [
        "# What the webhook adds to a creation",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, milliseconds, read off the buckets of the API server's own histogram (5, 25,",
        "100, 500 ms …: values inside a bucket are interpolated), two processes, two shared cores. The empty webhook",
        "answers the same reviews at the same time and decides nothing.",
        "",
        "| pods | p50 | p99 | empty p50 | empty p99 |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]
    (PROOF / "webhook-latency.md").write_text("\n".join(lines))
