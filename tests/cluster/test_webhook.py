"""The webhook on a real API server: three processes, and a count that is never above and exact at every quiet point."""

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
from tests.cluster.fleets import CAPACITY, MINIMUM, Fleet, Size, deployment, required, tell, tell_more
from tests.cluster.obstacles import Refused
from tests.cluster.records import Record
from tests.cluster.webhooks import HERE, NAMESPACE, SETTINGS, Webhooks, manifests, webhooks

PROOF = Path(__file__).parents[2] / "docs" / "proof"
SWITCH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/fairlead-evictions"


PAGE = """\
# The count of the webhook

{size.deployments} Deployments of {size.replicas} replicas, minimums 1 to {most}, by a real API server and controller
manager, with three webhook processes. First with the failure policy `Fail`: created at once, rolled, and scaled
{size.rounds} times at random; amid each the oldest process is killed and another started. Then with `Ignore`
and repair: scaled {size.rounds} times more; all three processes are killed in the middle, so that pods are created
without them, and the Deployments are scaled again before it is quiet. While it waits for quiet the test touches
Deployments that are not complete every 15 s: a ReplicaSet controller that was refused often waits minutes until it
looks again, and an edit wakes it.

*Above* counts the versions of the store (all were looked at) in which a pod took a slot beyond min(M, N) of its
ReplicaSet, *off* the Deployments with another number than min(M, N) at a quiet point.

| mode | pods created | slots given | above | quiet points | off |
|---|---|---|---|---|---|"""


@pytest.fixture(scope="module")
def served(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Webhooks]:
    """Replicas in the setting asked for, for all tests of this file that ask for the same."""
    folder = tmp_path_factory.mktemp("webhook")
    with webhooks(control_plane, folder, SETTINGS[request.param]) as these:
        yield these


@pytest.fixture
def shop(api: Api, namespace: str, kwok_nodes: NodeMaker, served: Webhooks) -> str:
    """A namespace that the webhook serves, in a cluster with nodes of both tiers."""
    kwok_nodes(4, cpu="64", pods=5000, labels=lambda number: {CAPACITY: ("on-demand", "spot")[number % 2]})
    serve(api, namespace)
    return namespace


def serve(api: Api, namespace: str) -> None:
    """Have the webhook asked about a namespace.

    The API server knows new labels and configurations only a moment later; what it refuses tells that it does.
    """
    api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": HERE}})
    api.wait("the namespace is served", lambda: _refuses(api, namespace))


def _refuses(api: Api, namespace: str) -> bool:
    """Whether the validating webhook is asked about Deployments of the namespace."""
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    try:
        api.request("POST", path, deployment("probe", 3, "many"), query={"dryRun": "All"})
    except ApiError as error:
        return "min-available" in str(error)
    return False


in_both_modes = pytest.mark.parametrize("served", ["webhook", "gated"], indirect=True)
in_webhook_mode = pytest.mark.parametrize("served", ["webhook"], indirect=True)
with_repair = pytest.mark.parametrize("served", ["webhook-repair", "gated-repair"], indirect=True)


def _exchange(served: Webhooks) -> None:
    """A replica that is not elected is killed, and another started: one that was needs its lease to run out first."""
    leader = served.leader
    served.kill(next(each for each in served.replicas if each is not leader))
    served.start()


@in_both_modes
def test_bursts_rollouts_and_scaling_keep_the_count(api: Api, shop: str, served: Webhooks) -> None:
    """Ten Deployments of 25 at once, rolled, scaled at random, a process killed each time: a tenth of the proof."""
    fleet = Fleet(api, shop)
    with Record(fleet).kept() as record:
        tell(fleet, Size(deployments=10, replicas=25, rounds=1), lambda: _exchange(served))
        record.complete()
    assert record.excesses() == []
    assert record.created >= 500


@with_repair
def test_away_and_back_with_repair_ends_exact(api: Api, shop: str, served: Webhooks) -> None:
    """All processes are away while pods are created, and admitted without them; repair brings the count about."""
    fleet = Fleet(api, shop)
    away = served.replicas[:]
    with Record(fleet).kept() as record:
        served.kill(*away, number=15)
        fleet.create(*(deployment(f"web-{row}", 10, str(row)) for row in range(1, 4)))
        fleet.settled()
        assert len(fleet.off()) == 3
        served.start(len(away))
        fleet.quiet(mended=True)
        for row in range(1, 4):
            fleet.patch(f"web-{row}", {"spec": {"replicas": 4 * row}})
        fleet.quiet(mended=True)
        record.complete()
    assert record.excesses() == []
    assert record.granted >= 6


@pytest.mark.proof
@pytest.mark.timeout(7200)
@in_both_modes
def test_many_bursts_rollouts_and_scaling_keep_the_count(api: Api, shop: str, served: Webhooks) -> None:
    """Fifty Deployments of a hundred; processes are killed and started in each phase, all of them once repair is on."""

    def disturb() -> None:
        gone = served.replicas[: 3 if served.setting.repair else 1]
        served.kill(*gone)
        served.start(len(gone))

    size = Size(deployments=50, replicas=100, rounds=2)
    fleet = Fleet(api, shop)
    with Record(fleet).kept() as record:
        tell(fleet, size, disturb)
        served.turn_into(SETTINGS[f"{served.setting.mode}-repair"])
        tell_more(fleet, size, disturb)
        record.complete()
    assert record.excesses() == []
    assert record.created >= 10_000
    _write_down(served, size, fleet, record)


def _write_down(served: Webhooks, size: Size, fleet: Fleet, record: Record) -> None:
    """One line of the page, in the place of an older one of the same setting."""
    page = PROOF / f"{datetime.now(UTC):%Y-%m-%d}-webhook.md"
    start = f"| {served.setting.mode} |"
    rows = [each for each in page.read_text().splitlines() if each.startswith("| ")][1:] if page.exists() else []
    rows = [each for each in rows if not each.startswith(start)]
    numbers = record.created, record.granted, len(record.excesses()), len(fleet.quiet_points), len(fleet.off())
    rows.append(f"{start} {' | '.join(map(str, numbers))} |")
    head = PAGE.format(size=size, most=size.replicas // 2)
    page.write_text("\n".join([head, *sorted(rows, reverse=True), ""]))


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
def test_pods_of_others_never_reach_the_webhook(api: Api, shop: str, served: Webhooks) -> None:
    """A Job's, a DaemonSet's and a bare pod are created without a question, so its absence cannot stop them."""
    template = deployment("x", 1, None)["spec"]["template"]
    template["spec"] |= {"restartPolicy": "Never"}
    job = {"metadata": {"name": "job"}, "spec": {"template": template}}
    api.create(f"/apis/batch/v1/namespaces/{shop}/jobs", job)
    always = {"metadata": {"labels": {"app": "all"}}, "spec": template["spec"] | {"restartPolicy": "Always"}}
    everywhere = {"selector": {"matchLabels": {"app": "all"}}, "template": always}
    api.create(f"/apis/apps/v1/namespaces/{shop}/daemonsets", {"metadata": {"name": "all"}, "spec": everywhere})
    path = f"/api/v1/namespaces/{shop}/pods"
    api.create(path, {"metadata": {"name": "bare"}, "spec": template["spec"]})
    api.wait("a pod of each", lambda: len(api.items(path)) >= 3)
    reasons = {"OwnerKind", "NoController", "Mirror"}
    for replica in served.replicas:
        assert not reasons & set(
            re.findall(r'^fairlead_admissions_total{reason="(\w+)"', replica.get("/metrics")[1], re.M)
        )


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
    api.wait("the ledger is in order", lambda: counts() == [want])
    api.delete(f"{fleet.path}/web")
    api.wait("the ledger is gone", lambda: counts() == [])


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
def test_its_own_pods_pass_the_restricted_profile(api: Api, served: Webhooks) -> None:
    """Its namespace enforces restricted pods: one of its Deployment is let in, one that may be root is not."""
    labels = api.get(f"/api/v1/namespaces/{NAMESPACE}")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    template = next(each["spec"]["template"] for each in manifests() if each["kind"] == "Deployment")
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    body = {"metadata": {"name": "one", "labels": template["metadata"]["labels"]}, "spec": template["spec"]}
    api.request("POST", path, body, query={"dryRun": "All"})
    loose = body | {"spec": template["spec"] | {"securityContext": {}}}
    with pytest.raises(ApiError, match="restricted"):
        api.request("POST", path, loose, query={"dryRun": "All"})


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


@pytest.mark.parametrize("served", ["hasty", "gated", pytest.param("webhook", marks=pytest.mark.proof)], indirect=True)
def test_refused_pods_leak_no_slot(api: Api, namespace: str, served: Webhooks) -> None:
    """Pods that a quota, a limit range or a later webhook refused after the grant: their slots go to others."""
    serve(api, namespace)
    with Refused(api, namespace).standing() as refused:
        if served.setting.mode == "webhook":
            api.wait("the quota is named in a 429", refused.quota_is_told)
        refused.let_go()
        assert refused.required() == refused.wanted


@pytest.mark.parametrize("served", ["webhook-repair"], indirect=True)
def test_switch_stops_repair(api: Api, shop: str, served: Webhooks) -> None:
    """With the switch on nothing is evicted, and `fairlead tiers` tells who is below; then all is mended."""
    fleet = Fleet(api, shop)
    api.patch(SWITCH, {"data": {"stop": "true"}})
    fleet.create(deployment("web", 6, "1"), deployment("alone", 2, None))
    fleet.settled()
    fleet.patch("web", {"metadata": {"annotations": {MINIMUM: "3"}}})
    fleet.patch("alone", {"metadata": {"annotations": {MINIMUM: "1"}}})
    rows = _tiers(served, shop)
    assert {name for name, row in rows.items() if row["below"]} == {"web", "alone"}
    api.patch(SWITCH, {"data": {"stop": None}})
    fleet.quiet(mended=True)
    rows = _tiers(served, shop)
    assert rows["web"]["required"] == 3
    assert rows["web"]["onDemand"] >= 3
    assert rows["web"]["onDemand"] + rows["web"]["spot"] == 6
    assert not any(row["below"] for row in rows.values())


def _tiers(served: Webhooks, namespace: str) -> dict[str, dict[str, int]]:
    arguments = ["tiers", "-n", namespace, "-o", "json", "--kubeconfig", str(served.kubeconfig)]
    result = CliRunner().invoke(cli, arguments, standalone_mode=False)
    return {row["name"]: row for row in json.loads(result.stdout)["workloads"]}


@pytest.mark.parametrize("served", ["back"], indirect=True)
def test_repair_respects_disruption_budgets(api: Api, shop: str, served: Webhooks) -> None:
    """A budget that lets nothing go keeps the pods where they are, and that is told; when it goes, they are mended."""
    fleet = Fleet(api, shop)
    budgets = f"/apis/policy/v1/namespaces/{shop}/poddisruptionbudgets"
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    api.create(budgets, {"metadata": {"name": "web"}, "spec": spec})
    fleet.create(deployment("web", 4, "1"))
    fleet.settled()
    before = {pod["metadata"]["uid"] for pod in api.items(fleet.pods_path)}
    fleet.patch("web", {"metadata": {"annotations": {MINIMUM: "2"}}})
    api.wait("the budget is told", lambda: "a disruption budget says no" in served.words)
    assert {pod["metadata"]["uid"] for pod in api.items(fleet.pods_path)} == before
    api.delete(f"{budgets}/web")
    fleet.quiet(mended=True)


@pytest.mark.parametrize("served", ["files"], indirect=True)
def test_certificate_of_somebody_else_needs_no_rights(api: Api, shop: str, served: Webhooks) -> None:
    """With a certificate from files, as cert-manager keeps them, it works without the rights to make its own."""
    fleet = Fleet(api, shop)
    fleet.create(deployment("web", 4, "2"))
    fleet.settled()
    fleet.check()


@pytest.mark.parametrize("served", ["back"], indirect=True)
def test_repair_moves_replicas_back_to_spot(api: Api, shop: str, served: Webhooks) -> None:
    """The minimum was lowered: the pods above it are replaced by others that prefer spot, one by one."""
    fleet = Fleet(api, shop)
    fleet.create(deployment("web", 6, "4"))
    fleet.settled()
    fleet.check()
    fleet.patch("web", {"metadata": {"annotations": {MINIMUM: "2"}}})
    fleet.quiet(mended=True)


@pytest.mark.parametrize("served", ["back"], indirect=True)
def test_rollout_that_waits_for_its_own_old_pods_is_said(
    api: Api, namespace: str, kwok_nodes: NodeMaker, served: Webhooks
) -> None:
    """All on-demand room is held by the old pods and none of them may go first: an Event at the Deployment says so."""
    kwok_nodes(1, cpu="2", labels={CAPACITY: "on-demand"})
    serve(api, namespace)
    fleet = Fleet(api, namespace)
    body = deployment("web", 2, "2")
    body["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    fleet.create(body)
    fleet.settled()
    fleet.patch("web", {"spec": {"template": {"metadata": {"labels": {"turn": "2"}}}}})
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    api.wait("it is said", lambda: any(each["reason"] == "RolloutWaits" for each in api.items(events)))
