"""The fake itself: the parts of a server's behaviour that other tests lean on."""

import json
from typing import Any

import pytest

from fairlead.kube.errors import ApiError
from fairlead.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from tests.fake import FakeApi
from tests.fake.patching import PatchError, apply_json, merge
from tests.fake.routes import parse
from tests.fake.selectors import selects
from tests.kube.things import client, config_map, pod, uid_of


async def test_finalizer_holds_an_object_until_it_is_taken_off() -> None:
    """Deletion marks first; the object goes with its last finalizer."""
    api = FakeApi()
    body = config_map("a")
    body["metadata"]["finalizers"] = ["fairlead.io/hold"]
    api.put(CONFIG_MAPS, body)
    calls = client(api)
    for _ in range(2):
        await calls.delete(CONFIG_MAPS, "a", namespace="shop")
        assert (await calls.get(CONFIG_MAPS, "a", namespace="shop")).metadata.deletion_timestamp
    await calls.patch(CONFIG_MAPS, "a", {"metadata": {"finalizers": None}}, namespace="shop")
    assert api.find(CONFIG_MAPS, "a", namespace="shop") is None


async def test_generation_counts_changes_of_the_spec_only() -> None:
    """Labels and status leave it alone; an equal object is not written at all."""
    api = FakeApi()
    api.put(PODS, pod("a"))
    calls = client(api)
    first = await calls.get(PODS, "a", namespace="shop")
    labelled = await calls.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}}, namespace="shop")
    again = await calls.patch(PODS, "a", {"metadata": {"labels": {"x": "y"}}}, namespace="shop")
    gated = await calls.patch(PODS, "a", {"spec": {"priority": 3}}, namespace="shop")
    assert [each.metadata.generation for each in (first, labelled, again, gated)] == [1, 1, 1, 2]
    assert labelled.metadata.resource_version == again.metadata.resource_version
    assert first.metadata.resource_version != labelled.metadata.resource_version


async def test_names_are_generated() -> None:
    """generateName gives a name that nobody has."""
    api = FakeApi()
    made = [await client(api).create(PODS, {"metadata": {"generateName": "web-"}}, namespace="shop") for _ in "ab"]
    assert len({each.metadata.name for each in made}) == 2
    assert all(each.metadata.name.startswith("web-") for each in made)


async def test_dry_runs_leave_no_trace() -> None:
    """An eviction can be tried."""
    api = FakeApi()
    api.put(PODS, pod("a"))
    before = api.store.version
    await client(api).evict("shop", "a", uid=uid_of(api, "a"), dry_run=True)
    assert before == api.store.version


async def test_paths_that_nobody_serves_are_not_found() -> None:
    """Unknown groups, resources and depths."""
    for path in ("/apis/none/v1/things", "/api/v1/things", "/metrics", "/api/v1/namespaces/a/pods/b/c/d"):
        with pytest.raises(ApiError) as caught:
            await client(FakeApi()).call("GET", path)
        assert caught.value.not_found
    with pytest.raises(ApiError) as caught:
        await client(FakeApi()).call("HEAD", "/api/v1/pods")
    assert caught.value.status == 405
    with pytest.raises(ApiError) as caught:
        await client(FakeApi()).call("POST", "/api/v1/namespaces/a/pods", body=b"{")
    assert caught.value.invalid


async def test_bookmark_covers_nothing_that_a_slow_reader_was_not_told() -> None:
    """What changes while a line is taken comes before the bookmark that includes it."""
    api = FakeApi()
    stream = api.stream("/api/v1/configmaps", {"resourceVersion": "0"})
    await anext(stream)
    api.put(CONFIG_MAPS, config_map("a"))
    told = [json.loads(await anext(stream))]
    api.put(CONFIG_MAPS, config_map("b"))
    api.bookmark()
    told += [json.loads(await anext(stream)) for _ in range(2)]
    await stream.aclose()
    versions = [int(line["object"]["metadata"]["resourceVersion"]) for line in told]
    assert versions == sorted(versions)
    names = [line["object"]["metadata"].get("name") for line in told if line["type"] != "BOOKMARK"]
    assert names == ["a", "b"]


def test_routes_tell_namespaces_from_what_is_in_them() -> None:
    """A namespace is both a folder and an object."""
    inside = parse("/api/v1/namespaces/shop/pods/web-0/binding")
    assert inside is not None
    assert (inside.plural, inside.namespace, inside.name, inside.subresource) == ("pods", "shop", "web-0", "binding")
    itself = parse(NAMESPACES.path(name="shop", subresource="status"))
    assert itself is not None
    assert (itself.plural, itself.namespace, itself.name, itself.subresource) == ("namespaces", "", "shop", "status")


MERGES: dict[str, tuple[Any, Any, bool, Any]] = {
    "lists are replaced": ({"a": [1, 2]}, {"a": [3]}, False, {"a": [3]}),
    "null removes": ({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"c": None}}, False, {"b": {}}),
    "an object replaces a value": ({"a": 1}, {"a": {"b": 2}}, False, {"a": {"b": 2}}),
    "conditions merge by type": (
        {"conditions": [{"type": "A", "status": "False"}, {"type": "B"}]},
        {"conditions": [{"type": "A", "status": "True"}, {"type": "C"}]},
        True,
        {"conditions": [{"type": "A", "status": "True"}, {"type": "B"}, {"type": "C"}]},
    ),
    "one of a list is deleted": (
        {"schedulingGates": [{"name": "a"}, {"name": "b"}]},
        {"schedulingGates": [{"name": "a", "$patch": "delete"}]},
        True,
        {"schedulingGates": [{"name": "b"}]},
    ),
}


@pytest.mark.parametrize("case", MERGES)
def test_merge_patches(case: str) -> None:
    """Merge patch and the strategic one, on what we use them for."""
    target, patch, strategic, want = MERGES[case]
    assert want == merge(target, patch, strategic=strategic)


JSON_PATCHES: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "append": ([{"op": "add", "path": "/l/-", "value": 3}], {"l": [1, 2, 3], "o": {}}),
    "insert": ([{"op": "add", "path": "/l/0", "value": 0}], {"l": [0, 1, 2], "o": {}}),
    "remove from a list": ([{"op": "remove", "path": "/l/1"}], {"l": [1], "o": {}}),
    "replace in a list": ([{"op": "replace", "path": "/l/1", "value": 9}], {"l": [1, 9], "o": {}}),
    "remove what is not there": ([{"op": "remove", "path": "/o/x"}], None),
    "replace what is not there": ([{"op": "replace", "path": "/x", "value": 1}], None),
    "add below nothing": ([{"op": "add", "path": "/o/x/y", "value": 1}], None),
    "no path": ([{"op": "add", "path": "l", "value": 1}], None),
    "unknown operation": ([{"op": "move", "path": "/l", "from": "/o"}], None),
    "no index": ([{"op": "remove", "path": "/l/x"}], None),
}


@pytest.mark.parametrize("case", JSON_PATCHES)
def test_json_patches(case: str) -> None:
    """JSON patch as RFC 6902 has it; None: refused."""
    operations, want = JSON_PATCHES[case]
    before: dict[str, Any] = {"l": [1, 2], "o": {}}
    if want is None:
        with pytest.raises(PatchError):
            apply_json(before, operations)
    else:
        assert want == apply_json(before, operations)
    assert before == {"l": [1, 2], "o": {}}


def test_selectors_in_object_form() -> None:
    """None selects nothing, an empty one everything, expressions by their operator."""
    labels = {"app": "web"}
    assert not selects(None, labels)
    assert selects({}, labels)
    for operator, values, want in (
        ("In", ["web"], True),
        ("NotIn", ["web"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
    ):
        expression = {"key": "app", "operator": operator, "values": values}
        assert want == selects({"matchExpressions": [expression]}, labels)
    assert not selects({"matchLabels": {"app": "db"}}, labels)
