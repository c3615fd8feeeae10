"""The items of a long JSON list: read without plain values in between, and no differently from objects of their own."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.load import parse_manifests
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.objects.pod import Pod
from fairlead.model.errors import InputError
from tests.kube.things import pod

PLACE = "f items[0]"


def listed(*items: Any) -> bytes:
    """A List as kubectl prints it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, ensure_ascii=False).encode()


def read(raw: bytes) -> list[Manifest | InputError]:
    return list(parse_manifests(raw, "f"))


def sole(raw: bytes) -> Manifest:
    (found,) = read(raw)
    assert isinstance(found, Manifest)
    return found


def of_manifests(raw: bytes) -> Catalogue:
    return catalogue([each for each in read(raw) if isinstance(each, Manifest)])


def test_an_item_tells_what_it_is_and_where() -> None:
    """Place, kind and name come without plain values; those are there for whoever asks."""
    given = pod("a") | {"apiVersion": "v1"}
    found = sole(listed(given))
    assert (found.place, found.kind, found.group, found.version) == (PLACE, "Pod", "", "v1")
    assert (found.namespace, found.name, found.value) == ("shop", "a", given)


def test_an_item_is_the_object_that_it_would_be_alone() -> None:
    """The same pod in a list and as a file of its own."""
    given = pod("a", labels={"app": "ä"}, node="n1")
    alone = of_manifests(json.dumps(given).encode()).of(Pod)
    assert of_manifests(listed(given)).of(Pod) == alone
    assert [each.spec.node_name for each in alone] == ["n1"]


def test_a_null_counts_as_absent() -> None:
    """As in Go: the pod is read."""
    given = pod("a")
    given["spec"]["tolerations"] = None
    given["metadata"]["labels"] = None
    assert [each.metadata.name for each in of_manifests(listed(given)).of(Pod)] == ["a"]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (5, "is not a Kubernetes object; expected a mapping with apiVersion and kind"),
        ({"kind": 3, "apiVersion": "v1"}, "is not a Kubernetes object; expected a mapping with apiVersion and kind"),
        ({"kind": "Pod"}, "Pod has no apiVersion; expected a text such as apps/v1"),
        ({"kind": "Pod", "apiVersion": "v1", "metadata": []}, None),
        ({"kind": "Pod", "apiVersion": "v1", "metadata": "x"}, "Pod: metadata is not a mapping"),
    ],
)
def test_an_item_that_is_no_object_is_named(item: Any, words: str | None) -> None:
    """With its place in the list; the others are read. An empty list for the metadata is as good as none."""
    first, second = read(listed(item, pod("b")))
    assert isinstance(second, Manifest)
    assert isinstance(first, Manifest) if words is None else first.args == InputError(PLACE, words).args


def test_a_mistake_in_an_item_is_told_with_its_field() -> None:
    """The others count."""
    broken = pod("a")
    broken["spec"]["containers"] = "none"
    found = of_manifests(listed(broken, pod("b")))
    assert [each.metadata.name for each in found.of(Pod)] == ["b"]
    (error,) = found.errors
    assert str(error).startswith(f"{PLACE}: Pod a")
    assert "containers" in str(error)


def test_a_list_in_a_list_is_taken_apart() -> None:
    """Its items have both places."""
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a", "namespace": "x"}}]}
    found = sole(listed(inner))
    assert (found.place, found.kind, found.name) == (f"{PLACE} items[0]", "Pod", "a")


def test_a_number_that_nothing_reads_may_be_of_any_size() -> None:
    """It is passed over, and plain values have it as Python reads it."""
    raw = listed(pod("a")).replace(b'"phase"', b'"x": 1e999, "phase"')
    assert sole(raw).value["status"]["x"] == float("inf")
    assert len(of_manifests(raw).of(Pod)) == 1


def test_text_that_is_not_utf_8_is_told_though_nothing_reads_it() -> None:
    """One mistake for the file."""
    (error,) = read(listed(pod("a")).replace(b"main", b"ma\xff"))
    assert isinstance(error, InputError)
    assert "is not UTF-8 text" in str(error)


def test_a_list_that_is_cut_off_is_not_valid_json() -> None:
    """Nothing of it is read twice."""
    (error,) = read(listed(pod("a"), pod("b"))[:-3])
    assert isinstance(error, InputError)
    assert "is not valid JSON" in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4))
def test_any_list_is_read_as_its_items_are(values: list[Any]) -> None:
    """What is unknown, wrong or empty in an item is told of the item, with the words of an object of its own."""
    items = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": value} for value in values]
    for row, item in enumerate(items):
        whole = of_manifests(listed(*items[:row], item))
        alone = catalogue([Manifest(f"f items[{row}]", item)])
        assert [each.args for each in whole.errors if each.path.startswith(f"f items[{row}]: ")] == [
            each.args for each in alone.errors
        ]
        if not whole.errors and not row:
            assert [msgspec.to_builtins(each) for each in whole.of(Pod)] == [
                msgspec.to_builtins(each) for each in alone.of(Pod)
            ]
