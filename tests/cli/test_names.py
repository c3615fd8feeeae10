"""How workloads and nodes are called in a table."""

from pathlib import Path

import pytest

from fairlead.pictures.counts import counts_text, names_text
from tests.cli.clusters import Folder, keeper, node

NAMES = {
    "one stem": (["od-1", "od-2", "spot-7"], "od-1,2, spot-7"),
    "a stem that is a name too": (["redis", "redis2", "redis3"], "redis, redis2,3"),
    "a number in front": (["7", "8"], "7,8"),
    "none": ([], ""),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_that_differ_in_their_last_number_share_the_rest(case: str) -> None:
    """A name without a number shares with no other."""
    names, want = NAMES[case]
    assert names_text(names) == want


def test_targets_without_a_number_share_with_no_other() -> None:
    """Not `node,1`."""
    assert counts_text({"node": 1, "node1": 1, "node2": 1}) == "node ×1, node1,2 ×1"


def test_workloads_of_one_name_are_told_apart_by_kind(tmp_path: Path) -> None:
    """In the rows and under them; a name that is one workload's stays short."""
    kinds = (("Deployment", "web"), ("StatefulSet", "web"), ("Deployment", "web2"))
    nowhere = {"nodeSelector": {"disk": "fast"}}
    here = Folder(tmp_path, node("n1"), *(keeper(kind, name, replicas=1, pods=nowhere) for kind, name in kinds))
    drawn = here.run("plan", "-o", "table").stdout
    assert [line.split()[0] for line in drawn.splitlines()[2:5]] == [
        "deployment/shop/web", "shop/web2", "statefulset/shop/web",
    ]  # fmt: skip
    assert "! deployment/shop/web, shop/web2, statefulset/shop/web: 1 of 1 found no node" in drawn
    assert here.run("explain", "statefulset/shop/web").stdout.startswith("StatefulSet shop/web: 1 replica")
