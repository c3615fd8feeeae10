"""Any binding the API server could hand out, however odd: a reason and a sentence, never a defect, and others go on."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from fairlead.kube.codec.decided import ANNOTATION
from fairlead.kube.decode import decode
from fairlead.kube.errors import AnswerError
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.live.fleet import decide as module
from fairlead.live.fleet import messages, report
from fairlead.live.fleet.decide import BindingVerdict, decide
from tests.live.bindings import written

NAMES = ("m1", "m2", "m3", "m4", "gone", "")
ODD = (0, 1, 2, 7, -1, 2**31, 2**32 + 1, 2**53 + 1, 2**62 - 1, 2**62, 2**63 - 1, 2**64, 10**25)

names = st.sampled_from(NAMES)
odd = st.sampled_from(ODD)
text = st.sampled_from(("", "x", "m1", "region", "2026-01-01T00:00:00Z", "not a time", "1e400", "null", "{"))
replicas = st.one_of(st.integers(0, 12), odd)


def maybe(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object in which any field may be missing or null."""
    return st.fixed_dictionaries({}, optional={name: st.one_of(value, st.none()) for name, value in fields.items()})


expressions = st.lists(
    maybe(
        key=st.sampled_from(("pool", "region", "zone", "provider", "odd")),
        operator=st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt")),
        values=st.lists(text, max_size=2),
    ),
    max_size=2,
)
affinities = maybe(
    affinityName=text,
    labelSelector=maybe(matchLabels=st.dictionaries(st.just("pool"), text, max_size=1), matchExpressions=expressions),
    fieldSelector=maybe(matchExpressions=expressions),
    clusterNames=st.lists(names, max_size=3),
    exclude=st.lists(names, max_size=2),
)
schedulings = maybe(
    replicaSchedulingType=st.sampled_from(("Divided", "Duplicated", "Other")),
    replicaDivisionPreference=st.sampled_from(("Weighted", "Aggregated", "Other")),
    weightPreference=maybe(
        staticWeightList=st.lists(maybe(targetCluster=affinities, weight=odd), max_size=3),
        dynamicWeight=st.sampled_from(("", "AvailableReplicas", "Other")),
    ),
)
placements = maybe(
    clusterAffinity=affinities,
    clusterAffinities=st.lists(affinities, max_size=3),
    clusterTolerations=st.lists(maybe(key=text, operator=text, value=text, effect=text), max_size=2),
    spreadConstraints=st.lists(
        maybe(
            spreadByField=st.sampled_from(("cluster", "region", "zone", "provider", "odd", "")),
            spreadByLabel=st.sampled_from(("", "pool")),
            minGroups=odd,
            maxGroups=odd,
        ),
        max_size=2,
    ),
    replicaScheduling=schedulings,
)
counts = st.lists(maybe(name=names, replicas=replicas), max_size=4)
results = maybe(replicas=replicas, mode=text, replicaScheduling=schedulings, clusters=counts)
knobs = st.one_of(
    text,
    maybe(
        mode=st.sampled_from(("static", "webster", "odd")),
        sticky=st.sampled_from(("seed", "most", "none", "odd")),
        ties=st.sampled_from(("uid", "ascending", "descending", "odd")),
        capacityCoefficient=st.sampled_from((0, 0.25, 1, 2, -1, 1e-300, "x")),
        respectRoom=st.booleans(),
        partial=st.booleans(),
        packed=st.booleans(),
        balanceResiduals=st.booleans(),
        clusters=st.dictionaries(names, maybe(min=odd, max=odd), max_size=2),
        unknown=st.none(),
    ).map(json.dumps),
)
bindings = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("odd"), "namespace": st.just("shop"), "generation": st.just(2)},
            optional={
                "annotations": maybe(
                    **{
                        "fairlead.io/divide": knobs,
                        "fairlead.io/last-schedule-result": st.one_of(text, results.map(json.dumps)),
                        ANNOTATION: st.sampled_from(("", "s2:", "r2:00", "x")),
                    }
                )
            },
        ),
        "spec": maybe(
            resource=maybe(kind=text, name=text, uid=text),
            replicas=replicas,
            replicaRequirements=maybe(
                resourceRequest=st.dictionaries(
                    st.sampled_from(("cpu", "memory", "pods", "x/gpu")),
                    st.sampled_from(("0", "1", "100m", "-1", "1e30", "odd", "1Ei", 3)),
                    max_size=2,
                )
            ),
            clusters=counts,
            placement=placements,
            gracefulEvictionTasks=st.lists(maybe(fromCluster=names, replicas=odd), max_size=2),
            rescheduleTriggeredAt=text,
            suspension=maybe(scheduling=st.booleans()),
            schedulerName=st.just("fairlead"),
        ),
    },
    optional={
        "status": maybe(
            schedulerObservedGeneration=odd,
            lastScheduledTime=text,
            lastScheduleResult=results,
            conditions=st.lists(maybe(type=st.just("Scheduled"), reason=text, status=text), max_size=2),
        )
    },
)


def fleet() -> list[KarmadaCluster]:
    """Four clusters with room, regions and a taint among them."""
    summary = {"allocatable": {"pods": "9", "cpu": "4"}, "allocated": {"pods": "2"}}
    found = []
    for number in range(1, 5):
        spec = {"region": f"r{number % 2}", "zone": f"z{number}"}
        taints = {"taints": [{"key": "k", "effect": "NoSchedule"}]} if number == 4 else {}
        body = {"metadata": {"name": f"m{number}", "labels": {"pool": "x"}}, "spec": spec | taints}
        found.append(msgspec.convert(body | {"status": {"resourceSummary": summary}}, KarmadaCluster))
    return found


GOOD = msgspec.convert(
    {
        "metadata": {"name": "good", "namespace": "shop", "generation": 1},
        "spec": {"replicas": 6, "placement": {"replicaScheduling": {}}, "schedulerName": "fairlead"},
    },
    ResourceBinding,
)


def decoded(body: dict[str, Any]) -> ResourceBinding | None:
    """As the watch would hand it out; None where it would not."""
    try:
        return decode(json.dumps(body).encode(), ResourceBinding, "binding")
    except AnswerError:
        return None


@given(bindings)
def test_odd_binding_is_told_why_and_others_go_on(body: dict[str, Any]) -> None:
    """No defect, a reason Karmada knows, replicas that add up; the good one beside it is placed."""
    odd = decoded(body)
    found = [odd] if odd is not None else []
    *verdicts, good = decide([*found, GOOD], fleet())
    assert (good.reason, sum((good.counts or {}).values())) == (messages.SUCCESS, 6)
    for verdict in verdicts:
        check(verdict)


def check(verdict: BindingVerdict) -> None:
    """What holds for every verdict."""
    assert verdict.defect is None, verdict.message
    assert verdict.reason in (
        messages.SUCCESS,
        messages.NO_CLUSTER_FIT,
        messages.UNSCHEDULABLE,
        messages.SCHEDULER_ERROR,
    )
    assert verdict.message
    binding = verdict.binding
    if verdict.counts is None:
        assert report.spec_patch(verdict, field=False) is None
        return
    assert all(count >= 0 for count in verdict.counts.values())
    scheduling = (binding.spec.placement or {}).get("replicaScheduling") or {}
    if verdict.success and scheduling.get("replicaSchedulingType", "Duplicated") != "Duplicated":
        assert sum(verdict.counts.values()) == binding.spec.replicas
    assert json.dumps(report.spec_patch(verdict, field=False))
    assert json.dumps(report.status_patch(verdict, report.as_found(binding), 2, 0.0, field=True))


@given(bindings)
def test_decided_binding_is_settled(body: dict[str, Any]) -> None:
    """What was written is not written again: the next look at it finds nothing to do, or the same words."""
    odd = decoded(body)
    if odd is None:
        return
    (first,) = decide([odd], fleet())
    (second,) = decide([written(first)], fleet())
    assert (second.reason, second.message) == (first.reason, first.message)
    assert report.spec_patch(second, field=False) is None
    assert report.status_is_right(second, field=False)


@pytest.mark.parametrize("culprit", ["divide_all", "binding_ask"])
def test_defect_is_told_and_logged_and_others_go_on(monkeypatch: pytest.MonkeyPatch, culprit: str) -> None:
    """Our own failure on one binding: its type and place in the condition and in the log; the other is placed."""
    real = getattr(module, culprit)

    def broken(asked: Any, *more: Any) -> Any:
        who = asked if culprit == "binding_ask" else asked[0]
        if culprit == "divide_all" or who.metadata.name == "bad":
            raise ZeroDivisionError("made up")
        return real(asked, *more)

    monkeypatch.setattr(module, culprit, broken)
    bad = changed_name(GOOD, "bad")
    with capture_logs() as logs:
        first, second = decide([bad, GOOD], fleet())
    assert second.success
    if culprit == "binding_ask":
        assert isinstance(first.defect, ZeroDivisionError)
        assert "ZeroDivisionError at test_fleet_fuzz.py:" in first.message
    else:
        assert first.success
        assert "ZeroDivisionError at test_fleet_fuzz.py:" in logs[0]["what"]


def changed_name(binding: ResourceBinding, name: str) -> ResourceBinding:
    """The same under another name."""
    return msgspec.structs.replace(binding, metadata=msgspec.structs.replace(binding.metadata, name=name))
