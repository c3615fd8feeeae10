"""The campaign's own parts, and a small run of it in every test run."""

import json
from pathlib import Path
from random import Random

import pytest

from tests.campaign import counts, fuzzing, targets
from tests.campaign.fuzzing import Fuzzed, fuzz, replay
from tests.campaign.mangling import fuzzed, mangled
from tests.campaign.targets import DefectError, called


def test_mangled_inputs_are_answered() -> None:
    """Some hundred inputs reach every target; none sets off a defect."""
    found = fuzz(900, seed=11)
    assert found.defects == []
    assert set(found.ends) == set(fuzzing.SHARES)
    assert found.inputs >= 900


def test_the_same_seed_mangles_the_same_way() -> None:
    """A defect can be found again by its seed."""
    seeds = targets.PROBLEMS["divide"]
    assert fuzzed(Random("1/verbs/2"), seeds) == fuzzed(Random("1/verbs/2"), seeds)
    assert replay("1/wire/2") == replay("1/wire/2")


def test_mangling_changes_and_removes() -> None:
    """Of a hundred mangled problems most differ from the seed, and some lack a field."""
    seed = targets.PROBLEMS["divide"][0]
    made = [mangled(seed, Random(number)) for number in range(100)]
    assert sum(each != seed for each in made) > 60
    assert any(isinstance(each, dict) and "clusters" not in each for each in made)


def test_a_defect_is_told_with_its_seed_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that fails is noted; the other targets still get their inputs."""

    def broken(chance: Random) -> dict[str, int]:
        raise DefectError("on purpose")

    monkeypatch.setattr(targets, "wire", broken)
    monkeypatch.setattr(fuzzing, "SHARES", {"wire": 1, "config": 1})
    found = fuzz(10, seed=3)
    assert found.defects[0] == "3/wire/0: on purpose"
    assert found.ends["wire"]["defect"] == found.ends["config"].total() == 5


def test_a_call_that_ends_in_a_defect_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that reaches the shell, or an exit code nobody promised, is a defect."""

    def raising() -> None:
        raise KeyError("x")

    monkeypatch.setattr(targets, "main", raising)
    with pytest.raises(DefectError, match="fairlead divide: KeyError"):
        called(["divide"], b"")

    def leaving() -> None:
        raise SystemExit(7)

    monkeypatch.setattr(targets, "main", leaving)
    with pytest.raises(DefectError, match="exit code 7"):
        called(["divide"], b"")


def test_runs_add_up_on_the_page(tmp_path: Path) -> None:
    """Two runs: their counts are summed, each has a row, and what was found is listed."""
    for seed, defects in ((1, []), (2, ["2/verbs/9: a|b"])):
        found = Fuzzed(seed=seed, seconds=60.0, defects=defects, memory_mib=(80.0, 81.0))
        found.ends["verbs"]["exit 2"] = 600
        counts.add(counts.fuzz_run(found), tmp_path)
    page = (tmp_path / "campaign.md").read_text()
    assert "| inputs | 1,200 | 1,000,000 |" in page
    assert "| fuzz | 2 | 1.0 | inputs 600, verbs: exit 2 600; 80 MiB after a tenth, 81 MiB at the end | 1 |" in page
    assert "seed 2: 2/verbs/9: a\\|b" in page
    assert [json.loads(line)["seed"] for line in (tmp_path / "campaign.jsonl").read_text().splitlines()] == [1, 2]
