"""What holds for every pod: its nodes never grow, a second call changes nothing, sets of labels obey set algebra."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.admission import patches
from fairlead.kube.admission.labels import LabelSet, of_requirement
from fairlead.kube.admission.rules import pin_of, requires_on_demand
from fairlead.kube.objects.affinity import PREFERRED, REQUIRED
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.objects.pod import Pod
from fairlead.levels.tier.split import Policy, TierVerdict, split
from fairlead.model.owners import HeldSlots, Newcomer, Owner, OwnerKind, TierPin
from fairlead.model.tiers import Tiers
from tests.tier.pods import CAPACITY, NODES, eligible, patched, web_pod

RULES = Tiers()
VALUES = ("on-demand", "spot", "other")

capacity = st.one_of(
    st.builds(
        lambda operator, values: {"key": CAPACITY, "operator": operator, "values": values},
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True),
    ),
    st.sampled_from([{"key": CAPACITY, "operator": operator} for operator in ("Exists", "DoesNotExist")]),
)
zone = st.builds(lambda value: {"key": "zone", "operator": "In", "values": [value]}, st.sampled_from(["a", "b"]))
field = st.builds(
    lambda name: {"key": "metadata.name", "operator": "In", "values": [name]}, st.sampled_from(sorted(NODES))
)
term = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(st.one_of(capacity, zone), max_size=3),
        "matchFields": st.lists(field, max_size=1),
    },
)
spec = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": st.dictionaries(st.sampled_from([CAPACITY]), st.sampled_from(VALUES), max_size=1),
        "affinity": st.fixed_dictionaries(
            {},
            optional={
                "nodeAffinity": st.fixed_dictionaries(
                    {},
                    optional={
                        REQUIRED: st.fixed_dictionaries({"nodeSelectorTerms": st.lists(term, max_size=3)}),
                        PREFERRED: st.lists(
                            st.fixed_dictionaries({"weight": st.integers(1, 100), "preference": term}), max_size=2
                        ),
                    },
                )
            },
        ),
    },
)


def _typed(pod: Any) -> Pod:
    return msgspec.convert(pod, Pod)


@given(spec, st.booleans())
def test_on_demand_patch_narrows_to_on_demand_nodes(given_spec: dict[str, Any], selector: bool) -> None:
    """Exactly the on-demand nodes among those allowed before are allowed after, and the pod then holds its slot."""
    before = web_pod(spec=given_spec)
    after = patched(before, patches.on_demand(before, RULES, slot="s", selector=selector))
    want = [name for name in eligible(before) if NODES[name].get(CAPACITY) == "on-demand"]
    assert want == eligible(after)
    assert requires_on_demand(_typed(after).spec, RULES)
    assert patches.on_demand(after, RULES, slot="s", selector=selector) == []


@given(spec)
def test_spot_patch_leaves_the_nodes_as_they_are(given_spec: dict[str, Any]) -> None:
    """Preferring never excludes or admits a node, and is said once."""
    before = web_pod(spec=given_spec)
    after = patched(before, patches.spot(before, RULES))
    assert eligible(before) == eligible(after)
    assert patches.spot(after, RULES) == []


@given(spec)
def test_pin_agrees_with_the_nodes(given_spec: dict[str, Any]) -> None:
    """A pin that excludes on-demand leaves none of them; a pin to on-demand leaves nothing else."""
    pod = web_pod(spec=given_spec)
    tiers = {NODES[name].get(CAPACITY) for name in eligible(pod)}
    pin = pin_of(_typed(pod).spec, RULES)
    assert pin is not TierPin.ELSEWHERE or "on-demand" not in tiers
    assert pin is not TierPin.ON_DEMAND or tiers <= {"on-demand"}


label_sets = st.builds(LabelSet, st.frozensets(st.sampled_from("abc")), st.booleans(), st.booleans())
STATES = ("a", "b", "c", "z", None)


def _has(allowed: LabelSet, state: str | None) -> bool:
    return allowed.absent if state is None else (state in allowed.values) is not allowed.others


@given(label_sets, label_sets)
def test_label_sets_meet_and_compare_as_sets_do(one: LabelSet, other: LabelSet) -> None:
    """Intersection, emptiness and inclusion agree with looking at every state of the label."""
    assert [_has(one, state) and _has(other, state) for state in STATES] == [
        _has(one & other, state) for state in STATES
    ]
    assert one.empty is (not any(_has(one, state) for state in STATES))
    assert one.within(other) is all(_has(other, state) for state in STATES if _has(one, state))


def test_numeric_operators_are_read_as_some_value() -> None:
    """Gt and Lt say that the label is there; which values pass is left open."""
    assert of_requirement(RequirementSpec(key="k", operator="Gt", values=("3",))) == LabelSet(frozenset(), True, False)


@given(st.integers(0, 12), st.integers(0, 15), st.integers(0, 15), st.integers(0, 15))
def test_split_never_grants_beyond_the_target(replicas: int, minimum: int, stored: int, reserved: int) -> None:
    """On demand only below min(M, N), spot only when stored replicas alone fill it; in between: ask again."""
    owner = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=replicas, min_available=str(minimum))
    got = split(Newcomer(), owner, HeldSlots(stored=stored, reserved=reserved), Policy(single_replica=False))
    target = min(minimum, replicas)
    if replicas == 0:
        assert got.verdict is TierVerdict.UNMANAGED
    elif stored + reserved < target:
        assert got.verdict is TierVerdict.ON_DEMAND
    else:
        assert got.verdict is (TierVerdict.SPOT if stored >= target else TierVerdict.RETRY)
