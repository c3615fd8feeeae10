"""The Kubernetes edge against a real API server: what the fake promises must hold there too."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.errors import ApiError
from fairlead.kube.events import Recorder
from fairlead.kube.lease import Elector, Terms, own_identity
from fairlead.kube.objects.meta import Bare, ObjectReference
from fairlead.kube.patches import JsonPatch, update
from fairlead.kube.resources import (
    ALL,
    CONFIG_MAPS,
    CUSTOM_RESOURCES,
    DISRUPTION_BUDGETS,
    EVENTS,
    LEASES,
    PODS,
    Resource,
)
from fairlead.kube.watch import Reflector
from fairlead.kube.watch_pace import WatchPace
from fairlead.kube.wire.http import connect
from tests.cluster.conftest import NodeMaker

WIDGETS = Resource("fairlead.test", "v1", "widgets", "Widget", Bare)


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    client = connect(load(kubeconfig_path=str(kubeconfig)))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def following(
    client: Client, resource: Resource[Any], **scope: str
) -> AsyncIterator[tuple[Reflector[Any], list[Any]]]:
    """A running reflector and what it told, as (kind, name)."""
    told: list[tuple[str, str]] = []

    def sink(change: Change[Any]) -> None:
        told.append((change.kind, change.object.metadata.name))

    watched = Reflector(client, resource, sink, page=20, pace=WatchPace(absent=0.5), **scope)
    task = asyncio.create_task(watched.run())
    try:
        async with asyncio.timeout(60):
            await watched.synced.wait()
        yield watched, told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], object], seconds: float = 240.0) -> None:
    for _ in range(int(seconds * 50)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"not so after {seconds} s")


def pod(name: str, **labels: str) -> dict[str, Any]:
    """A pod that the stock scheduler leaves alone."""
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}]
    spec = {"schedulerName": "nobody", "containers": containers, "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


async def test_every_built_in_resource_is_served_where_we_look(kubeconfig: Path) -> None:
    """Group, version, plural and scope of each constant are those of the server, and its lists decode."""
    async with client_of(kubeconfig) as client:
        assert (await client.version()).git_version.startswith("v1.")
        ours = [each for each in ALL if "." not in each.group or each.group.endswith(".k8s.io")]
        missing = [each.label for each in ours if not await client.served(each)]
        assert missing in ([], ["podgroups.scheduling.k8s.io"])
        for each in ours:
            if each.label not in missing:
                await client.list(each)
                path = f"{each.root}"
                answer = await client.call("GET", path)
                assert f'"name":"{each.plural}"'.encode() in answer.body
                scope = "true" if each.namespaced else "false"
                found = answer.body.split(f'"name":"{each.plural}"'.encode())[1].split(b"verbs")[0]
                assert f'"namespaced":{scope}'.encode() in found


async def test_objects_are_created_changed_and_deleted(kubeconfig: Path, namespace: str) -> None:
    """The whole life of an object, with conflicts where somebody was faster."""
    async with client_of(kubeconfig) as client:
        made = await client.create(CONFIG_MAPS, config_map("a", n="0"), namespace=namespace)
        with pytest.raises(ApiError) as caught:
            await client.create(CONFIG_MAPS, config_map("a"), namespace=namespace)
        assert caught.value.already_exists

        old = await client.get(CONFIG_MAPS.raw, "a", namespace=namespace)
        got = await client.patch(CONFIG_MAPS, "a", {"data": {"m": "1"}}, namespace=namespace)
        assert got.data == {"n": "0", "m": "1"}
        with pytest.raises(ApiError) as caught:
            await client.replace(CONFIG_MAPS.raw, "a", old, namespace=namespace)
        assert caught.value.conflict

        patch = JsonPatch().test("0", "data", "n").add("x", "metadata", "annotations", "note")
        with pytest.raises(ApiError) as caught:
            await client.patch(CONFIG_MAPS, "a", patch.operations, kind="json", namespace=namespace)
        assert caught.value.invalid  # there are no annotations to add to
        patch = JsonPatch().test("0", "data", "n").add("7", "data", "n").add({"a/b": "x"}, "metadata", "annotations")
        got = await client.patch(CONFIG_MAPS, "a", patch.operations, kind="json", namespace=namespace)
        assert (got.data["n"], got.metadata.annotations["a/b"]) == ("7", "x")
        with pytest.raises(ApiError) as caught:
            await client.patch(CONFIG_MAPS, "a", patch.operations, kind="json", namespace=namespace)
        assert caught.value.invalid

        with pytest.raises(ApiError) as caught:
            await client.delete(CONFIG_MAPS, "a", namespace=namespace, resource_version=made.metadata.resource_version)
        assert caught.value.conflict
        version = got.metadata.resource_version
        await client.delete(CONFIG_MAPS, "a", namespace=namespace, resource_version=version)
        with pytest.raises(ApiError) as caught:
            await client.get(CONFIG_MAPS, "a", namespace=namespace)
        assert caught.value.not_found


async def test_updates_of_many_hands_are_all_kept(kubeconfig: Path, namespace: str) -> None:
    """Eight tasks count up at once; conflicts are retried and no increment is lost."""

    def count_up(found: dict[str, Any]) -> dict[str, Any]:
        found["data"]["n"] = str(int(found["data"]["n"]) + 1)
        return found

    async with client_of(kubeconfig) as client:
        await client.create(CONFIG_MAPS, config_map("count", n="0"), namespace=namespace)
        work = (update(client, CONFIG_MAPS, "count", count_up, namespace=namespace, attempts=50) for _ in range(8))
        await asyncio.gather(*work)
        assert (await client.get(CONFIG_MAPS, "count", namespace=namespace)).data == {"n": "8"}


async def test_lists_are_paged_and_selected(kubeconfig: Path, namespace: str) -> None:
    """Pages put together give every object once, also through gzip."""
    async with client_of(kubeconfig) as client:
        await asyncio.gather(
            *(client.create(CONFIG_MAPS, config_map(f"c{i}", pad="x" * 4000), namespace=namespace) for i in range(75))
        )
        whole = await client.list(CONFIG_MAPS, namespace=namespace, limit=0)
        paged = await client.list(CONFIG_MAPS, namespace=namespace, limit=10)
        assert len(paged.items) >= 75
        assert [each.metadata.name for each in whole.items] == [each.metadata.name for each in paged.items]
        one = await client.list(CONFIG_MAPS, namespace=namespace, fields="metadata.name=c7")
        assert [each.metadata.name for each in one.items] == ["c7"]


async def test_pod_is_bound_once_and_evicted_within_its_budget(
    kubeconfig: Path, namespace: str, kwok_nodes: NodeMaker
) -> None:
    """Binding with uid and annotations; a second node conflicts; a budget without room refuses the eviction."""
    first, second = kwok_nodes(2)
    async with client_of(kubeconfig) as client:
        made = await client.create(PODS, pod("web-0", app="web"), namespace=namespace)
        uid = made.metadata.uid
        with pytest.raises(ApiError) as caught:
            await client.bind(namespace, "web-0", first, uid="another")
        assert caught.value.conflict
        await client.bind(namespace, "web-0", first, uid=uid, annotations={"fairlead.io/cores": "0-3"})
        found = await client.get(PODS, "web-0", namespace=namespace)
        assert (first, "0-3") == (found.spec.node_name, found.metadata.annotations["fairlead.io/cores"])
        with pytest.raises(ApiError) as caught:
            await client.bind(namespace, "web-0", second, uid=uid)
        assert caught.value.conflict

        selector = {"matchLabels": {"app": "web"}}
        budget = {"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": selector}}
        await client.create(DISRUPTION_BUDGETS, budget, namespace=namespace)
        # Until the disruption controller has seen the budget, evictions are refused for another reason.
        async with following(client, DISRUPTION_BUDGETS, namespace=namespace) as (budgets, _):
            await until(lambda: budgets.objects[namespace, "web"].status.observed_generation >= 1)
        # A budget does not hold back the eviction of a pod that is still Pending.
        async with following(client, PODS, namespace=namespace) as (pods, _):
            await until(lambda: pods.objects[namespace, "web-0"].status.phase == "Running")
        with pytest.raises(ApiError) as caught:
            await client.evict(namespace, "web-0", uid=uid)
        assert caught.value.too_many
        assert "DisruptionBudget" in caught.value.causes
        await client.delete(DISRUPTION_BUDGETS, "web", namespace=namespace)
        await client.evict(namespace, "web-0", uid=uid, dry_run=True)
        await client.evict(namespace, "web-0", uid=uid)
        async with following(client, PODS, namespace=namespace) as (pods, _):
            await until(lambda: not pods.objects)


async def test_pod_status_is_patched_as_autoscalers_expect(kubeconfig: Path, namespace: str) -> None:
    """Conditions merge by type, and the nominated node can be set."""
    async with client_of(kubeconfig) as client:
        await client.create(PODS, pod("web-0"), namespace=namespace)
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
        patch = {"status": {"conditions": [condition], "nominatedNodeName": "n1"}}
        got = await client.patch(PODS, "web-0", patch, kind="strategic", namespace=namespace, subresource="status")
        assert got.status.nominated_node_name == "n1"
        assert [(c.type, c.reason) for c in got.status.conditions] == [("PodScheduled", "Unschedulable")]


async def test_watch_tells_what_happens(kubeconfig: Path, namespace: str) -> None:
    """Creation, change and deletion, in order."""
    async with client_of(kubeconfig) as client, following(client, PODS, namespace=namespace) as (_, told):
        await client.create(PODS, pod("a"), namespace=namespace)
        await client.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}}, namespace=namespace)
        await client.delete(PODS, "a", namespace=namespace)
        await until(lambda: ("deleted", "a") in told)
        kinds = [kind for kind, _ in told]  # the mark for deletion is one more change
        assert (kinds[:2], kinds[-1]) == (["added", "modified"], "deleted")


async def test_watch_survives_a_restart_of_the_server(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, api: Api
) -> None:
    """What changes while the server is away is told afterwards, without a new list where history allows it."""
    async with client_of(kubeconfig) as client, following(client, CONFIG_MAPS, namespace=namespace) as (watched, told):
        await client.create(CONFIG_MAPS, config_map("before"), namespace=namespace)
        await until(lambda: ("added", "before") in told)
        await asyncio.to_thread(control_plane.restart_apiserver, kill=True)
        await client.create(CONFIG_MAPS, config_map("after"), namespace=namespace)
        await client.delete(CONFIG_MAPS, "before", namespace=namespace)
        await until(lambda: ("deleted", "before") in told and ("added", "after") in told)
        names = {name for _, name in watched.objects}
        assert "after" in names
        assert "before" not in names


async def test_watch_after_forgotten_history_tells_missed_deletions(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, api: Api
) -> None:
    """410 Gone leads to a new list; an object deleted meanwhile is told as deleted."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    async with client_of(kubeconfig) as client, following(client, CONFIG_MAPS, namespace=namespace) as (watched, told):
        for name in ("kept", "removed"):
            await client.create(CONFIG_MAPS, config_map(name), namespace=namespace)
        await until(lambda: {("added", "kept"), ("added", "removed")} <= set(told))
        old = watched.version

        def behind_its_back() -> None:
            api.delete(f"{path}/removed")
            control_plane.forget_history()

        await asyncio.to_thread(behind_its_back)
        await until(lambda: ("deleted", "removed") in told)
        assert ("", "kept") not in watched.objects
        assert (namespace, "kept") in watched.objects
        with pytest.raises(ApiError) as caught:
            await first_line(client, path, old)
        assert caught.value.gone


async def first_line(client: Client, path: str, version: str) -> None:
    """Watch from an old version by hand; the answer is 410, as a code or as a line."""
    watched = Reflector(client, CONFIG_MAPS, lambda change: None)
    query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "5"}
    async with aclosing(client.transport.stream(path, query)) as lines:
        async for line in lines:
            if line:
                watched._take(line)


@pytest.fixture
def widgets(api: Api) -> Iterator[Callable[[], None]]:
    """A function that defines the custom resource; it is removed after the test."""
    path = CUSTOM_RESOURCES.path()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    body = {
        "metadata": {"name": WIDGETS.label},
        "spec": {
            "group": WIDGETS.group,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    yield lambda: api.create(path, body) and None
    if any(each["metadata"]["name"] == WIDGETS.label for each in api.items(path)):
        api.delete(f"{path}/{WIDGETS.label}")


async def test_watch_waits_for_a_custom_resource(
    kubeconfig: Path, namespace: str, api: Api, widgets: Callable[[], None]
) -> None:
    """Not served at first, picked up once defined, empty again once the definition is gone."""
    async with client_of(kubeconfig) as client, following(client, WIDGETS) as (watched, told):
        assert not watched.served
        assert not await client.served(WIDGETS)
        await asyncio.to_thread(widgets)
        await until(lambda: watched.served)
        body = {"apiVersion": "fairlead.test/v1", "kind": "Widget", "metadata": {"name": "w"}}
        await client.create(WIDGETS, body, namespace=namespace)
        await until(lambda: ("added", "w") in told)
        await asyncio.to_thread(api.delete, f"{CUSTOM_RESOURCES.path()}/{WIDGETS.label}")
        await until(lambda: ("deleted", "w") in told and not watched.served)


async def test_lease_has_one_leader_and_passes_on(kubeconfig: Path, namespace: str) -> None:
    """Two candidates, one leader; when it stops the other leads at once."""
    terms = Terms(lease=6, deadline=4.0, renew=0.5, request=2.0)
    async with client_of(kubeconfig) as client:
        group = [
            Elector(client, namespace=namespace, name="scheduler", identity=own_identity(), terms=terms)
            for _ in range(2)
        ]
        tasks = [asyncio.create_task(each.run()) for each in group]
        await until(lambda: any(each.leading for each in group))
        assert sum(each.leading for each in group) == 1
        first = next(i for i, each in enumerate(group) if each.leading)
        tasks[first].cancel()
        await asyncio.gather(tasks[first], return_exceptions=True)
        await until(lambda: group[1 - first].leading, seconds=5.0)
        found = (await client.get(LEASES.raw, "scheduler", namespace=namespace))["spec"]
        assert (group[1 - first].identity, 1) == (found["holderIdentity"], found["leaseTransitions"])
        tasks[1 - first].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert not (await client.get(LEASES.raw, "scheduler", namespace=namespace))["spec"].get("holderIdentity")


async def test_events_are_taken_by_the_server(kubeconfig: Path, namespace: str) -> None:
    """A first event, its series, a new wording, and words as long as they may be."""
    async with client_of(kubeconfig) as client:
        made = await client.create(PODS, pod("web-0"), namespace=namespace)
        about = ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name="web-0", uid=made.metadata.uid)
        recorder = Recorder(client, component="fairlead-scheduler", instance="test")

        async def say(note: str, reason: str = "Scheduled") -> None:
            recorder.record(about, reason=reason, action="Binding", note=note)
            await recorder.flush()

        for note in ("on n1", "on n1", "on n2", "on n2", "on n2"):
            await say(note)
        await say("ä" * 5000, reason="R" * 500)
        events = (await client.list(EVENTS.raw, namespace=namespace)).items
        told = [each for each in events if each["reason"] == "Scheduled"]
        seen = sorted((each["note"], (each.get("series") or {"count": 1})["count"]) for each in told)
        assert seen == [("on n1", 2), ("on n2", 3)]
        assert [len(each["reason"]) for each in events if each not in told] == [128]


async def test_client_certificates_and_service_accounts_get_in(control_plane: ControlPlane, namespace: str) -> None:
    """Other ways to say who we are: a client certificate, and a service account's token without rights."""
    user = control_plane.kubeconfig_for_user("someone", ("system:masters",))
    async with client_of(user) as client:
        assert (await client.list(PODS, namespace=namespace)).items == []
    account = control_plane.kubeconfig_for_service_account(namespace, "plain")
    async with client_of(account) as client:
        with pytest.raises(ApiError) as caught:
            await client.list(PODS, namespace=namespace)
        assert caught.value.forbidden


def impersonating(kubeconfig: Path, path: Path) -> Path:
    """The same kubeconfig, acting as another user."""
    body = yaml.safe_load(kubeconfig.read_text())
    body["users"][0]["user"] |= {
        "as": "limited",
        "as-uid": "7",
        "as-groups": ["readers", "system:authenticated"],
        "as-user-extra": {"example.com/reason": ["test"]},
    }
    path.write_text(yaml.safe_dump(body))
    return path


async def test_impersonated_user_has_no_more_rights_than_its_own(
    kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """The server sees the user and groups of `as` and `as-groups`, on requests and on watches."""
    async with client_of(impersonating(kubeconfig, tmp_path / "limited")) as client:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        reviews = Resource("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", Bare)
        found = (await client.create(reviews.raw, review))["status"]["userInfo"]
        assert (found["username"], found["uid"]) == ("limited", "7")
        assert {"readers", "system:authenticated"} <= set(found["groups"])
        assert found["extra"] == {"example.com/reason": ["test"]}
        with pytest.raises(ApiError) as caught:
            await client.list(PODS, namespace=namespace)
        assert caught.value.status == 403
        with pytest.raises(ApiError) as caught:
            await anext(client.transport.stream(f"/api/v1/namespaces/{namespace}/pods", {"watch": "1"}))
        assert caught.value.status == 403
