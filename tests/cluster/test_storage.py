"""The storage component on a real API server, with definitions that carry Longhorn's group, kinds and fields."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from fairlead.kube.config import load
from fairlead.kube.wire.http import connect
from fairlead.levels.disk.balance import Balance, balance
from fairlead.live.runtime.elected import Instance
from fairlead.live.storage.component import StorageKeeper, StorageOptions
from tests.cluster.longhorn import REAL, Longhorn, Running, deployed, install, keeper, uninstall
from tests.live.longhorn_objects import (
    GIB,
    Object,
    counted,
    disk,
    fleet,
    node,
    place,
    replica,
    setting,
    volume,
    waiting,
)

PROOF = Path(__file__).parents[2] / "docs" / "proof"


@pytest.fixture
def longhorn(api: Api, namespace: str) -> Longhorn:
    """Longhorn's kinds, and a namespace without any of its objects."""
    install(api)
    return Longhorn(api, namespace)


def decided(longhorn: Longhorn) -> dict[str, str]:
    """Where the pure level puts every Replica that waits."""
    stored = longhorn.stored()
    decision: Balance = balance([each for each in stored.volumes if each.replicas], stored.disks, stored.policy)
    return {each.replica: f"{each.node}/{each.disk}" for each in decision.placed}


def check_apart(places: dict[str, str]) -> None:
    """No two Replicas of a volume on one node."""
    nodes = Counter((name.rpartition("-r")[0], where.partition("/")[0]) for name, where in places.items() if where)
    assert max(nodes.values(), default=0) <= 1


def test_replicas_settle_as_the_level_decides_with_one_write_each(
    control_plane: ControlPlane, api: Api, longhorn: Longhorn
) -> None:
    """Under the rights of deploy/storage: 90 Replicas where the pure level puts them, bad objects among them; then a
    second wave while the server restarts. Each is written once, also though the nodes never counted the first wave."""
    deployed(api, longhorn.namespace)
    kubeconfig = control_plane.kubeconfig_for_service_account("fairlead-system", "fairlead-storage")
    empty = node("empty", d=100)
    empty["status"]["diskStatus"]["d"] = disk("empty-d", 0)
    broken, gone, lost = volume("broken", 5), volume("gone", 5), volume("lost", 5, 1)
    broken["spec"]["size"] = "many"
    odd = [broken, replica(broken, 1), replica(gone, 1), lost, replica(lost, 1, "vanished/d"), empty]
    longhorn.create(*fleet(6), *odd, *waiting(30), setting("storage-minimal-available-percentage", "lots"))
    want = decided(longhorn)
    assert len(want) == 90
    odd_ones = {"broken-r1": "", "gone-r1": "", "lost-r1": "vanished/d"}
    with keeper(kubeconfig, longhorn.namespace, "--act", elect=True) as running:
        api.wait("the first wave sits", lambda: len(placed(longhorn)) == 91, seconds=180)
        assert longhorn.places() == {**want, **odd_ones}
        assert {each["path"] for each in running.report()["errors"]} == {
            "Volume broken: spec.size",
            "Replica gone-r1",
            "Setting storage-minimal-available-percentage",
        }
        longhorn.create(*waiting(15, prefix="w"))
        control_plane.restart_apiserver()
        api.wait("the second wave sits", lambda: len(placed(longhorn)) == 136, seconds=180)
        check_apart(longhorn.places())
        api.wait("volumes are told", lambda: said(longhorn, "ReplicaScheduled"), seconds=180)
        assert b"fairlead_storage_writes_total" in running.page("/metrics")
    assert running.process.returncode == 0
    writes = control_plane.write_counts(f"longhorn.io/replicas/{longhorn.namespace}/")
    assert {count for name, count in writes.items() if name not in odd_ones} == {2}
    assert {writes[name] for name in odd_ones} == {1}
    over = {name: used for name, used in promised(longhorn).items() if used > 400 * GIB}
    assert over == {}


def placed(longhorn: Longhorn) -> dict[str, str]:
    return {name: where for name, where in longhorn.places().items() if where}


def said(longhorn: Longhorn, reason: str) -> list[Object]:
    return [each for each in longhorn.events() if each["reason"] == reason]


def promised(longhorn: Longhorn) -> Counter[str]:
    """Bytes of the Replicas on each disk."""
    used: Counter[str] = Counter()
    for each in longhorn.all("replicas"):
        if place(each):
            used[place(each)] += int(each["spec"]["volumeSize"])
    return used


def test_killed_leader_is_followed_and_nothing_is_placed_twice(kubeconfig: Path, api: Api, longhorn: Longhorn) -> None:
    """Two processes; the leader dies by SIGKILL; the other places what comes later and leaves the rest as it is."""
    with suppress(ApiError):
        api.create("/api/v1/namespaces", {"metadata": {"name": "fairlead-system"}})
    longhorn.create(*fleet(4), *waiting(4))
    with keeper(kubeconfig, longhorn.namespace, "--act", elect=True) as first:
        longhorn.settled()
        with keeper(kubeconfig, longhorn.namespace, "--act", elect=True) as second:
            api.wait("the second follows", lambda: second.page("/readyz") == b"ok\n", seconds=180)
            assert not second.report()["leading"]
            before = longhorn.versions()
            first.kill()
            longhorn.create(*waiting(2, prefix="later"))
            places = longhorn.settled()
            assert second.report()["leading"]
    assert {name: version for name, version in longhorn.versions().items() if name in before} == before
    check_apart(places)


def test_advice_writes_events_only_and_shadow_nothing(kubeconfig: Path, api: Api, longhorn: Longhorn) -> None:
    """A replica that fits and one that does not: shadow reports both, advice says why, neither writes a Replica."""
    big, uneven = volume("big", 700), volume("uneven", 90)
    sitting = replica(uneven, 1, "n0/d0")
    nodes = fleet(3)
    nodes[0] = counted({**node("n0", zone="z0", d0=150)}, [sitting])
    longhorn.create(*nodes, *waiting(1, 1), big, replica(big, 1), uneven, sitting)
    before = longhorn.versions()

    def looked(running: Running) -> Callable[[], bool]:
        return lambda: bool(running.report().get("unscheduled") and running.report()["placeable"])

    with keeper(kubeconfig, longhorn.namespace, "--act", "--shadow") as running:
        api.wait("it has looked", looked(running), seconds=180)
        report = running.report()
    assert [(each["volume"], each["reason"]) for each in report["unscheduled"]] == [("big", "NoDisk")]
    assert [each["replica"] for each in report["placeable"]] == ["v0-r1"]
    assert [each["replica"] for each in report["moves"]] == ["uneven-r1"]
    assert (longhorn.versions(), longhorn.events()) == (before, [])
    with keeper(kubeconfig, longhorn.namespace):
        api.wait("big is told", lambda: said(longhorn, "ReplicaUnscheduled"), seconds=180)
        api.wait("uneven is told", lambda: said(longhorn, "MoveAdvised"), seconds=180)
    assert longhorn.versions() == before
    told = said(longhorn, "ReplicaUnscheduled")
    assert [(each["regarding"]["kind"], each["regarding"]["name"]) for each in told] == [("Volume", "big")]
    assert "InsufficientUsable" in told[0]["note"]
    once = [sys.executable, "-m", "fairlead", "storage", "--once", "--kubeconfig", str(kubeconfig)]
    once += ["--longhorn-namespace", longhorn.namespace]
    found = subprocess.run([*once, "-o", "json"], capture_output=True, text=True, check=False)
    assert found.returncode == 1
    record = json.loads(found.stdout)
    assert {key: record[key] for key in ("unscheduled", "placeable", "moves")} == {
        key: report[key] for key in ("unscheduled", "placeable", "moves")
    }
    assert longhorn.versions() == before


def test_kinds_installed_later_are_picked_up(kubeconfig: Path, api: Api, namespace: str) -> None:
    """Ready before Longhorn is there; at work once it is."""
    uninstall(api)
    longhorn = Longhorn(api, namespace)
    with keeper(kubeconfig, namespace, "--act") as running:
        api.wait("it is ready", lambda: running.page("/readyz") == b"ok\n", seconds=180)
        install(api)
        longhorn.create(*fleet(3), *waiting(2))
        check_apart(longhorn.settled())


@pytest.fixture
def real(api: Api, namespace: str) -> Iterator[Longhorn]:
    """Longhorn's own definitions instead of ours, for one test."""
    if not REAL.exists():
        pytest.skip(f"Longhorn's own definitions are not there ({REAL.parent.name} beside the checkout)")
    uninstall(api)
    install(api, str(REAL))
    yield Longhorn(api, namespace)
    uninstall(api)


def test_longhorns_own_definitions_take_what_is_written(kubeconfig: Path, real: Longhorn) -> None:
    """Node, disk, path and folder survive Longhorn's own schema, and are where the pure level puts the Replicas."""
    real.create(*fleet(3), *waiting(3), setting("storage-over-provisioning-percentage", "200"))
    want = decided(real)
    with keeper(kubeconfig, real.namespace, "--act"):
        assert real.settled() == want
    spec = real.all("replicas")[0]["spec"]
    assert spec["diskPath"].startswith("/disks/")
    assert spec["dataDirectoryName"].startswith(f"{spec['volumeName']}-")
    real.count()
    assert real.stored().in_flight == ()


def test_what_happens_between_decision_and_write_is_seen(kubeconfig: Path, longhorn: Longhorn) -> None:
    """A node fills up before its second reading; a rival gives another Replica its node before our write."""
    one, two = volume("one", 100), volume("two", 50)
    longhorn.create(node("n1", d=300), node("n2", d=290), node("n3", d=10), one, replica(one, 1))

    def fill() -> None:
        full = node("n1", d=300)
        full["status"]["diskStatus"]["d"] = disk("n1-d", 20)
        longhorn.status(full)

    def rival() -> None:
        body = {"spec": {"nodeID": "n3", "diskID": "uuid-n3-d", "diskPath": "/disks/n3-d"}}
        longhorn.api.patch(longhorn.path("replicas", "two-r1"), body)

    async def main() -> StorageKeeper:
        client = connect(load(kubeconfig_path=str(kubeconfig), context=""))
        hooks = {("GET", "/nodes/n1"): fill, ("PATCH", "/replicas/two-r1"): rival}
        request = client.transport.request

        async def hooked(method: str, path: str, **more: Any) -> Any:
            hook = next((hooks.pop(key) for key in list(hooks) if key[0] == method and path.endswith(key[1])), None)
            if hook is not None:
                await asyncio.to_thread(hook)
            return await request(method, path, **more)

        client.transport.request = hooked  # type: ignore[method-assign]  # the story happens at this very place
        options = StorageOptions(namespace=longhorn.namespace, act=True)
        found = StorageKeeper(Instance(client), options)
        task = asyncio.create_task(found.run())
        try:
            await asyncio.to_thread(longhorn.settled)
            await asyncio.to_thread(longhorn.create, two, replica(two, 1))
            await asyncio.to_thread(longhorn.settled)
            await asyncio.to_thread(
                longhorn.api.wait,
                "the refusal is known",
                lambda: found.measures.refusals.labels("conflict")._value.get(),
            )
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await client.close()
        return found

    found = asyncio.run(main())
    assert longhorn.places() == {"one-r1": "n2/d", "two-r1": "n3/d"}
    assert found.measures.refusals.labels("changed")._value.get() >= 1


@pytest.mark.proof
def test_five_thousand_replicas_settle(control_plane: ControlPlane, kubeconfig: Path, longhorn: Longhorn) -> None:
    """500 nodes × 4 disks, 5,000 Replicas that wait: each written once, apart, within the room; written down."""
    began = datetime.now(UTC)
    volumes = waiting(1666) + waiting(1, 2, prefix="w")
    longhorn.create(*fleet(500, 4), *volumes)
    created = datetime.now(UTC)
    want = decided(longhorn)
    with keeper(kubeconfig, longhorn.namespace, "--act", "--no-events") as running:
        # Asking the component costs the API server nothing; the list below is the proof.
        done = "fairlead_storage_writes_total 5000.0"
        longhorn.api.wait("all are written", lambda: done in running.page("/metrics").decode(), seconds=900)
        settled = datetime.now(UTC)
        metrics = running.page("/metrics").decode()
    places = longhorn.places()
    writes = control_plane.write_counts(f"longhorn.io/replicas/{longhorn.namespace}/")
    counts = Counter(count - 1 for count in writes.values())
    most = max(promised(longhorn).values()) // GIB
    same = sum(places[name] == where for name, where in want.items())
    refused = [line for line in metrics.splitlines() if line.startswith("fairlead_storage_refused_writes_total")]
    lines = [
        "# Five thousand storage replicas at once",
        "",
        f"{began:%Y-%m-%d}: 500 nodes × 4 disks, {len(places):,} Replicas of {len(volumes) - len(places):,} volumes;",
        "all wait, on the real API server. No node counts any of them meanwhile, so each is charged as in flight.",
        f"Writes of each Replica, as etcd counts: {', '.join(f'{n} on {k:,}' for n, k in sorted(counts.items()))}.",
        f"Where the pure level puts them: {same:,} of {len(places):,}. Most on one disk: {most} GiB of 400 or more.",
        f"Creating them took {(created - began).total_seconds():.0f} s. From the start of the process until all had a",
        f"disk: {(settled - created).total_seconds():.0f} s. Refused writes: {'; '.join(refused) or 'none'}.",
        "",
    ]
    PROOF.mkdir(parents=True, exist_ok=True)
    (PROOF / f"{began:%Y-%m-%d}-storage.md").write_text("\n".join(lines))
    assert counts == {1: 5000}
    check_apart(places)
    assert same == 5000
