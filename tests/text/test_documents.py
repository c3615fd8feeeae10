"""Text to documents: JSON, JSON lines, YAML, and every way they can be broken."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.text import documents as module
from fairlead.text.documents import Document, documents, strict


def read(text: str | bytes) -> list[Any]:
    """The values of a text, errors as their sentences."""
    raw = text.encode() if isinstance(text, str) else text
    return [found.value if isinstance(found, Document) else str(found) for found in documents(raw, "in")]


class Cluster(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    weight: int = 1


class Problem(msgspec.Struct, forbid_unknown_fields=True):
    clusters: list[Cluster]


CASES: dict[str, tuple[str | bytes, list[Any]]] = {
    "one JSON object over several lines": ('{\n "a": 1\n}', [{"a": 1}]),
    "a byte order mark is skipped": (b'\xef\xbb\xbf{"a": 1}', [{"a": 1}]),
    "JSON lines": ('{"a": 1}\n\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
    "a broken line among JSON lines leaves the others alone": (
        '{"a": 1}\n{"a": }\n{"a": 3}',
        [{"a": 1}, "in:2: is not valid JSON: Expecting value: line 1 column 7 (char 6)", {"a": 3}],
    ),
    "words among JSON lines leave the others alone": (
        '{"a": 1}\nnot json\n{"a": 3}',
        [{"a": 1}, "in:2: is not valid JSON: Expecting value: line 1 column 1 (char 0)", {"a": 3}],
    ),
    "words before JSON lines leave the others alone": (
        'not json\n{"a": 2}\n{"a": 3}',
        ["in:1: is not valid JSON: Expecting value: line 1 column 1 (char 0)", {"a": 2}, {"a": 3}],
    ),
    "other values among JSON lines are values": ('{"a": 1}\r\n[2]\r\n3\r\n', [{"a": 1}, [2], 3]),
    "a line separator of Unicode inside a text ends no line": (
        '{"a": "\u2028"}\n{"a": "\u0085"}',
        [{"a": "\u2028"}, {"a": "\u0085"}],
    ),
    "a mark or a comment above JSON is YAML": ('# two\n---\n{"a": 1}\n---\n{"a": 2}', [{"a": 1}, {"a": 2}]),
    "a comment above one object of JSON is YAML": ('# one\n{"a": 1}', [{"a": 1}]),
    "a mistake in one object is told once": (
        '{"a": 1,\n "b" 2}',
        ["in: is not valid JSON: Expecting ':' delimiter: line 2 column 6 (char 14)"],
    ),
    "a key twice in JSON": ('{"a": 1, "a": 2}', ["in: is not valid JSON: the key 'a' is there twice in one object"]),
    "NaN is not a number": ('{"a": NaN}', ["in: is not valid JSON: NaN is not a number"]),
    "YAML documents": ("a: 1\n---\nb: 2\n---\n", [{"a": 1}, {"b": 2}]),
    "YAML numbers and words as Kubernetes reads them": (
        "a: 1e3\nb: 010\nc: yes\nd: 2020-01-01\ne: 1:30\nf: '5'\ng: 1_000\nh: 0x1f\ni: .5\nj: -3\nk: +5\nl: 0o17\nm: ~",
        [
            {
                "a": 1000.0,
                "b": 8,
                "c": True,
                "d": "2020-01-01",
                "e": "1:30",
                "f": "5",
                "g": "1_000",
                "h": 31,
                "i": 0.5,
                "j": -3,
                "k": 5,
                "l": 15,
                "m": None,
            }
        ],
    ),
    "YAML merges": ("a: &x {p: 1}\nb:\n  <<: *x\n  q: 2", [{"a": {"p": 1}, "b": {"p": 1, "q": 2}}]),
    "YAML keys are texts, as Kubernetes has them": (
        "0: a\n0x1f: b\n1.5: c\n2.0: d\nyes: e\n'off': f\n-3: {4: g}",
        [{"0": "a", "31": "b", "1.5": "c", "2": "d", "true": "e", "off": "f", "-3": {"4": "g"}}],
    ),
    "YAML keys of a merge are texts": ("a: &x {0: 1}\nb:\n  <<: *x\n  1: 2", [{"a": {"0": 1}, "b": {"0": 1, "1": 2}}]),
    "a YAML key twice, as a number and as a text": (
        "a: 1\nb: {0x1: 2, '1': 3}",
        ["in:2: is not valid YAML: the key '1' is there twice"],
    ),
    "a YAML key twice, as two numbers that are one": (
        "a: 1\nb: {0x1: 2, 1: 3}",
        ["in:2: is not valid YAML: the key '1' is there twice"],
    ),
    "a YAML number and a boolean are two keys": ("1: a\ntrue: {0: b}", [{"1": "a", "true": {"0": "b"}}]),
    "a YAML key of a merge gives way to its text": (
        "a: &x {0: 1}\nb:\n  <<: *x\n  '0': 2",
        [{"a": {"0": 1}, "b": {"0": 2}}],
    ),
    "a YAML number of thousands of digits": (
        f"a: 1\nb: 0x{'f' * 5000}",
        ["in:2: is not valid YAML: a number of 5002 digits"],
    ),
    "a key twice in YAML": ("a: 1\nb: 2\na: 3", ["in:3: is not valid YAML: the key 'a' is there twice"]),
    "an open bracket in YAML": ("a: [1,\nb: 2", ["in:2: is not valid YAML: did not find expected ',' or ']'"]),
    "a good YAML document before a broken one is kept": (
        "a: 1\n---\nb: *nobody",
        [{"a": 1}, "in:3: is not valid YAML: found undefined alias"],
    ),
    "a control character in YAML": (
        "a: \x07",
        ["in: is not valid YAML: unacceptable character #x0007: control characters are not allowed"],
    ),
    "a tag that would run code is refused": (
        "a: !!python/object/apply:os.system [x]",
        [
            "in:1: is not valid YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/object/apply:os.system'"
        ],
    ),
    "binary": (b"\x00\x01\x02", ["in: a NUL byte: this is a binary file; expected JSON or YAML"]),
    "not UTF-8": (b"a: \xff", ["in: byte 3 is not UTF-8 text; expected JSON or YAML"]),
    "nothing": ("  \n", ["in: is empty; expected JSON or YAML"]),
    "nested too deeply": ("[" * 100_000, ["in: is not valid JSON: nested too deeply"]),
    "YAML brackets nested too deeply": (
        "a: " + "[" * 200_000,
        ["in: is not valid YAML: nested more than 500 levels deep"],
    ),
    "YAML lists nested too deeply": ("- " * 200_000 + "x", ["in: is not valid YAML: nested more than 500 levels deep"]),
    "many YAML brackets side by side": ("a: [" + "[], " * 600 + "]", [{"a": [[]] * 600}]),
    "aliases that stand for billions": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        ["in:1: is not valid YAML: its aliases expand too far"],
    ),
    "a value that holds itself": ("a: &a [*a]", ["in:1: is not valid YAML: its aliases expand too far"]),
    "a mistake after many brackets": (
        "a: [" + "[], " * 600 + "\n",
        ["in:1: is not valid YAML: did not find expected node content"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_documents(name: str) -> None:
    """Each text gives its values, or one line that says where and what."""
    text, want = CASES[name]
    assert read(text) == want


def test_documents_beyond_the_size_limit_are_refused_unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size is checked first, so that a huge file cannot take the memory of the machine."""
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    assert read('{"a": 1234567890}') == ["in: 17 bytes; expected at most 10"]


def test_documents_of_yaml_know_their_line() -> None:
    """A message about the second document points at its first line."""
    assert [found.place for found in documents(b"a: 1\n---\nb: 2", "in") if isinstance(found, Document)] == [
        "in:1",
        "in:3",
    ]


@given(st.binary(max_size=60))
def test_documents_of_any_bytes_end_in_values_or_errors(raw: bytes) -> None:
    """Nothing but documents and one-line errors comes out of arbitrary bytes."""
    for found in documents(raw, "in"):
        assert isinstance(found, Document) or "\n" not in str(found)


def test_strict_names_the_path() -> None:
    """Unknown fields and wrong types are told with their JSON path."""
    assert strict({"clusters": [{"name": "a"}]}, Problem).clusters[0].weight == 1
    with pytest.raises(InputError) as caught:
        strict({"clusters": [{"name": "a", "weight": "x"}]}, Problem)
    assert str(caught.value) == "$.clusters[0].weight: expected int, got str"
    with pytest.raises(InputError) as caught:
        strict({"clusters": [], "wieght": 1}, Problem)
    assert str(caught.value) == "$: object contains unknown field wieght; expected one of clusters"


class Node(msgspec.Struct, forbid_unknown_fields=True):
    cores: dict[str, int] = {}
    volumes: dict[str, Cluster | int] = {}
    held: dict[str, dict[str, int]] = {}


class Rack(msgspec.Struct, forbid_unknown_fields=True):
    nodes: list[Node]


KEYS: dict[str, tuple[Any, str]] = {
    "a member": ([{"cores": {"0": 1}}, {"cores": {"0": 1, "7": "x"}}], "$.nodes[1].cores.7: expected int, got str"),
    "the first of several": ([{"cores": {"3": 1, "1": "x", "2": "x"}}], "$.nodes[0].cores.1: expected int, got str"),
    "an unknown field in a member": (
        [{"volumes": {"/a": 3, "/b.c": {"name": "v", "wieght": 2}}}],
        "$.nodes[0].volumes./b.c: object contains unknown field wieght; did you mean weight?",
    ),
    "a member of a member": (
        [{"held": {"x": {"/a": 1}, "y": {"/a": 1, "/b": None}}}],
        "$.nodes[0].held.y./b: expected int, got null",
    ),
    "a mistake after a mapping that is right": (
        [{"cores": {"0": 1}, "held": {"x": 3}}],
        "$.nodes[0].held.x: expected object, got int",
    ),
    "a key that is no text": ([{"cores": {0: 1}}], "$.nodes[0].cores: a key: expected str, got int"),
}


@pytest.mark.parametrize("name", KEYS)
def test_strict_names_the_key_of_a_mapping(name: str) -> None:
    """Of many cores or volumes, which one is wrong."""
    value, want = KEYS[name]
    with pytest.raises(InputError) as caught:
        strict({"nodes": value}, Rack)
    assert str(caught.value) == want
