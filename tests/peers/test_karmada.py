"""Cases recorded from Karmada's own tests, against the fleet level; each wanted difference has its reason beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.problems import divide
from fairlead.text.documents import strict

RECORDED = json.loads((Path(__file__).parent / "data" / "karmada.json").read_text())["cases"]
SAME = [case for case in RECORDED if "difference" not in case]
DIFFERENT = [case for case in RECORDED if "difference" in case]


def case_id(case: dict[str, Any]) -> str:
    """A readable test id."""
    return str(case["name"])


def solved(problem: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem."""
    typed = strict(problem, divide.PROBLEM)
    return divide.answer(typed, divide.solve(typed))


def placed(counts: dict[str, int]) -> dict[str, int]:
    """Counts without zeros: Karmada drops or lists them, we list every cluster."""
    return {name: count for name, count in counts.items() if count}


def agrees(answer: dict[str, Any], expect: dict[str, Any]) -> bool:
    """Whether the answer is what Karmada's test expects."""
    if "reason" in expect:
        return answer["reason"] is not None
    if "chosen" in expect:
        removed = answer.get("removed", {})
        return sorted(name for name in answer["placements"] if name not in removed) == expect["chosen"]
    allowed = expect.get("anyOf") or [expect["placements"]]
    return placed(answer["placements"]) in [placed(counts) for counts in allowed]


@pytest.mark.parametrize("case", SAME, ids=case_id)
def test_recorded_case_gives_karmada_s_result(case: dict[str, Any]) -> None:
    """The same input, the same result, or a refusal where Karmada refuses."""
    answer = solved(case["problem"])
    assert agrees(answer, case["expect"]), answer


@pytest.mark.parametrize("case", DIFFERENT, ids=case_id)
def test_recorded_difference_is_still_one(case: dict[str, Any]) -> None:
    """A difference that is written down exists, and everything is placed all the same."""
    answer = solved(case["problem"])
    assert not agrees(answer, case["expect"])
    assert answer["reason"] is None


def test_five_equal_clusters_all_win_where_webster_lets_three_never_win() -> None:
    """One replica, five equal clusters, 500 objects: by Webster only the first and the last name win."""
    clusters = [{"name": f"member{number}"} for number in range(1, 6)]
    wins: dict[str, set[str]] = {"webster": set(), "static": set()}
    for mode, winners in wins.items():
        problems = [
            strict(
                {
                    "workload": {"name": "w", "uid": f"uid-{number}", "replicas": 1},
                    "policy": {"mode": mode},
                    "clusters": clusters,
                },
                divide.PROBLEM,
            )
            for number in range(500)
        ]
        for division in divide.solve_many(problems):
            assert isinstance(division, divide.Division)
            winners.update(name for name, count in division.placements.items() if count)
    assert wins["webster"] == {"member1", "member5"}
    assert wins["static"] == {cluster["name"] for cluster in clusters}
