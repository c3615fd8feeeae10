"""The simulated life of a cluster, small: the same events for all rules, and the order of the outcome."""

from pathlib import Path
from random import Random

import pytest
from tools.storage_life import RULES, bare_score, live, main, plot, table_text

from tests.disk.scenes import cluster


def test_life_leaves_balance_most_even() -> None:
    """Over a short life the nodes are most uneven under most-free, and the disks least uneven under balance."""
    worlds = {world.rule: world for world in live(250, 5, seed=3)}
    nodes = {rule: sum(worlds[rule].nodes) for rule in RULES}
    disks = {rule: sum(worlds[rule].disks) for rule in RULES}
    assert nodes["balance"] < nodes["most-free"]
    assert disks["balance"] < disks["bare score"]
    assert {len(world.nodes) for world in worlds.values()} == {250}
    assert {tuple(world.homes) for world in worlds.values()} == {tuple(worlds["balance"].homes)}


def test_bare_score_leaves_ties_to_chance() -> None:
    """Of four nodes the two in the middle score alike, so different seeds choose differently."""
    table = cluster({"a": {"d": 1000}, "b": {"d": 1000}, "c": {"d": 500}})
    assert {bare_score(table, 10, 1, Random(seed))[0] for seed in range(20)} == {"a/d", "b/d"}
    assert bare_score(table, 2000, 1, Random(1)) == []


def test_plot_and_table_name_every_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a rule in both."""
    path = tmp_path / "life.svg"
    assert main(["--events", "40", "--nodes", "3", "--lives", "2", "--plot", str(path)]) == 0
    text, drawn = capsys.readouterr().out, path.read_text(encoding="utf-8")
    assert drawn.count("<polyline") == len(RULES)
    assert all(f"| {rule} |" in text and f">{rule}<" in drawn for rule in RULES)
    worlds = live(10, 2, seed=1)
    assert plot(worlds).startswith("<svg")
    assert table_text([worlds]).count("\n") == 4
