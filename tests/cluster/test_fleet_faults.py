"""The fleet scheduler under its own rights: leaders that stop and die, a stop under load, a rival, a shadow."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.cluster.karmada import (
    CLUSTERS,
    FLEET_BINDINGS,
    POLICIES,
    WORK,
    Bindings,
    binding,
    condition,
    counts,
    fleet,
    fleet_binding,
    observed,
    static,
)
from tests.cluster.pages import free_port, measured, page
from tests.cluster.test_fleet import bindings, equal
from tests.deploys import apply, deployed

__all__ = ["bindings"]

SYSTEM = "fairlead-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/fairlead-fleet"
EVENTS = "/apis/events.k8s.io/v1"


@pytest.fixture(scope="module")
def account(control_plane: ControlPlane) -> Path:
    """The kubeconfig of the account that `deploy/fleet` makes, with the rights it gives and no others."""
    for manifest in deployed("common", "fleet"):
        apply(control_plane.api, manifest)
    return control_plane.kubeconfig_for_service_account(SYSTEM, "fairlead-fleet")


def holder(api: Api) -> str:
    """Who holds the lease; empty for nobody."""
    try:
        return str(api.get(LEASE)["spec"].get("holderIdentity") or "")
    except ApiError:
        return ""


def reasons(api: Api, namespace: str, name: str) -> set[str]:
    """The reasons of the Events on an object."""
    found = api.items(f"{EVENTS}/namespaces/{namespace}/events")
    return {each["reason"] for each in found if each["regarding"].get("name") == name}


def test_fleet_works_with_the_rights_it_is_deployed_with(
    api: Api, account: Path, namespace: str, bindings: Bindings
) -> None:
    """Under its account it leads, writes both kinds of bindings, records Events, and gives the lease back."""
    with pytest.raises(ApiError, match="cannot list resource"):
        Api.from_kubeconfig(account).items("/api/v1/secrets")
    placement = static(namespace, equal(namespace))
    bindings.create(binding("good", 6, placement), binding("bad", 6, None))
    api.create(FLEET_BINDINGS, fleet_binding(namespace, 3, placement))
    path = f"{FLEET_BINDINGS}/{namespace}"
    try:
        with fleet(account, led=True) as process:
            bindings.settled(seconds=180)
            api.wait("the binding of the fleet", lambda: observed(api.get(path)), seconds=180)
            assert holder(api)
            for name, reason in (("good", "ScheduleBindingSucceed"), ("bad", "ScheduleBindingFailed")):
                api.wait("Events", lambda n=name, r=reason: r in reasons(api, namespace, n), seconds=180)
            succeeded = "ScheduleBindingSucceed"
            api.wait("its Event", lambda: succeeded in reasons(api, "default", namespace), seconds=180)
        assert process.returncode == 0
        assert holder(api) == ""
        assert sum(counts(api.get(path)).values()) == 3
        stored = api.get(path)["status"]["lastScheduleResult"]
        assert (stored["mode"], stored["replicas"]) == ("static", 3)
    finally:
        api.delete(path)


def test_next_instance_takes_over_from_one_that_stops_and_from_one_that_dies(
    api: Api, account: Path, namespace: str, bindings: Bindings
) -> None:
    """SIGTERM hands the lease over, SIGKILL lets it run out; nothing that was placed moves."""
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"a{number}", 6, placement) for number in range(10)))
    ports = [free_port(), free_port(), free_port()]
    leads = "fairlead_fleet_leader"
    with fleet(account, led=True, port=ports[0]) as first:
        bindings.settled(seconds=180)
        before = bindings.clusters()
        with fleet(account, led=True, port=ports[1]) as second:
            api.wait("the second follows", lambda: measured(ports[1], leads) == 0, seconds=180)
            first.send_signal(signal.SIGTERM)
            assert first.wait(60) == 0
            api.wait("the second leads", lambda: measured(ports[1], leads) == 1, seconds=180)
            bindings.create(*(binding(f"b{number}", 6, placement) for number in range(10)))
            bindings.settled(seconds=180)
            with fleet(account, led=True, port=ports[2]):
                api.wait("the third follows", lambda: measured(ports[2], leads) == 0, seconds=180)
                second.kill()
                killed = time.monotonic()
                second.wait(60)
                api.wait("the third leads", lambda: measured(ports[2], leads) == 1, seconds=180)
                print(f"the standby led {time.monotonic() - killed:.1f} s after the leader was killed")
                bindings.create(*(binding(f"c{number}", 6, placement) for number in range(10)))
                for name in before:
                    bindings.patch(name, {"spec": {"replicas": 7}})
                bindings.settled(seconds=180)
    after = bindings.clusters()
    assert all(sum(each.values()) == (7 if name in before else 6) for name, each in after.items())
    assert all(after[name][at] >= had for name, each in before.items() for at, had in each.items())


def test_stop_under_load_leaves_nothing_half_written(
    api: Api, account: Path, namespace: str, bindings: Bindings
) -> None:
    """SIGTERM among 100 writes: what has its clusters has its status too; the next instance does the rest, once."""
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"b{number}", 6, placement) for number in range(100)))
    with fleet(account, "--no-events") as process:
        api.wait("the first writes", lambda: any(map(counts, bindings.all())), seconds=180)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    done = {each["metadata"]["name"]: observed(each) for each in bindings.all() if counts(each)}
    assert done
    assert all(done.values()), "a binding with clusters and without their status"
    before = {name: version for name, version in bindings.versions().items() if name in done}
    with fleet(account, "--no-events"):
        bindings.settled(seconds=180)
    assert {name: bindings.versions()[name] for name in before} == before


def versions(api: Api, namespace: str) -> dict[str, str]:
    """The versions of everything here that a fleet scheduler could write, Events and leases too."""
    mine = f"/namespaces/{namespace}/"
    paths = (
        CLUSTERS,
        FLEET_BINDINGS,
        POLICIES,
        f"{WORK}{mine}resourcebindings",
        f"/apis/policy.karmada.io/v1alpha1{mine}propagationpolicies",
        f"{EVENTS}{mine}events",
        f"{EVENTS}/namespaces/default/events",
        f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases",
    )
    found = [each["metadata"] for path in paths for each in api.items(path)]
    return {f"{each.get('namespace', '')}/{each['name']}": each["resourceVersion"] for each in found}


def test_shadow_decides_and_reports_and_writes_nothing(
    api: Api, account: Path, namespace: str, bindings: Bindings
) -> None:
    """All verdicts are on its page; not one object of the API server has another version, and there is none more."""
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"b{number}", 6, placement) for number in range(10)), binding("bad", 6, None))
    api.create(FLEET_BINDINGS, fleet_binding(namespace, 3, placement))
    try:
        before = versions(api, namespace)
        pages = free_port()

        def told() -> dict[str, Any]:
            text = page(pages, "/decisions")
            found = json.loads(text)["decisions"] if text else []
            return {each["binding"]: each for each in found if namespace in each["binding"]}

        # Without a word on leaders: a shadow takes no lease.
        with fleet(account, "--shadow", "--pages", f"127.0.0.1:{pages}", led=True):
            api.wait("all are decided", lambda: len(told()) == 12, seconds=180)
            verdicts = told()
        assert versions(api, namespace) == before
        assert sum(verdicts[namespace]["clusters"].values()) == 3
        assert verdicts[f"{namespace}/bad"]["reason"] == "SchedulerError"
        assert all(each["written"] is False for each in verdicts.values())
        with fleet(account, "--no-events"):
            bindings.settled(seconds=180)
        decided = {name: verdicts[f"{namespace}/{name}"]["clusters"] or {} for name in bindings.clusters()}
        assert bindings.clusters() == decided
    finally:
        api.delete(f"{FLEET_BINDINGS}/{namespace}")


@contextmanager
def rival(bindings: Bindings, api: Api) -> Iterator[None]:
    """Somebody who writes labels, conditions and clusters of the same bindings, as quickly as he can."""
    stop = threading.Event()
    names = sorted(bindings.clusters())
    theirs = {
        "type": "FullyApplied",
        "status": "True",
        "reason": "Rival",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }

    def work() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            name = names[turn % len(names)]
            try:
                found = bindings.get(name)
                others = [e for e in found.get("status", {}).get("conditions", []) if e["type"] != "FullyApplied"]
                found["status"] = {**found.get("status", {}), "conditions": [*others, theirs]}
                api.replace(f"{bindings.path}/{name}/status", found)
                bindings.patch(name, {"metadata": {"labels": {"turn": str(turn)}}})
                if turn % 7 == 0:
                    bindings.patch(name, {"spec": {"clusters": []}})
            except ApiError as error:
                if error.status != 409:
                    raise

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def test_rival_writer_only_delays(api: Api, account: Path, namespace: str, bindings: Bindings) -> None:
    """Conflicts are borne: once the rival rests, every binding is placed, and his condition is still there."""
    placement = static(namespace, equal(namespace))
    bindings.create(*(binding(f"b{number}", 6, placement) for number in range(12)))
    port = free_port()
    conflicts = 'fairlead_fleet_refused_writes_total{cause="conflict"}'
    with fleet(account, "--no-events", port=port):
        bindings.settled(seconds=180)
        with rival(bindings, api):
            replicas = iter(range(7, 10_000))

            def conflicted() -> bool:
                wanted = next(replicas)
                for number in range(12):
                    bindings.patch(f"b{number}", {"spec": {"replicas": wanted}})
                return measured(port, conflicts) >= 1

            api.wait("a conflict", conflicted, seconds=180)
        for number in range(12):
            bindings.patch(f"b{number}", {"spec": {"replicas": 9}})
        api.wait(
            "all are placed",
            lambda: all(observed(each) and sum(counts(each).values()) == 9 for each in bindings.all()),
            seconds=180,
        )
    found = bindings.all()
    assert {condition(each)["reason"] for each in found} == {"Success"}
    theirs = [{each["type"] for each in one["status"]["conditions"]} for one in found]
    assert any("FullyApplied" in each for each in theirs)
