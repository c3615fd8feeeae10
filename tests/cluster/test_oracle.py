"""Fairlead's filters against kube-scheduler's own, on random clusters: the feasible nodes are the same."""

import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tools.oracle.__main__ import compare, report, smallest
from tools.oracle.clusters import cluster
from tools.oracle.differences import Tally, differences
from tools.oracle.intended import INTENDED
from tools.oracle.ours import opinions
from tools.oracle.process import Admitted, Oracle
from tools.oracle.vocabulary import THEMES

from fairlead.levels.node.constraints import labels
from tests.cluster.intended_clusters import CLUSTERS, NAMED_TWICE_WITH_A_CHOICE

ROOT = Path(__file__).parents[2]
PLUGINS = {
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodePorts",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "SchedulingGates",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
}
"""Those that refuse nodes in the default profile, and that Fairlead implements."""


@pytest.mark.parametrize("seed", [1, 2])
def test_feasible_nodes_are_those_of_kube_scheduler(oracle: Oracle, seed: int) -> None:
    """Some hundred pods on random clusters of all themes: nothing differs that is not meant to."""
    tally = Tally()
    compare(oracle, 400, seed, THEMES, tally)
    assert dict(tally.kinds) == {}, report(tally, seed, 1)
    assert tally.feasible > 100


def test_manifests_are_read_as_the_server_stores_them(oracle: Oracle) -> None:
    """What the API server fills in, Fairlead fills in as well: a manifest is feasible where its stored object is."""
    for number in range(150):
        made = cluster(f"manifests/{number}")
        answer = oracle.ask(made)
        if not answer.invalid:
            written = dict(opinions(msgspec.convert(made, Admitted)))
            assert dict(opinions(answer.admitted)) == written, number


def test_a_wrong_filter_is_found_and_shown_on_a_small_cluster(oracle: Oracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """With node selectors left out, clusters about labels differ, and what has nothing to do with it is dropped."""
    monkeypatch.setattr(labels, "selected", lambda state, shape: np.ones(len(state.names), dtype=np.bool_))
    found = compare(oracle, 200, 1, ("labels", "ports"), Tally())
    kind = next(each for each in found if "NodeAffinity" in each)
    small = smallest(oracle, found[kind][0], kind)
    assert (len(small["pods"]), len(small["nodes"])) == (1, 1)
    assert set(small["pods"][0]["spec"]) & {"nodeSelector", "affinity"}
    assert "tolerations" not in small["pods"][0]["spec"]


def test_clusters_of_a_seed_are_always_the_same() -> None:
    """What a proof has seen can be seen again."""
    assert cluster("7/3") == cluster("7/3") != cluster("7/4")


@pytest.mark.parametrize("code", [each.code for each in INTENDED])
def test_intended_differences_have_a_page(code: str) -> None:
    """Each reason code is explained by a decision page."""
    assert any(f"`{code}`" in page.read_text() for page in (ROOT / "docs" / "decisions").glob("023*.md"))


@pytest.mark.parametrize("code", [each.code for each in INTENDED])
def test_intended_difference_is_recognised(oracle: Oracle, code: str) -> None:
    """A cluster of each cause: the difference is there, and explained by this cause. Chance needs several looks."""
    tally = Tally()
    for _ in range(30):
        assert differences(oracle, CLUSTERS[code], tally) == []
    assert set(tally.intended) == {code}


def test_claim_named_twice_is_recognised_where_chance_chooses_its_volume(oracle: Oracle) -> None:
    """Whether kube-scheduler agrees once the claim is named once is chance too, so it is asked several times."""
    tally = Tally()
    for _ in range(30):
        assert differences(oracle, NAMED_TWICE_WITH_A_CHOICE, tally) == []
    assert set(tally.intended) == {"ClaimsCountOnce"}


@pytest.mark.proof
@pytest.mark.timeout(7200)
def test_hundred_thousand_pairs_have_no_unexplained_difference(oracle: Oracle) -> None:
    """100,000 pods on random clusters of a new seed; the result is written down."""
    seed, tally, begin = int(time.time()), Tally(), time.monotonic()
    compare(oracle, 100_000, seed, THEMES, tally)
    lines = report(tally, seed, time.monotonic() - begin)
    page = ROOT / "docs" / "proof" / f"{time.strftime('%Y-%m-%d')}-oracle.md"
    title = "# Fairlead's filters against kube-scheduler's own\n\nWritten by `make proof`, on a machine of two cores.\n"
    before = page.read_text() if page.exists() else title
    page.write_text(f"{before}\n```\n{lines}\n```\n")
    assert dict(tally.kinds) == {}
    assert set(tally.plugins) >= PLUGINS
