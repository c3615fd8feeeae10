"""The webhook on a real API server: three processes, and a count that is exact at every quiet point."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from fairlead.cli.main import cli
from tests.cluster.conftest import NodeMaker
from tests.cluster.fleets import CAPACITY, MINIMUM, Fleet, Size, deployment, required, tell
from tests.cluster.webhooks import HERE, NAMESPACE, Webhooks, webhooks

PROOF = Path(__file__).parents[2] / "docs" / "proof"


@pytest.fixture(scope="module")
def served(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Webhooks]:
    """Three replicas in the mode asked for, for all tests of this file that ask for the same."""
    with webhooks(control_plane, tmp_path_factory.mktemp("webhook"), count=3, mode=request.param) as these:
        yield these


@pytest.fixture
def shop(api: Api, namespace: str, kwok_nodes: NodeMaker, served: Webhooks) -> str:
    """A namespace that the webhook serves, in a cluster with nodes of both tiers."""
    kwok_nodes(4, cpu="64", pods=5000, labels=lambda number: {CAPACITY: ("on-demand", "spot")[number % 2]})
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": HERE}})
    # The API server knows new labels and configurations only a moment later; what it refuses tells that it does.
    api.wait("the namespace is served", lambda: _refused(api, namespace))
    return namespace


def _refused(api: Api, namespace: str) -> bool:
    """Whether the validating webhook is asked about Deployments of the namespace."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    try:
        api.request("POST", path, deployment("probe", 3, "many"), query={"dryRun": "All"})
    except ApiError as error:
        return "min-available" in str(error)
    return False


in_both_modes = pytest.mark.parametrize("served", ["webhook", "gated"], indirect=True)
in_webhook_mode = pytest.mark.parametrize("served", ["webhook"], indirect=True)


@in_both_modes
def test_bursts_rollouts_and_scaling_keep_the_count(api: Api, shop: str, served: Webhooks) -> None:
    """Five Deployments of twenty at once, then rolled, then scaled at random: exact at every quiet point."""
    tell(Fleet(api, shop), Size(deployments=5, replicas=20, rounds=2), disturb=lambda: None)


@pytest.mark.proof
@pytest.mark.timeout(7200)
@in_both_modes
def test_many_bursts_rollouts_and_scaling_keep_the_count(api: Api, shop: str, served: Webhooks) -> None:
    """Fifty Deployments of a hundred, with a process killed and another started in every round; over 10,000 pods."""

    def disturb() -> None:
        served.kill(served.replicas[0])
        served.start()

    size = Size(deployments=50, replicas=100, rounds=4)
    admitted = tell(Fleet(api, shop), size, disturb)
    assert admitted >= 10_000
    lines = [
        f"# The count of the webhook, mode {served.mode}",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}: {size.deployments} Deployments of {size.replicas} replicas, minimums 1 to"
        f" {size.replicas // 2}, created at once, rolled, and scaled {size.rounds} times at random; three processes,",
        f"one of them killed in every round. {admitted} pods admitted at least; off at a quiet point: 0.",
        "",
    ]
    (PROOF / f"webhook-{served.mode}.md").write_text("\n".join(lines))


@in_both_modes
def test_replica_killed_in_the_middle_changes_nothing(api: Api, shop: str, served: Webhooks) -> None:
    """One process is killed during a burst and another started: no slot too many, none too few."""
    fleet = Fleet(api, shop)
    fleet.create(*(deployment(f"web-{number}", 20, "5") for number in range(1, 4)))
    served.kill(served.replicas[0])
    served.start()
    fleet.settled()
    fleet.check()


@in_both_modes
def test_one_replica_to_many_and_back(api: Api, shop: str, served: Webhooks) -> None:
    """A single replica is kept on demand, annotated or not, and holds its slot when others join."""
    fleet = Fleet(api, shop)
    fleet.create(deployment("alone", 1, None), deployment("web", 1, "1"))
    fleet.settled()
    fleet.check()
    fleet.patch("web", {"spec": {"replicas": 9}})
    fleet.settled()
    assert fleet.required("web") == 1
    fleet.patch("web", {"spec": {"replicas": 1}})
    fleet.settled()
    assert fleet.required("web") == 1


@in_webhook_mode
def test_stateful_set_is_split_by_ordinal(api: Api, shop: str, served: Webhooks) -> None:
    """The first three of five are bound to on-demand nodes."""
    body = deployment("db", 5, "3") | {"kind": "StatefulSet"}
    body["spec"] |= {"podManagementPolicy": "Parallel", "serviceName": "db"}
    api.create(f"/apis/apps/v1/namespaces/{shop}/statefulsets", body)
    path = f"/api/v1/namespaces/{shop}/pods"
    api.wait("five pods", lambda: len(api.items(path)) == 5)
    assert sorted(pod["metadata"]["name"] for pod in api.items(path) if required(pod)) == ["db-0", "db-1", "db-2"]


@in_webhook_mode
def test_ledgers_show_the_count_and_go_with_their_replica_set(api: Api, shop: str, served: Webhooks) -> None:
    """`kubectl get tierledgers` tells target, held and spot; when the Deployment goes, so does the ledger."""
    path = "/apis/fairlead.io/v1alpha1/namespaces/fairlead-system/tierledgers"

    def counts() -> list[dict[str, int]]:
        return [each["count"] for each in api.items(path) if each["spec"]["namespace"] == shop]

    fleet = Fleet(api, shop)
    fleet.create(deployment("web", 6, "2"))
    fleet.settled()
    want = {"target": 2, "held": 2, "reserved": 0, "spot": 4}
    api.wait("the ledger is in order", lambda: counts() == [want], seconds=90)
    api.delete(f"{fleet.path}/web")
    api.wait("the ledger is gone", lambda: counts() == [], seconds=90)


@in_webhook_mode
def test_bad_annotation_is_refused_when_applied(api: Api, shop: str, served: Webhooks) -> None:
    """The validating endpoint answers the user; an update that leaves an old mistake passes."""
    fleet = Fleet(api, shop)
    with pytest.raises(ApiError, match="min-available"):
        fleet.api.create(fleet.path, deployment("web", 3, "many"))
    fleet.create(deployment("web", 2, "50%"))
    with pytest.raises(ApiError, match="min-available"):
        fleet.patch("web", {"metadata": {"annotations": {MINIMUM: "-1"}}})
    fleet.patch("web", {"spec": {"replicas": 4}})
    fleet.settled()
    assert fleet.required("web") == 2


@in_webhook_mode
def test_metrics_and_health_are_served(served: Webhooks) -> None:
    """Every replica is alive and ready and tells how hard it works; the answers of the tests before were counted."""
    for replica in served.replicas:
        assert replica.get("/healthz") == (200, "ok\n")
        assert replica.get("/readyz")[0] == 200
        assert re.search(r"^fairlead_ledger_writes", replica.get("/metrics")[1], re.M)
    answered = [
        re.findall(r'^fairlead_admissions_total{reason="SlotGranted"', each.get("/metrics")[1], re.M)
        for each in served.replicas
    ]
    assert any(answered)


@pytest.mark.parametrize("served", ["repair"], indirect=True)
def test_repair_brings_workloads_to_their_minimum(api: Api, shop: str, served: Webhooks) -> None:
    """Pods that were created past the webhook are replaced one by one, once the switch lets evictions happen."""
    fleet = Fleet(api, shop)
    switch = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    api.create(switch, {"metadata": {"name": "fairlead-evictions"}, "data": {"stop": "true"}})
    api.patch(f"/api/v1/namespaces/{shop}", {"metadata": {"labels": dict.fromkeys(HERE)}})
    fleet.create(deployment("web", 6, "3"), deployment("alone", 1, None))
    fleet.settled()
    assert (fleet.required("web"), fleet.required("alone")) == (0, 0)
    api.patch(f"/api/v1/namespaces/{shop}", {"metadata": {"labels": HERE}})
    api.delete(f"{switch}/fairlead-evictions")
    api.wait("the minimum is kept", lambda: (fleet.required("web"), fleet.required("alone")) == (3, 1), seconds=180)
    fleet.settled()
    fleet.check()
    result = CliRunner().invoke(
        cli, ["tiers", "-n", shop, "-o", "json", "--kubeconfig", str(served.kubeconfig)], standalone_mode=False
    )
    rows = {row["name"]: row for row in json.loads(result.stdout)["workloads"]}
    assert rows["web"]["required"] == 3
    assert rows["web"]["onDemand"] >= 3
    assert rows["web"]["onDemand"] + rows["web"]["spot"] == 6
    assert not rows["alone"]["below"]
