"""Bad input to every verb: one line with the place and what was expected, exit code 2, nothing on standard output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

VERBS = {
    "divide": {"workload": {"name": "w", "replicas": 3}, "clusters": [{"name": "a"}]},
    "share": {"total": {"cpu": "4"}, "queues": [{"name": "q"}], "jobs": [{"name": "j", "queue": "q", "replicas": 1}]},
    "place": {"strategy": "communism", "count": 1, "nodes": [{"name": "a", "capacity": 3}]},
    "balance": {"size": 1, "nodes": [{"name": "a", "disks": [{"name": "d", "usable": 5}]}]},
}
"""The least that each verb accepts."""


def fairlead(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *words], input=stdin, capture_output=True, timeout=200, check=False
    )


def refused(done: subprocess.CompletedProcess[bytes], *wants: str) -> None:
    """One line on standard error that names the place; exit code 2; nothing else."""
    text = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b""), text
    assert text.startswith("fairlead: ")
    assert text.count("\n") == 1
    assert len(text) < 400
    assert "Traceback" not in text
    for want in wants:
        assert want in text


TEXTS: dict[str, tuple[bytes, str]] = {
    "broken YAML": (b"a: [1,\nb: 2\n", "-:2: is not valid YAML"),
    "broken JSON": (b'{"a": 1,}', "is not valid JSON"),
    "a list": (b"[1, 2]", "expected"),
    "a number": (b"12", "expected"),
    "an unknown field": (b'{"sideways": 1}', "sideways"),
    "binary": (bytes(range(256)), "expected JSON or YAML"),
    "nothing": (b"", "is empty"),
    "deep nesting": (b"[" * 100_000, "nested too deeply"),
    "not a number": (b'{"count": NaN}', "NaN"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_problem(verb: str, name: str) -> None:
    """Whatever the text, the verb says what is wrong with it."""
    raw, want = TEXTS[name]
    refused(fairlead(verb, "-f", "-", stdin=raw), want)


@pytest.mark.parametrize("verb", VERBS)
def test_missing_file(verb: str) -> None:
    """The path that is not there is named."""
    refused(fairlead(verb, "-f", "/no/such/file"), "/no/such/file", "no such file")


@pytest.mark.parametrize("verb", VERBS)
def test_directory_where_a_problem_is_expected(verb: str, tmp_path: Path) -> None:
    """A directory without manifests is not a problem."""
    done = fairlead(verb, "-f", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert str(tmp_path) in done.stderr.decode()


WRONG = {
    "a negative amount": ("share", ["total", "cpu"], "-4", "negative"),
    "an amount that overflows": ("share", ["total", "cpu"], "9999999999999E", "too large"),
    "an amount that is no amount": ("balance", ["size"], "much", "quantity"),
    "a negative weight": ("divide", ["clusters", 0, "weight"], -1, "$.clusters[0].weight"),
    "a negative count": ("place", ["count"], -1, "$.count"),
    "an unknown strategy": ("place", ["strategy"], "magic", "$.strategy"),
    "a word for a number": ("divide", ["workload", "replicas"], "three", "$.workload.replicas"),
    "an unknown field inside": ("place", ["nodes", 0, "colour"], "red", "$.nodes[0]"),
    "replicas beyond reason": ("divide", ["workload", "replicas"], 10**30, "$.workload.replicas"),
}


@pytest.mark.parametrize("name", WRONG)
def test_value_that_cannot_be_is_told_with_its_path(name: str) -> None:
    """The JSON path leads to the mistake."""
    verb, path, value, want = WRONG[name]
    problem = json.loads(json.dumps(VERBS[verb]))
    inner = problem
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    refused(fairlead(verb, "-f", "-", stdin=json.dumps(problem).encode()), want)


@pytest.mark.parametrize("verb", VERBS)
def test_least_problem_is_solved(verb: str) -> None:
    """What the other tests break is right as it stands."""
    done = fairlead(verb, "-f", "-", "-o", "json", stdin=json.dumps(VERBS[verb]).encode())
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["unplaced"] == 0


@pytest.mark.parametrize("verb", VERBS)
def test_many_problems_one_bad_the_others_go_on(verb: str) -> None:
    """The bad line yields an error record in its place, and the exit code is the highest."""
    good = json.dumps(VERBS[verb])
    done = fairlead(verb, "-f", "-", "-o", "json", stdin=f'{good}\n{{"sideways": 1}}\n{good}\n'.encode())
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert ["error" in record for record in records] == [False, True, False]
    assert "sideways" in records[1]["error"]["message"]


@pytest.mark.parametrize("bad", ["not json", "null", "7", "[]", '{"open"'])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_many_problems_one_line_no_object_the_others_go_on(bad: str, row: int) -> None:
    """The bad line may be any text and stand anywhere: it alone is an error record."""
    lines = [json.dumps(VERBS["divide"])] * 2
    lines.insert(row, bad)
    done = fairlead("divide", "-f", "-", "-o", "json", stdin="\n".join(lines).encode())
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 2
    assert ["error" in record for record in records] == [each == row for each in range(3)]
    assert records[row]["error"]["path"].startswith(f"-:{row + 1}")


def test_annotation_with_half_a_character_is_told_with_its_object() -> None:
    """JSON can name one half of a wide character, which is no text: one line about the binding, no traceback."""
    notes = {"fairlead.io/divide": "\ud800"}
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": "web", "namespace": "shop", "annotations": notes},
        "spec": {"replicas": 3},
    }
    cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "a"}}
    done = fairlead("divide", "-f", "-", stdin=f"{json.dumps(binding)}\n{json.dumps(cluster)}".encode())
    refused(done, "shop/web: annotation fairlead.io/divide: is not UTF-8 text")


def test_large_files_are_refused_in_one_line(tmp_path: Path) -> None:
    """Fifty megabytes of one word, and of noise: told in one short line."""
    words = tmp_path / "words.yaml"
    words.write_bytes(b"word " * 10_000_000)
    refused(fairlead("place", "-f", str(words)), str(words))
    noise = tmp_path / "noise.bin"
    noise.write_bytes(os.urandom(50_000_000))
    done = fairlead("plan", "-f", str(noise))
    assert done.returncode == 2
    assert "expected JSON or YAML" in done.stderr.decode()
