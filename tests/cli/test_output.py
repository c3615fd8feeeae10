"""The forms of `-o` as kubectl has them, and `-w`."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.cli.watching import watched
from fairlead.kube.errors import UnreachableError
from fairlead.model.errors import InputError
from tests.cli.clusters import Folder, keeper, node


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), standalone_mode=False)


def test_jsonpath_on_commands_that_answer_with_a_record() -> None:
    """plan, explain, a verb, a comparison: the values and nothing else, without a line end, as kubectl prints."""
    assert run("plan", "-f", "examples/shop", "-o", "jsonpath={.sites[*].cluster}").stdout == "north west"
    first = run("explain", "-f", "examples/shop", "node/west-od-1", "-o", "jsonpath={[0]}").stdout
    assert first.startswith("Node west")
    assert run("place", "-f", "examples/nodes/rack.json", "-o", "jsonpath={.placements.rack10}").stdout == "3"
    assert run("diff", "examples/shop", "examples/shop", "-o", "jsonpath={.moves}").stdout == "0"
    assert "is not understood" in str(run("plan", "-f", "examples/shop", "-o", "jsonpath={.sites[}").exception)


def test_form_that_is_none_lists_them() -> None:
    """As a mistake of usage."""
    told = str(run("plan", "-f", "examples/shop", "-o", "wid").exception)
    assert "'wid' is not one of table, json, yaml, wide, manifests, name, jsonpath=TEMPLATE" in told


def test_wide_adds_kind_priority_and_request_and_names_every_node(tmp_path: Path) -> None:
    """Nodes beyond the few that a table names one by one are all there."""
    nodes = [node(f"{letter}x") for letter in "abcdefghij"]
    here = Folder(tmp_path, *nodes, keeper("Deployment", "web", replicas=10))
    table, wide = here.run("plan", "-o", "table").stdout, here.run("plan", "-o", "wide").stdout
    assert "10 on 10 nodes" in table
    assert "each asks for" not in table
    assert "each asks for" in wide
    assert "jx ×1" in wide
    assert "Deployment" in wide
    assert "cpu 1" in wide


def test_watch_looks_until_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before two seconds, and not so often that the server is kept busy; Ctrl-C is its end."""
    pauses: list[float] = []
    moments = iter([0.0, 0.1, 10.0, 13.0])

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("fairlead.cli.watching.time.sleep", sleep)
    monkeypatch.setattr("fairlead.cli.watching.time.monotonic", lambda: next(moments))
    assert watched(lambda: 1, True, "table") == 0
    assert pauses == [2.0, 12.0]
    assert watched(lambda: 1, False, "table") == 1


def test_watch_outlives_a_server_that_is_away_for_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that was never there ends the command; so does any other mistake."""
    gone = UnreachableError("GET /api/v1/pods", "connection refused")
    looks: list[int | Exception] = [0, gone, 0, InputError("x", "is wrong")]

    def look() -> int:
        found = looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr("fairlead.cli.watching.time.sleep", lambda seconds: None)
    with pytest.raises(InputError):
        watched(look, True, "json")
    assert (looks, capsys.readouterr().err) == ([], f"fairlead: {gone}\n")
    looks.append(gone)
    with pytest.raises(UnreachableError):
        watched(look, True, "json")


@pytest.mark.parametrize("words", [("plan",), ("explain", "shop/web")])
def test_watch_needs_a_cluster(words: tuple[str, ...]) -> None:
    """Files do not change while one looks."""
    told = str(run(*words, "-f", "examples/shop", "-w").exception)
    assert "-w follows a live cluster; expected --cluster" in told


@pytest.mark.parametrize("words", [("plan",), ("explain", "shop/web"), ("ui",)])
@pytest.mark.parametrize("option", ["--context", "--kubeconfig"])
def test_choice_of_a_cluster_without_cluster_is_refused(words: tuple[str, ...], option: str) -> None:
    """A plan of files alone is not the answer to a question about the context production."""
    told = str(run(*words, "-f", "examples/shop", option, "production").exception)
    assert f"{option} chooses a live cluster; expected --cluster" in told
