"""JSON patches and read-modify-write."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.errors import ApiError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.patches import JsonPatch, pointer, update
from fairlead.kube.resources import CONFIG_MAPS
from tests.fake import FakeApi
from tests.fake.patching import apply_json
from tests.kube.things import client, config_map


@given(st.lists(st.text(), min_size=1, max_size=4), st.integers())
def test_pointer_reaches_any_name(names: list[str], value: int) -> None:
    """Slashes and tildes in names are escaped: the patch lands where the names say."""
    document: Any = {}
    inner = document
    for name in names[:-1]:
        inner = inner.setdefault(name, {})
    result: Any = apply_json(document, JsonPatch().add(value, *names).operations)
    for name in names:
        result = result[name]
    assert value == result


def test_pointer_escapes() -> None:
    """The two characters of RFC 6901."""
    assert pointer("metadata", "labels", "a/b~c") == "/metadata/labels/a~1b~0c"


async def test_json_patch_with_a_failing_test_changes_nothing() -> None:
    """All operations or none."""
    api = FakeApi()
    api.put(CONFIG_MAPS, config_map("ledger", a="1", b="2"))
    wrong = JsonPatch().add("9", "data", "a").test("not 2", "data", "b").remove("data", "b")
    with pytest.raises(ApiError) as caught:
        await client(api).patch(CONFIG_MAPS, "ledger", wrong.operations, kind="json", namespace="shop")
    assert caught.value.invalid
    assert api.find(CONFIG_MAPS, "ledger", namespace="shop")["data"] == {"a": "1", "b": "2"}  # type: ignore[index]
    right = JsonPatch().add("9", "data", "a").test("2", "data", "b").remove("data", "b")
    got = await client(api).patch(CONFIG_MAPS, "ledger", right.operations, kind="json", namespace="shop")
    assert got.data == {"a": "9"}


def count_up(found: Raw) -> Raw:
    found["data"]["n"] = str(int(found["data"]["n"]) + 1)
    return found


async def test_update_starts_again_when_somebody_was_faster() -> None:
    """No increment is lost, neither theirs nor ours."""
    api, waits = FakeApi(), []  # type: Any
    api.put(CONFIG_MAPS, config_map("ledger", n="0"))

    def faster() -> None:
        found = api.find(CONFIG_MAPS, "ledger", namespace="shop")
        api.put(CONFIG_MAPS, config_map("ledger", n=str(int(found["data"]["n"]) + 10)))

    api.before(faster, method="PUT", times=3)
    got = await update(client(api, waits), CONFIG_MAPS, "ledger", count_up, namespace="shop")
    assert (got["data"]["n"], waits) == ("31", [0.01, 0.02, 0.04])


async def test_update_gives_up_with_the_conflict() -> None:
    """After its attempts it says so and has changed nothing."""
    api = FakeApi()
    api.put(CONFIG_MAPS, config_map("ledger", n="0"))
    api.fail(409, method="PUT", reason="Conflict", times=99)
    with pytest.raises(ApiError) as caught:
        await update(client(api), CONFIG_MAPS, "ledger", count_up, namespace="shop", attempts=3)
    assert caught.value.conflict
    assert [method for method, _ in api.calls].count("PUT") == 3


@pytest.mark.parametrize("mutate", [lambda found: None, lambda found: found], ids=["none", "equal"])
async def test_update_without_a_change_writes_nothing(mutate: Any) -> None:
    """Nothing to do costs one read."""
    api = FakeApi()
    api.put(CONFIG_MAPS, config_map("ledger", n="0"))
    got = await update(client(api), CONFIG_MAPS, "ledger", mutate, namespace="shop")
    assert (got["data"]["n"], [method for method, _ in api.calls]) == ("0", ["GET"])


async def test_update_keeps_fields_that_we_do_not_know() -> None:
    """The whole object is read and written."""
    api = FakeApi()
    api.put(CONFIG_MAPS, config_map("ledger", n="0") | {"immutable": False, "binaryData": {"x": "eQ=="}})
    got = await update(client(api), CONFIG_MAPS, "ledger", count_up, namespace="shop")
    assert (got["binaryData"], got["immutable"]) == ({"x": "eQ=="}, False)
