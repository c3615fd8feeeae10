"""The command line fits kubectl's habits: names of kinds, help as a word, rows that can be read."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from fairlead.cli.main import COMMANDS, GROUPS, cli
from tests.cli.test_reading import node, pod, saved


def printed(*words: str) -> str:
    """What a command prints."""
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    assert done.exception is None, done.exception
    return done.stdout


def test_help_is_grouped_and_a_word_too() -> None:
    """Every command once, under its group; `help plan` is `plan --help`."""
    text = printed("help")
    titles = ["Plan and ask:", "One level at a time:", "Run on a cluster:", "Look at a cluster:", "More:"]
    assert [line for line in text.splitlines() if line in titles] == titles
    for name, line in COMMANDS.items():
        assert f"  {name} " in text
        assert line.split(" ")[0] in text
    assert [name for names in GROUPS.values() for name in names if name not in COMMANDS] == []
    assert "Usage: fairlead plan" in printed("help", "plan")


NAMES = ("deploy/web", "deployment/shop/web", "deployments/web", "Deployment/web", "shop/web", "web")


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_has_the_names_that_kubectl_knows(name: str) -> None:
    """Short, plural and long names mean the same."""
    assert printed("explain", "-f", "examples/shop", name) == printed("explain", "-f", "examples/shop", "shop/web")


def test_a_kind_and_a_name_may_be_two_words(tmp_path: Path) -> None:
    """`deploy web`, `no x`, `po x`."""
    assert printed("explain", "-f", "examples/shop", "deploy", "web").startswith("Fleet: shop/web")
    given = saved(tmp_path / "a.json", node("a", "1"), pod("one"))
    for words in (("no/a",), ("nodes/a",), ("node", "a"), ("no", "a")):
        assert printed("explain", "-f", given, *words).startswith("Node a\n")
    assert printed("explain", "-f", given, "po/lab/one") == printed("explain", "-f", given, "pod/lab/one")


def test_rows_are_limited_and_those_that_wait_come_first(tmp_path: Path) -> None:
    """Sixty pods on a node for fifty-nine: fifty rows, the one that waits among them; all on request."""
    given = saved(tmp_path / "a.json", {**node("a", "59")}, *(pod(f"p{row}") for row in range(60)))
    text = (tmp_path / "a.json").read_text().replace('"pods": "10"', '"pods": "99"')
    (tmp_path / "a.json").write_text(text)
    drawn = printed("plan", "-f", given, "-o", "table")
    assert "… and 10 more workloads; --rows 0 lists all" in drawn
    assert drawn.count("lab/p") == 51, "fifty rows and the reason"
    assert printed("plan", "-f", given, "-o", "table", "--rows", "0").count("lab/p") == 61
    waiting = printed("plan", "-f", given, "-o", "table", "--waiting")
    assert waiting.count("lab/p") == 2
    (name,) = printed("plan", "-f", given, "-o", "name", "--waiting").split()
    assert name.startswith("pod/lab/p")
    assert len(printed("plan", "-f", given, "-o", "name").split()) == 60


def test_five_hundred_workloads_print_fifty_rows(tmp_path: Path) -> None:
    """The others are counted in one line."""
    given = saved(tmp_path / "a.json", node("a", "900"), *(pod(f"p{row}") for row in range(500)))
    text = (tmp_path / "a.json").read_text().replace('"pods": "10"', '"pods": "900"')
    (tmp_path / "a.json").write_text(text)
    drawn = printed("plan", "-f", given, "-o", "table")
    assert (drawn.count("lab/p"), "… and 450 more workloads; --rows 0 lists all" in drawn) == (50, True)


def test_auto_is_communism(tmp_path: Path) -> None:
    """Two names of one strategy, in a problem and on a workload."""
    problem = '{"strategy":"%s","count":3,"nodes":[{"name":"a","count":1},{"name":"b"}]}'
    for name in ("auto", "communism"):
        (tmp_path / name).write_text(problem % name)
    assert printed("place", "-f", str(tmp_path / "auto"), "-o", "json") == printed(
        "place", "-f", str(tmp_path / "communism"), "-o", "json"
    )
    lone = pod("one")
    lone["metadata"]["annotations"] = {"fairlead.io/strategy": "auto"}
    given = saved(tmp_path / "a.json", node("a", "1"), lone)
    assert "the fewest replicas of the workload" in printed("explain", "-f", given, "one")
    config = tmp_path / "config.yaml"
    for name in ("auto", "communism"):
        config.write_text(f"apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nscheduler: {{strategy: {name}}}\n")
        told = printed("explain", "-f", given, "one", "--config", str(config))
        assert "the fewest replicas of the workload" in told


def test_strategy_that_is_none_keeps_a_workload_waiting(tmp_path: Path) -> None:
    """As in the live scheduler: it is not placed by a rule that nobody asked for."""
    lone = pod("one")
    lone["metadata"]["annotations"] = {"fairlead.io/strategy": "best"}
    given = saved(tmp_path / "a.json", node("a", "1"), lone)
    told = printed("explain", "-f", given, "one")
    assert "'best' is not a strategy; expected one of auto, communism, global-greedy" in told
