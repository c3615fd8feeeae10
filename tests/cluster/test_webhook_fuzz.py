"""Fuzzed reviews against a webhook process as users run it: a valid answer or a clear 4xx, and flat memory."""

import asyncio
import random
import ssl
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from tests.campaign.mangling import fuzzed
from tests.cluster.fleets import Fleet, deployment
from tests.cluster.webhooks import SETTINGS, Replica, webhooks
from tests.tier.pods import pod, reference, review, web_pod, workload

PROOF = Path(__file__).parents[2] / "docs" / "proof"
JSON = {"Content-Type": "application/json"}
WARM_UP = 400
MOST_GROWTH = 8 * 2**20
"""Bytes by which the process may grow after its warm-up, whatever the number of reviews: what an allocator keeps."""


def _seeds(replica_set: dict[str, Any], namespace: str) -> tuple[dict[str, Any], ...]:
    """Reviews that go every way: counted in a dry run, left alone, by ordinal, validated."""
    owner = reference("ReplicaSet", replica_set["metadata"]["name"], replica_set["metadata"]["uid"])
    counted = pod(owner=owner, generateName="web-", namespace=namespace, spec={"tolerations": [{"key": "x"}]})
    return (
        review(counted, dryRun=True),
        review(web_pod(labels={"a": "b"}, spec={"nodeSelector": {"a": "b"}})),
        review(pod(name="db-1", owner=reference("StatefulSet", "db", "s"))),
        review(workload("Deployment", "web", "u", minimum="2"), kind="Deployment", operation="UPDATE", oldObject={}),
    )


def _resident(replica: Replica) -> int:
    pages = int(Path(f"/proc/{replica.process.pid}/statm").read_text().split()[1])
    return pages * 4096


async def _send(replica: Replica, bodies: list[bytes]) -> Counter[int]:
    """Every body to one of the endpoints in turn, eight at a time; the statuses that came back."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    statuses: Counter[int] = Counter()
    places = asyncio.Semaphore(8)

    async def send(path: str, body: bytes) -> None:
        url = f"https://127.0.0.1:{replica.port}{path}"
        async with places, session.post(url, data=body, headers=JSON, ssl=context) as answer:
            statuses[answer.status] += 1
            if answer.status == 200:
                assert isinstance((await answer.json())["response"]["allowed"], bool)

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(send(("/mutate", "/validate")[row % 2], body) for row, body in enumerate(bodies)))
    return statuses


@pytest.mark.parametrize("rounds", [500, pytest.param(10_000, marks=[pytest.mark.proof, pytest.mark.timeout(1800)])])
def test_fuzzed_reviews_get_an_answer_and_memory_stays_flat(
    api: Api, namespace: str, control_plane: ControlPlane, tmp_path: Path, rounds: int
) -> None:
    """After a warm-up the same again many times over: never a 5xx, and the process does not grow."""
    chance = random.Random(rounds)
    fleet = Fleet(api, namespace)
    with webhooks(control_plane, tmp_path, SETTINGS["webhook"], count=1) as these:
        fleet.create(deployment("web", 4, "2"))
        sets = f"/apis/apps/v1/namespaces/{namespace}/replicasets"
        api.wait("a ReplicaSet", lambda: api.items(sets))
        seeds = _seeds(api.items(sets)[0], namespace)
        (replica,) = these.replicas
        asyncio.run(_send(replica, [fuzzed(chance, seeds) for _ in range(WARM_UP)]))
        before = _resident(replica)
        statuses = asyncio.run(_send(replica, [fuzzed(chance, seeds) for _ in range(rounds)]))
        growth = _resident(replica) - before
    assert set(statuses) == {200, 400}
    assert statuses[200] > rounds / 20
    assert growth < MOST_GROWTH
    if rounds >= 10_000:
        _write_down(statuses, before, growth)


def _write_down(statuses: Counter[int], before: int, growth: int) -> None:
    lines = [
        "# Fuzzed reviews",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}: {statuses.total()} mangled AdmissionReviews over TLS to a webhook process,",
        f"after {WARM_UP} others as a warm-up: {statuses[200]} got a valid response, {statuses[400]} a 400, no other",
        f"status. Resident memory {before / 2**20:.1f} MiB before, {growth / 2**20:+.1f} MiB after",
        f"(bound: {MOST_GROWTH / 2**20:.0f} MiB).",
        "",
    ]
    (PROOF / f"{datetime.now(UTC):%Y-%m-%d}-webhook-fuzz.md").write_text("\n".join(lines))
