"""The labels of the clouds: which nodes are on demand, what a pod is given, and what stays when nodes go."""

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.admission import patches
from fairlead.kube.admission.rules import exempt, pin_of, requires_on_demand
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED
from fairlead.kube.objects.pod import Pod
from fairlead.levels.tier import reasons
from fairlead.levels.tier.presets import DETECTED, NAMES, PRESETS, TierChoice, combined, detected
from fairlead.levels.tier.split import Policy, policy_of, target_of
from fairlead.model.errors import InputError
from fairlead.model.owners import Exempt, Owner, OwnerKind, TierPin
from fairlead.model.selectors import Operator, Requirement, Toleration
from fairlead.model.tiers import CAPACITY, NO_TIERS, Tiers
from tests.tier.pods import patched, web_pod

KARPENTER, EKS = "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType"
AKS = "kubernetes.azure.com/scalesetpriority"
GKE = "cloud.google.com/gke-"

NODES: dict[str, tuple[dict[str, str], str]] = {
    "the seed's label": ({CAPACITY: "on-demand"}, "on-demand"),
    "the seed's spot": ({CAPACITY: "spot"}, "spot"),
    "gke spot": ({GKE + "spot": "true"}, "spot"),
    "gke not spot, said": ({GKE + "spot": "false"}, "on-demand"),
    "gke preemptible": ({GKE + "preemptible": "true"}, "spot"),
    "gke standard": ({GKE + "provisioning": "standard"}, "on-demand"),
    "gke provisioned as spot": ({GKE + "provisioning": "spot"}, "spot"),
    "gke provisioned as preemptible": ({GKE + "provisioning": "preemptible"}, "spot"),
    "eks on demand": ({EKS: "ON_DEMAND"}, "on-demand"),
    "eks spot": ({EKS: "SPOT"}, "spot"),
    "aks regular": ({AKS: "regular"}, "on-demand"),
    "aks spot": ({AKS: "spot"}, "spot"),
    "karpenter on demand": ({KARPENTER: "on-demand"}, "on-demand"),
    "karpenter reserved": ({KARPENTER: "reserved"}, "on-demand"),
    "karpenter spot": ({KARPENTER: "spot"}, "spot"),
}


@pytest.mark.parametrize("case", NODES)
def test_every_cloud_is_detected_by_its_label(case: str) -> None:
    """One node with the label is enough to know the preset, and the tier of the node."""
    labels, tier = NODES[case]
    assert DETECTED.tiers(labels.keys()).of(labels) == tier


def test_nodes_without_the_clouds_label_are_on_demand() -> None:
    """Clouds mark their spot nodes; only the seed's label has to be there."""
    assert {name: combined((name,)).of({}) for name in NAMES} == {
        name: "other" if name == "fairlead" else "on-demand" for name in NAMES
    }


def test_several_labels_mean_spot_by_none_of_them() -> None:
    """EKS groups beside Karpenter: each condition excludes the spot nodes of one label."""
    tiers = DETECTED.tiers({EKS, KARPENTER, "kubernetes.io/hostname"})
    assert tiers.on_demand == (
        Requirement(EKS, Operator.NOT_IN, ("SPOT",)),
        Requirement(KARPENTER, Operator.NOT_IN, ("spot",)),
    )
    got = [tiers.of(each) for each in ({EKS: "ON_DEMAND"}, {KARPENTER: "spot"}, {EKS: "SPOT"}, {}, {KARPENTER: "x"})]
    assert got == ["on-demand", "spot", "spot", "on-demand", "on-demand"]


def test_the_seeds_label_beside_another_excludes_spot() -> None:
    """Asking for its value would exclude every node that only carries the other label."""
    tiers = DETECTED.tiers({CAPACITY, KARPENTER})
    assert [tiers.of(each) for each in ({KARPENTER: "on-demand"}, {CAPACITY: "spot"})] == ["on-demand", "spot"]


def test_no_label_is_no_tiers_and_no_nodes_is_the_seeds() -> None:
    """Nodes that show nothing are not split; where no nodes are at hand the seed's label holds."""
    assert DETECTED.tiers({"kubernetes.io/hostname"}) == NO_TIERS
    assert DETECTED.tiers(None) == Tiers()
    assert not NO_TIERS.present
    assert NO_TIERS.of({CAPACITY: "on-demand"}) == "other"


def test_known_presets_stay() -> None:
    """A pool that scaled to zero changes nothing, with and without other nodes."""
    before = DETECTED.tiers({KARPENTER})
    assert DETECTED.tiers({"zone"}, ("karpenter",)) == before
    assert DETECTED.tiers(None, ("karpenter",)) == before
    assert DETECTED.tiers({EKS}, ("karpenter",)) == DETECTED.tiers({EKS, KARPENTER})


def test_settings_win_over_nodes() -> None:
    """Conditions of one's own, presets by name, and none at all."""
    own = Tiers(on_demand=(Requirement("pool", Operator.EXISTS),), spot=(Requirement("pool", Operator.IN, ("s",)),))
    assert TierChoice(given=own).tiers({KARPENTER}, ("eks",)) == own
    assert TierChoice(presets=("eks",)).tiers({KARPENTER}, ("karpenter",)) == combined(("eks",))
    assert TierChoice(presets=()).tiers({KARPENTER}, ("karpenter",)) == NO_TIERS
    assert not TierChoice(presets=()).detects
    assert DETECTED.detects
    with pytest.raises(InputError, match="'gcp' is not known; expected some of fairlead, gke-spot"):
        combined(("gcp",))


def test_azures_taint_is_tolerated_by_pods_that_prefer_spot() -> None:
    """And by no other; tolerations of the configuration come on top."""
    mine = Toleration("mine", "Exists")
    assert TierChoice(tolerations=(mine,)).tiers({AKS}).tolerations == (
        Toleration(AKS, "Equal", "spot", "NoSchedule"),
        mine,
    )
    pod = web_pod()
    after = patched(pod, patches.spot(pod, DETECTED.tiers({AKS})))
    wanted = {"key": AKS, "operator": "Equal", "value": "spot", "effect": "NoSchedule"}
    assert after["spec"]["tolerations"] == [wanted]
    assert "tolerations" not in patched(pod, patches.on_demand(pod, DETECTED.tiers({AKS}), slot="s", selector=True))


def test_one_line_tells_the_tiers() -> None:
    """The labels, and how many nodes of each tier."""
    tiers = DETECTED.tiers({KARPENTER})
    assert tiers.sentence(["on-demand"] * 12 + ["spot"] * 40) == f"tiers: {KARPENTER}, 12 on-demand, 40 spot"
    assert Tiers().sentence(["other", "spot"]) == f"tiers: {CAPACITY}, 0 on-demand, 1 spot, 1 neither"
    several = DETECTED.tiers({EKS, KARPENTER}).sentence(["on-demand"])
    assert several == f"tiers: {EKS} and {KARPENTER}, 1 on-demand, 0 spot"
    assert NO_TIERS.sentence(["other"]).startswith("tiers: none, no node carries a label")


def test_without_tiers_single_replicas_are_left_alone() -> None:
    """Also the annotated ones, which are told."""
    policy = policy_of(NO_TIERS)
    assert policy == Policy(tiers=False)
    alone = target_of(Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=1), policy)
    assert (alone.count, alone.finding and alone.finding.reason, alone.warnings) == (None, reasons.NO_TIERS, ())
    asked = target_of(Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=3, min_available="2"), policy)
    assert [each.reason for each in asked.warnings] == [reasons.NO_TIERS]


@pytest.mark.parametrize(
    ("priority", "labels", "want"),
    [
        ("", {}, Exempt.NONE),
        ("high", {"distributed-scheduling/tier": "some"}, Exempt.NONE),
        ("system-node-critical", {}, Exempt.SYSTEM),
        ("system-cluster-critical", {}, Exempt.SYSTEM),
        ("", {"distributed-scheduling/tier": "none"}, Exempt.OPTED_OUT),
    ],
)
def test_system_priorities_and_the_label_exempt(priority: str, labels: dict[str, str], want: Exempt) -> None:
    """Whatever the workload asks for; the label may be on the pod or on the workload."""
    assert exempt(priority, {}, labels) is want
    target = target_of(
        Owner(kind=OwnerKind.DEPLOYMENT, name="dns", replicas=1, min_available="1", exempt=want), Policy()
    )
    assert target.count == (1 if want is Exempt.NONE else None)


def test_a_users_pin_by_one_of_several_labels_is_seen() -> None:
    """A node marked on demand by one label is on demand, though nothing is said about the other."""
    tiers = DETECTED.tiers({EKS, KARPENTER})

    def pin(selector: dict[str, str]) -> TierPin:
        return pin_of(_typed(web_pod(spec={"nodeSelector": selector})).spec, tiers)

    assert pin({KARPENTER: "on-demand"}) is TierPin.ON_DEMAND
    assert pin({KARPENTER: "spot"}) is TierPin.ELSEWHERE
    assert pin({"zone": "a"}) is TierPin.NONE


values = {each.key: [*each.on_demand, *each.spot, None] for each in PRESETS}
names = st.sets(st.sampled_from(NAMES), min_size=1, max_size=3)
expression = st.one_of(
    *(
        st.builds(
            lambda key, operator, value: {"key": key, "operator": operator, "values": [value]},
            st.just(each.key),
            st.sampled_from(["In", "NotIn"]),
            st.sampled_from([*each.on_demand, *each.spot]),
        )
        for each in PRESETS
    )
)
term = st.fixed_dictionaries({}, optional={"matchExpressions": st.lists(expression, max_size=3)})


@given(names, st.lists(term, max_size=3))
def test_required_conditions_narrow_every_term_and_widen_none(chosen: set[str], terms: list[dict[str, Any]]) -> None:
    """After the patch exactly the on-demand nodes among those allowed before are allowed, by brute force."""
    tiers = combined(chosen)
    before = web_pod(spec={"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}})
    after = patched(before, patches.on_demand(before, tiers, slot="s", selector=True))
    keys = [each.key for each in PRESETS if each.name in chosen]
    for row in itertools.product(*(values[key] for key in keys)):
        node = {key: value for key, value in zip(keys, row, strict=True) if value is not None}
        assert _allows(after, node) == (_allows(before, node) and tiers.of(node) == "on-demand")
    assert requires_on_demand(_typed(after).spec, tiers)
    assert patches.on_demand(after, tiers, slot="s", selector=True) == []


@given(names)
def test_spot_is_preferred_by_every_label_once(chosen: set[str]) -> None:
    """One preference a preset; asking again adds none."""
    tiers = combined(chosen)
    pod = web_pod()
    after = patched(pod, patches.spot(pod, tiers))
    assert len(after["spec"]["affinity"]["nodeAffinity"][PREFERRED]) == len(chosen)
    assert patches.spot(after, tiers) == []


@given(st.sets(st.sampled_from([each.key for each in PRESETS])))
def test_detected_are_the_presets_of_the_labels(keys: set[str]) -> None:
    """No more and no fewer, in the order of the presets."""
    assert detected(keys) == tuple(each.name for each in PRESETS if each.key in keys)


def _typed(pod: Any) -> Pod:
    return msgspec.convert(pod, Pod)


def _allows(pod: dict[str, Any], node: dict[str, str]) -> bool:
    """Whether the required affinity and the node selector of a pod allow a node, worked out on plain values."""
    spec = pod["spec"]
    terms = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    chosen = all(node.get(key) == value for key, value in spec.get("nodeSelector", {}).items())
    return chosen and any(
        bool(term.get("matchExpressions"))
        and all(
            (node.get(each["key"]) in each["values"]) == (each["operator"] == "In") for each in term["matchExpressions"]
        )
        for term in terms
    )
