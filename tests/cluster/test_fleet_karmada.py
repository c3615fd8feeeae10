"""The fleet scheduler among Karmada's controllers, which are played, on a real API server.

With Karmada's own definitions of bindings where they lie beside the checkout, else with the project's.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from tests.cluster.karmada import CLUSTERS, Bindings, binding, cluster, condition, counts, define, defined_by, fleet
from tests.cluster.played.evictions import APPLIED, Evictions
from tests.cluster.played.host import Crew, Host
from tests.cluster.played.members import Member
from tests.cluster.played.quotas import Quota, enforced
from tests.cluster.played.readiness import NOT_READY, Readiness
from tests.cluster.played.reports import Reports
from tests.cluster.played.works import Works
from tests.cluster.test_fleet_definitions import SHIPPED

DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


class Stage:
    """Three members, their objects, and every controller at work."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.host = Host(api, namespace)
        self.bindings = Bindings(api, namespace)
        self.names = [f"{namespace}-m{number}" for number in (1, 2, 3)]
        self.members = [Member(name, api, name) for name in self.names]
        self.works = Works(self.host, self.members)
        self.evictions = Evictions(self.host)
        self.readiness = Readiness(self.host, self.members)
        self.reports = Reports(self.host, self.members)
        api.create_many(CLUSTERS, [cluster(name, {"pool": namespace}) for name in self.names])

    @property
    def crew(self) -> Crew:
        steps = (self.readiness.step, self.evictions.step, self.works.step, self.reports.step)
        return Crew(*steps)

    def placement(self, **more: Any) -> dict[str, Any]:
        return {"clusterAffinity": {"clusterNames": self.names}, **more}

    def create(self, name: str, replicas: int, **more: Any) -> None:
        """A Deployment with replicas, divided evenly; a ConfigMap without."""
        scheduling = {"replicaScheduling": DIVIDED} if replicas else {}
        body = binding(name, replicas, self.placement(**scheduling, **more))
        if not replicas:
            del body["spec"]["replicas"]
            body["spec"]["resource"] |= {"apiVersion": "v1", "kind": "ConfigMap"}
        self.bindings.create(body)

    def objects(self) -> dict[str, dict[str, tuple[str, int]]]:
        return {each.name: each.objects() for each in self.members}

    def spread(self, name: str) -> dict[str, int]:
        """The replicas that the members have of an object."""
        found = {at: there[name][1] for at, there in self.objects().items() if name in there}
        return {at.removeprefix(f"{self.host.namespace}-"): n for at, n in found.items()}

    def wait(self, what: str, holds: Any) -> None:
        self.api.wait(what, holds, seconds=180)

    def taint(self, member: int, *effects: str) -> None:
        taints = [{"key": "drain", "effect": effect} for effect in effects]
        self.api.patch(f"{CLUSTERS}/{self.names[member - 1]}", {"spec": {"taints": taints}})


@pytest.fixture
def stage(control_plane: ControlPlane, api: Api, namespace: str) -> Iterator[Stage]:
    """The members of a test; they and their objects are gone after it."""
    define(api, "karmada.yaml")
    with ExitStack() as stack:
        files = sorted(SHIPPED.glob("work.karmada.io_*.yaml"))
        stack.enter_context(defined_by(api, [yaml.safe_load(file.read_text()) for file in files]))
        found = Stage(api, namespace)
        yield found
        for each in found.bindings.all():
            api.delete(f"{found.bindings.path}/{each['metadata']['name']}")
        for name in found.names:
            api.delete(f"{CLUSTERS}/{name}")
            api.delete(f"/api/v1/namespaces/{name}")


def test_member_that_is_away_for_a_while_loses_nothing(kubeconfig: Path, stage: Stage) -> None:
    """Not ready, tainted, back: every object keeps its uid; what came meanwhile arrives afterwards."""
    with stage.crew, fleet(kubeconfig):
        stage.create("settings", 0)
        stage.create("web", 6)
        stage.wait("everything is there", lambda: stage.spread("web") == {"m1": 2, "m2": 2, "m3": 2})
        stage.wait("the settings are there", lambda: len(stage.spread("settings")) == 3)
        before = stage.objects()
        away = stage.members[2]
        away.down = True
        path = f"{CLUSTERS}/{away.name}"
        stage.wait("the taint", lambda: NOT_READY in json.dumps(stage.api.get(path)["spec"].get("taints")))
        stage.create("later", 0)
        stage.bindings.patch("web", {"spec": {"replicas": 7}})
        stage.wait("the new one is on the others", lambda: len(counts(stage.bindings.get("later"))) == 2)
        stage.wait("one replica more", lambda: sum(counts(stage.bindings.get("web")).values()) == 7)
        assert counts(stage.bindings.get("web"))[away.name] >= 2
        away.down = False
        stage.wait("the new one is on all", lambda: len(stage.spread("later")) == 3)
        stage.wait("seven replicas are there", lambda: sum(stage.spread("web").values()) == 7)
    after = stage.objects()
    for member, objects in before.items():
        assert {name: after[member][name][0] for name in objects} == {name: uid for name, (uid, _) in objects.items()}
    assert stage.works.deletions == []


def test_no_execute_is_followed_gracefully_and_tolerations_are_kept(kubeconfig: Path, stage: Stage) -> None:
    """The taint manager reads what was applied: at once, after the seconds tolerated, or never; nothing returns."""
    tolerated = [{"key": "drain", "operator": "Exists", "effect": "NoExecute"}]
    with stage.crew, fleet(kubeconfig):
        stage.create("now", 6)
        stage.create("later", 6, clusterTolerations=[tolerated[0] | {"tolerationSeconds": 6}])
        stage.create("never", 6, clusterTolerations=tolerated)
        stage.create("settings", 0)
        names = ("now", "later", "never")
        stage.wait("all are placed", lambda: all(len(stage.spread(name)) == 3 for name in (*names, "settings")))
        stage.taint(3, "NoExecute")
        stage.wait("the first left", lambda: stage.spread("now") == {"m1": 3, "m2": 3})
        stage.wait("the settings left", lambda: len(stage.spread("settings")) == 2)
        stage.wait("the second left", lambda: stage.spread("later") == {"m1": 3, "m2": 3})
        assert stage.evictions.evicted == {"now", "later", "settings"}, "somebody else took a target out"
        assert stage.spread("never") == {"m1": 2, "m2": 2, "m3": 2}
        assert stage.evictions.errors == []
        stage.taint(3)
        stage.wait("the settings return", lambda: len(stage.spread("settings")) == 3)
        assert stage.spread("now") == stage.spread("later") == {"m1": 3, "m2": 3}
        stage.bindings.patch("now", {"spec": {"replicas": 7}})
        stage.wait("the next scaling counts it again", lambda: sorted(stage.spread("now").values()) == [2, 2, 3])
    applied = json.loads(stage.bindings.get("later")["metadata"]["annotations"][APPLIED])
    assert applied["clusterTolerations"][0]["tolerationSeconds"] == 6


def test_refusal_by_a_quota_is_told_and_tried_again(kubeconfig: Path, stage: Stage, tmp_path: Path) -> None:
    """The webhook's words in the condition, nothing placed; a smaller workload and a larger quota are followed."""
    quota = Quota(stage.host.namespace, 4)
    with enforced(stage.api, quota, tmp_path), stage.crew, fleet(kubeconfig):
        stage.create("web", 6)
        reason = lambda: condition(stage.bindings.get("web")).get("reason")  # noqa: E731
        stage.wait("it is told", lambda: reason() == "QuotaExceeded")
        assert condition(stage.bindings.get("web"))["message"] == (
            'admission webhook "resourcebinding.karmada.io" denied the request: '
            f"FederatedResourceQuota({stage.host.namespace}/q) exceeded for resource cpu: requested sum 6, limit 4."
        )
        assert counts(stage.bindings.get("web")) == {}
        stage.bindings.patch("web", {"spec": {"replicas": 3}})
        stage.wait("less fits", lambda: sum(stage.spread("web").values()) == 3)
        stage.bindings.patch("web", {"spec": {"replicas": 6}})
        stage.wait("it is told again", lambda: reason() == "QuotaExceeded")
        assert sum(stage.spread("web").values()) == 3
        quota.replicas = 9
        stage.wait("the next try succeeds", lambda: sum(stage.spread("web").values()) == 6)
        stage.wait("and says so", lambda: reason() == "Success")


def test_kind_goes_only_where_it_is_served_and_stays_where_a_list_is_short(kubeconfig: Path, stage: Stage) -> None:
    """No member serves it: told so. One begins to: it comes. That member's list is incomplete: it stays."""
    foo = {"groupVersion": "ex.io/v1", "resources": [{"name": "foos", "kind": "Foo"}]}
    path = f"{CLUSTERS}/{stage.names[1]}"

    def lists(kinds: list[dict[str, Any]], *, complete: bool) -> None:
        conditions = [{"type": "CompleteAPIEnablements", "status": str(complete)}, {"type": "Ready", "status": "True"}]
        stage.api.patch(f"{path}/status", {"status": {"apiEnablements": kinds, "conditions": conditions}})

    with stage.crew, fleet(kubeconfig):
        listed = lambda: all(each.get("status", {}).get("apiEnablements") for each in stage.host.clusters())  # noqa: E731
        stage.wait("all members list their kinds", listed)
        body = binding("foo", 0, stage.placement())
        del body["spec"]["replicas"]
        body["spec"]["resource"] |= {"apiVersion": "ex.io/v1", "kind": "Foo"}
        stage.bindings.create(body)
        stage.wait("it is told", lambda: condition(stage.bindings.get("foo")).get("reason") == "NoClusterFit")
        assert "3 cluster(s) did not have the API resource" in condition(stage.bindings.get("foo"))["message"]
        served = stage.api.get(path)["status"]["apiEnablements"]
        lists([*served, foo], complete=True)
        stage.wait("it comes", lambda: list(counts(stage.bindings.get("foo"))) == [stage.names[1]])
        lists(served, complete=False)
        stage.create("after", 3)
        stage.wait("what came later is placed", lambda: sum(stage.spread("after").values()) == 3)
    assert list(counts(stage.bindings.get("foo"))) == [stage.names[1]]
    assert stage.works.deletions == []
