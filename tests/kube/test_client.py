"""The client's calls, against the fake: what is sent, what is raised, what is tried again."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from fairlead.kube.errors import AnswerError, ApiError, UnreachableError
from fairlead.kube.resources import (
    ALL,
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    Resource,
)
from fairlead.kube.transport import Query, Response
from tests.fake import FakeApi
from tests.kube.things import client, config_map, pod, shop, uid_of


async def test_get_existing_pod_is_typed() -> None:
    """A pod comes back as its shape, with the server's own fields filled in."""
    found = await client(shop("web-0")).get(PODS, "web-0", namespace="shop")
    assert (
        found.metadata.name,
        found.metadata.namespace,
        found.spec.containers[0].resources.requests["cpu"],
    ) == ("web-0", "shop", "100m")
    assert found.metadata.uid
    assert found.metadata.resource_version


async def test_get_missing_pod_is_not_found() -> None:
    """404 is an ApiError with the server's own words, and is not tried again."""
    api = FakeApi()
    with pytest.raises(ApiError, match='404 NotFound: pods "web-9" not found') as caught:
        await client(api).get(PODS, "web-9", namespace="shop")
    assert caught.value.not_found
    assert len(api.calls) == 1


async def test_list_in_pages_is_one_consistent_list() -> None:
    """Pages are put together; a pod created between two pages is not in the list."""
    api = shop(*(f"web-{i}" for i in range(7)))
    late = [lambda: None, lambda: api.put(PODS, pod("web-99"))]
    api.before(lambda: late.pop(0)(), method="GET", times=2)
    found = await client(api).list(PODS, limit=3)
    assert [f"web-{i}" for i in range(7)] == [each.metadata.name for each in found.items]
    assert [path for _, path in api.calls] == ["/api/v1/pods"] * 3


async def test_list_whose_pages_expire_is_read_in_one_piece() -> None:
    """A continue token that is too old leads to one list without pages."""
    api = shop("a", "b", "c")
    hooks = [lambda: None, api.compact]
    api.before(lambda: hooks.pop(0)(), method="GET", times=2)
    found = await client(api).list(PODS, limit=2)
    assert [each.metadata.name for each in found.items] == ["a", "b", "c"]


SELECTIONS = {
    "equal label": ("app=web", "", ["a", "b"]),
    "unequal label": ("app!=web", "", ["c", "d"]),
    "label in a set": ("app in (web,db)", "", ["a", "b", "c"]),
    "label exists": ("app", "", ["a", "b", "c"]),
    "label is missing": ("!app", "", ["d"]),
    "two terms": ("app=web,tier notin (spot)", "", ["b"]),
    "field": ("", "spec.nodeName=n1", ["b"]),
    "no node yet": ("app=web", "spec.nodeName=", ["a"]),
}


@pytest.mark.parametrize("case", SELECTIONS)
async def test_list_with_selectors_filters(case: str) -> None:
    """Label and field selectors reach the server and are obeyed by the fake."""
    labels, fields, want = SELECTIONS[case]
    api = FakeApi()
    api.put(PODS, pod("a", labels={"app": "web", "tier": "spot"}))
    api.put(PODS, pod("b", labels={"app": "web"}, node="n1"))
    api.put(PODS, pod("c", labels={"app": "db"}))
    api.put(PODS, pod("d"))
    found = await client(api).list(PODS, namespace="shop", labels=labels, fields=fields)
    assert want == [each.metadata.name for each in found.items]


async def test_create_twice_already_exists() -> None:
    """The second creation under one name is refused, and this is not a conflict of versions."""
    api = FakeApi()
    made = await client(api).create(CONFIG_MAPS, config_map("ledger", a="1"), namespace="shop")
    assert made.data == {"a": "1"}
    with pytest.raises(ApiError) as caught:
        await client(api).create(CONFIG_MAPS, config_map("ledger"), namespace="shop")
    assert caught.value.already_exists
    assert not caught.value.conflict


async def test_create_says_the_kind_that_the_caller_left_out() -> None:
    """Custom resources are refused without version and kind, so the client adds them."""
    api = FakeApi()
    await client(api).create(QUEUES, {"metadata": {"name": "gold"}})
    found = api.find(QUEUES, "gold")
    assert found is not None
    assert (found["apiVersion"], found["kind"]) == ("scheduling.volcano.sh/v1beta1", "Queue")


async def test_replace_with_old_version_conflicts() -> None:
    """A PUT with the version that was read is a compare-and-swap."""
    api = shop("web-0")
    mine = await client(api).get(PODS.raw, "web-0", namespace="shop")
    api.put(PODS, pod("web-0", labels={"by": "someone else"}))
    with pytest.raises(ApiError) as caught:
        await client(api).replace(PODS.raw, "web-0", mine, namespace="shop")
    assert caught.value.conflict


@dataclass(frozen=True)
class PatchCase:
    kind: str
    patch: object
    want: dict[str, str]


PATCHES = {
    "merge sets and removes": PatchCase("merge", {"data": {"a": None, "b": "2"}}, {"b": "2"}),
    "json adds": PatchCase("json", [{"op": "add", "path": "/data/x~1y", "value": "3"}], {"a": "1", "x/y": "3"}),
    "strategic merges": PatchCase("strategic", {"data": {"b": "2"}}, {"a": "1", "b": "2"}),
}


@pytest.mark.parametrize("case", PATCHES)
async def test_patch_changes_what_it_says(case: str) -> None:
    """The three kinds of patch, each with its own content type."""
    api = FakeApi()
    api.put(CONFIG_MAPS, config_map("ledger", a="1"))
    what = PATCHES[case]
    got = await client(api).patch(CONFIG_MAPS, "ledger", what.patch, kind=what.kind, namespace="shop")  # type: ignore[arg-type]
    assert what.want == got.data


class Asked(FakeApi):
    """A fake that remembers the query and the body of every request."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Query, dict[str, Any]]] = []

    async def request(self, method: str, path: str, **more: Any) -> Response:
        self.asked.append((more["query"], json.loads(more["body"])))
        return await super().request(method, path, **more)


async def test_a_patch_says_only_what_changes_and_who_owns_it() -> None:
    """Version and kind are not repeated; every patch says which manager owns its fields."""
    api = Asked()
    api.put(CONFIG_MAPS, config_map("ledger", a="1"))
    await client(api).patch(CONFIG_MAPS, "ledger", {"data": {}}, namespace="shop")
    assert api.asked == [({"fieldManager": "fairlead"}, {"data": {}})]


async def test_patch_status_leaves_the_rest_alone() -> None:
    """The status subresource changes the status only, the main resource everything but the status."""
    api = shop("web-0")
    both = {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Running"}}
    got = await client(api).patch(PODS, "web-0", both, namespace="shop", subresource="status")
    assert (got.status.phase, got.metadata.labels) == ("Running", {})
    got = await client(api).patch(PODS, "web-0", both | {"status": {"phase": "Failed"}}, namespace="shop")
    assert (got.status.phase, got.metadata.labels) == ("Running", {"x": "y"})


async def test_pod_group_status_is_part_of_the_object() -> None:
    """Volcano's PodGroup has no status subresource: the status is written on the object."""
    api = FakeApi()
    api.put(POD_GROUPS, {"metadata": {"name": "g", "namespace": "shop"}, "spec": {"minMember": 2}, "status": {}})
    got = await client(api).patch(POD_GROUPS, "g", {"status": {"phase": "Inqueue"}}, namespace="shop")
    assert got.status.phase == "Inqueue"


async def test_delete_of_another_version_conflicts() -> None:
    """The version says which state of the object is meant."""
    api = shop("web-0")
    stored = await client(api).get(PODS, "web-0", namespace="shop")
    with pytest.raises(ApiError) as caught:
        await client(api).delete(PODS, "web-0", namespace="shop", resource_version="another")
    assert caught.value.conflict
    await client(api).delete(PODS, "web-0", namespace="shop", resource_version=stored.metadata.resource_version)
    assert api.find(PODS, "web-0", namespace="shop") is None


async def test_bind_sets_node_and_annotations() -> None:
    """Annotations on the binding are merged into the pod."""
    api = shop("web-0")
    uid = uid_of(api, "web-0")
    await client(api).bind("shop", "web-0", "n1", uid=uid, annotations={"fairlead.io/cores": "0-3"})
    found = await client(api).get(PODS, "web-0", namespace="shop")
    assert (found.spec.node_name, found.metadata.annotations) == ("n1", {"fairlead.io/cores": "0-3"})


async def test_bind_whose_answer_is_lost_counts_as_bound() -> None:
    """A repeated bind that finds the pod on the wanted node has succeeded."""
    api = shop("web-0")
    uid = uid_of(api, "web-0")
    api.cut(method="POST", after=True)
    await client(api).bind("shop", "web-0", "n1", uid=uid)
    assert [method for method, _ in api.calls] == ["POST", "POST", "GET"]


async def test_bind_to_another_node_after_a_lost_answer_conflicts() -> None:
    """If somebody else bound the pod in the meantime, that is a conflict and nothing else."""
    api = shop("web-0")
    uid = uid_of(api, "web-0")
    api.cut(method="POST")
    api.before(lambda: api.put(PODS, pod("web-0", node="n2")), method="POST")
    with pytest.raises(ApiError) as caught:
        await client(api).bind("shop", "web-0", "n1", uid=uid)
    assert caught.value.conflict


async def test_bind_of_a_recreated_pod_conflicts() -> None:
    """The uid of the pod that was decided about is a precondition."""
    api = shop("web-0")
    with pytest.raises(ApiError) as caught:
        await client(api).bind("shop", "web-0", "n1", uid="gone")
    assert caught.value.conflict
    assert "nodeName" not in api.find(PODS, "web-0", namespace="shop")["spec"]  # type: ignore[index]


async def test_evict_against_a_budget_is_too_many_and_not_repeated() -> None:
    """A disruption budget without room answers 429, which is an answer and no reason to try again."""
    api = FakeApi()
    api.put(PODS, pod("web-0", labels={"app": "web"}))
    uid = uid_of(api, "web-0")
    budget = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    api.put(DISRUPTION_BUDGETS, budget)
    with pytest.raises(ApiError) as caught:
        await client(api).evict("shop", "web-0", uid=uid)
    assert (caught.value.too_many, caught.value.causes, len(api.calls)) == (True, ("DisruptionBudget",), 1)
    api.put(DISRUPTION_BUDGETS, budget | {"status": {"disruptionsAllowed": 1}})
    await client(api).evict("shop", "web-0", uid=uid, dry_run=True)
    assert api.find(PODS, "web-0", namespace="shop") is not None
    await client(api).evict("shop", "web-0", uid=uid)
    assert api.find(PODS, "web-0", namespace="shop") is None


async def test_served_follows_the_server() -> None:
    """A custom resource may come and go."""
    api = FakeApi(served=[PODS])
    calls = client(api)
    assert await calls.served(PODS)
    assert not await calls.served(NODES)
    assert not await calls.served(QUEUES)
    api.serve(QUEUES)
    assert await calls.served(QUEUES)


async def test_version_is_read() -> None:
    """The version names the server."""
    assert (await client(FakeApi()).version()).git_version.startswith("v1.")


async def test_answer_of_the_wrong_form_is_our_error() -> None:
    """Whatever a server says, only our own errors come out."""
    for body in (b"<html>", b'{"metadata": 3}', b"", b"\xff\xfe", b"[" * 5000):
        api = shop("web-0")
        rule = Response(status=200, body=body)
        api.fail(200)
        api.faults.rules[0].answer = rule
        with pytest.raises(AnswerError):
            await client(api).get(PODS, "web-0", namespace="shop")


async def test_failure_without_a_status_keeps_its_text() -> None:
    """A proxy's page instead of a Status becomes the message."""
    api = shop("web-0")
    api.fail(403)
    api.faults.rules[0].answer = Response(status=403, body=b"<h1>no\nentry</h1>")
    with pytest.raises(ApiError, match="403 Unknown: <h1>no entry</h1>") as caught:
        await client(api).get(PODS, "web-0", namespace="shop")
    assert caught.value.forbidden


@dataclass(frozen=True)
class RetryCase:
    """What goes wrong first, and how many requests are made for a read and for a creation."""

    status: int = 0
    retry_after: int | None = None
    times: int = 1
    want_read: int = 2
    want_create: int = 1


RETRIES = {
    "cut connection": RetryCase(),
    "internal error": RetryCase(status=500),
    "overload without a time": RetryCase(status=503),
    "too many requests": RetryCase(status=429, retry_after=1, want_create=2),
    "too long to wait for": RetryCase(status=429, retry_after=3600, want_read=1),
    "for ever": RetryCase(status=503, times=99, want_read=4),
    "not allowed": RetryCase(status=403, want_read=1),
}


@pytest.mark.parametrize("case", RETRIES)
async def test_retry_only_what_may_be_repeated(case: str) -> None:
    """Reads are tried again where that may help, creations only where the server certainly did not act."""
    rule = RETRIES[case]

    def break_it(api: FakeApi) -> None:
        if rule.status:
            api.fail(rule.status, times=rule.times, retry_after=rule.retry_after)
        else:
            api.cut(times=rule.times)

    reading, creating = shop("web-0"), shop()
    break_it(reading)
    break_it(creating)
    try:
        await client(reading).get(PODS, "web-0", namespace="shop")
    except ApiError:
        assert rule.want_read in (1, 4)
    else:
        assert rule.want_read == 2
    try:
        await client(creating).create(CONFIG_MAPS, config_map("a"), namespace="shop")
    except (ApiError, UnreachableError):
        assert rule.want_create == 1
    assert (rule.want_read, rule.want_create) == (len(reading.calls), len(creating.calls))


async def test_retry_waits_grow_and_honour_the_server() -> None:
    """Waits double up to their cap; a Retry-After is the least that is waited."""
    api, waits = shop("web-0"), []  # type: ignore[var-annotated]
    api.fail(503, times=2)
    api.fail(429, retry_after=7)
    await client(api, waits).get(PODS, "web-0", namespace="shop")
    assert waits == [0.1, 0.2, 7.0]


@pytest.mark.parametrize("resource", ALL, ids=lambda each: each.label)
def test_paths_of_all_resources(resource: Resource[object]) -> None:
    """Every resource builds its paths by the rule of the API."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    assert f"{root}/{resource.plural}" == resource.path()
    if resource.namespaced:
        want = f"{root}/namespaces/shop/{resource.plural}/x/status"
        assert want == resource.path(namespace="shop", name="x", subresource="status")
        with pytest.raises(ValueError, match="namespace"):
            resource.path(name="x")
    else:
        assert f"{root}/{resource.plural}/x" == resource.path(name="x")
        with pytest.raises(ValueError, match="no namespace"):
            resource.path(namespace="shop")


def test_path_names_cannot_leave_their_place() -> None:
    """A name from outside stays one segment of the path."""
    assert PODS.path(namespace="a/b", name="x?y#z") == "/api/v1/namespaces/a%2Fb/pods/x%3Fy%23z"
    with pytest.raises(ValueError, match="not a name"):
        PODS.path(namespace="shop", name="..")
