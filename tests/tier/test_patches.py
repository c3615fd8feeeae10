"""What becomes of the node rules that a pod already has."""

from typing import Any

import pytest

from fairlead.kube.admission import patches
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED
from fairlead.model.selectors import Operator, Requirement, Toleration
from fairlead.model.tiers import Tiers
from tests.tier.pods import ON_DEMAND_TERM, SPOT_TERM, node_affinity, patched, pod, web_pod

RULES = Tiers()
ON_DEMAND = ON_DEMAND_TERM["matchExpressions"][0]
ZONE_A = {"key": "zone", "operator": "In", "values": ["a"]}


def _required(*terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


REQUIRED_CASES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "no affinity": ({}, [ON_DEMAND_TERM]),
    "affinity is null": ({"affinity": None}, [ON_DEMAND_TERM]),
    "affinity is empty": ({"affinity": {}}, [ON_DEMAND_TERM]),
    "node affinity is empty": ({"affinity": {"nodeAffinity": {}}}, [ON_DEMAND_TERM]),
    "one term": (_required({"matchExpressions": [ZONE_A]}), [{"matchExpressions": [ZONE_A, ON_DEMAND]}]),
    "two terms": (
        _required({"matchExpressions": [ZONE_A]}, {"matchFields": [{"key": "metadata.name"}]}),
        [
            {"matchExpressions": [ZONE_A, ON_DEMAND]},
            {"matchFields": [{"key": "metadata.name"}], "matchExpressions": [ON_DEMAND]},
        ],
    ),
    "null expressions beside fields": (
        _required({"matchExpressions": None, "matchFields": [{"key": "metadata.name"}]}),
        [{"matchFields": [{"key": "metadata.name"}], "matchExpressions": [ON_DEMAND]}],
    ),
    "null values in an expression": (
        _required({"matchExpressions": [{"key": "zone", "operator": "Exists", "values": None}]}),
        [{"matchExpressions": [{"key": "zone", "operator": "Exists", "values": None}, ON_DEMAND]}],
    ),
    "an empty term stays empty": (
        _required({}, {"matchExpressions": [ZONE_A]}),
        [{}, {"matchExpressions": [ZONE_A, ON_DEMAND]}],
    ),
    "only an empty term: it selects no node, and goes on doing so": (_required({}), [{}]),
    "no terms: no node either": (_required(), []),
    "a term that demands it already": (_required(ON_DEMAND_TERM), [ON_DEMAND_TERM]),
}


@pytest.mark.parametrize(("spec", "want"), REQUIRED_CASES.values(), ids=REQUIRED_CASES)
def test_requirement_is_anded_into_every_term(spec: dict[str, Any], want: list[Any]) -> None:
    """Terms are ORed, so each that can select a node gets the requirement, and none is added."""
    before = web_pod(spec=spec)
    after = patched(before, patches.on_demand(before, RULES, slot="s", selector=False))
    assert want == node_affinity(after)[REQUIRED]["nodeSelectorTerms"]


def test_other_affinities_survive() -> None:
    """Pod affinity and preferred terms are the user's and stay."""
    spec = {"affinity": {"podAntiAffinity": {PREFERRED: []}, "nodeAffinity": {PREFERRED: [{"weight": 1}]}}}
    before = web_pod(spec=spec)
    after = patched(before, patches.on_demand(before, RULES, slot="s", selector=False))
    assert after["spec"]["affinity"]["podAntiAffinity"] == {PREFERRED: []}
    assert node_affinity(after)[PREFERRED] == [{"weight": 1}]


def test_preferred_term_is_appended_once() -> None:
    """The second time there is nothing left to do."""
    before = web_pod(spec={"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 7}]}}})
    after = patched(before, patches.spot(before, RULES))
    assert node_affinity(after)[PREFERRED] == [{"weight": 7}, SPOT_TERM]
    assert patches.spot(after, RULES) == []


def test_spot_tolerations_are_injected_once() -> None:
    """Configured tolerations join those of the user; one that is there already is not repeated."""
    rules = Tiers(tolerations=(Toleration("spot", "Exists"), Toleration("own", "Exists")))
    before = web_pod(spec={"tolerations": [{"key": "own", "operator": "Exists"}]})
    after = patched(before, patches.spot(before, rules))
    assert after["spec"]["tolerations"] == [{"key": "own", "operator": "Exists"}, {"key": "spot", "operator": "Exists"}]
    assert patches.spot(after, rules) == []
    bare = web_pod()
    assert len(patched(bare, patches.spot(bare, rules))["spec"]["tolerations"]) == 2


def test_own_deletion_cost_is_kept() -> None:
    """The user's cost stays; without one it is set, with a slot only."""
    own = web_pod(annotations={"controller.kubernetes.io/pod-deletion-cost": "50"})
    after = patched(own, patches.on_demand(own, RULES, slot="s", selector=False))
    assert after["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] == "50"
    ordinal = pod(name="db-0")
    assert (
        "annotations" not in patched(ordinal, patches.on_demand(ordinal, RULES, slot=None, selector=False))["metadata"]
    )


def test_foreign_slot_is_taken_off_a_spot_pod() -> None:
    """A slot that a template carries is not one that was granted."""
    before = web_pod(annotations={"distributed-scheduling/slot": "copied", "keep": "me"})
    assert patched(before, patches.spot(before, RULES))["metadata"]["annotations"] == {"keep": "me"}


def test_selector_form_falls_back_to_a_term() -> None:
    """A rule that no node selector can say is written as a term, even for a single replica."""
    rules = Tiers(on_demand=(Requirement("cloud/spot", Operator("DoesNotExist")),))
    before = web_pod()
    after = patched(before, patches.on_demand(before, rules, slot="s", selector=True))
    want = [{"matchExpressions": [{"key": "cloud/spot", "operator": "DoesNotExist"}]}]
    assert want == node_affinity(after)[REQUIRED]["nodeSelectorTerms"]
    assert "nodeSelector" not in after["spec"]


def test_gate_is_added_once_and_lifted_alone() -> None:
    """The gate joins those that are there, and goes without them."""
    before = web_pod(spec={"schedulingGates": [{"name": "other"}]})
    after = patched(before, patches.hold(before))
    assert after["spec"]["schedulingGates"] == [{"name": "other"}, {"name": "fairlead.io/tier"}]
    assert after["metadata"]["labels"]["distributed-scheduling/desired-capacity"] == "pending"
    assert patches.hold(after) == []
    assert [each["op"] for each in patches.release(after)] == ["test", "remove"]
    assert patches.release(before) == []


def test_patch_is_minimal() -> None:
    """One operation a place: label, annotations, affinity."""
    before = web_pod()
    paths = [each["path"] for each in patches.on_demand(before, RULES, slot="s", selector=False)]
    assert paths == ["/metadata/labels", "/metadata/annotations", "/spec/affinity"]
    marked = web_pod(labels={"a": "b"}, annotations={"c": "d"})
    escaped = [each["path"] for each in patches.on_demand(marked, RULES, slot="s", selector=False)]
    assert escaped[:2] == [
        "/metadata/labels/distributed-scheduling~1desired-capacity",
        "/metadata/annotations/distributed-scheduling~1slot",
    ]
