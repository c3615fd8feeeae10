"""The flow from a review to its answer: what is recognised, what is refused, and with which words."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.admission import admit
from fairlead.kube.admission.review import ReviewRequest, decode, patch_of
from fairlead.kube.admission.rules import pin_of, requires_on_demand
from fairlead.kube.admission.validate import validate
from fairlead.kube.objects.pod import Pod
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Policy as TierPolicy
from fairlead.levels.tier.split import Split, TierVerdict, split
from fairlead.model.errors import InputError
from fairlead.model.owners import HeldSlots, Newcomer, Owner, OwnerKind, TierPin
from fairlead.model.selectors import Operator, Requirement
from fairlead.model.tiers import Tiers
from tests.tier.pods import pod, reference, review, web_pod, workload

RULES = Tiers()


def _request(obj: Any, **more: Any) -> ReviewRequest:
    return decode(msgspec.json.encode(review(obj, **more))).request


def _code(found: Any) -> str:
    assert isinstance(found, Split)
    return found.rule.code


BEGIN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an update": (web_pod(), {"operation": "UPDATE"}, "NotCreated"),
    "a subresource": (web_pod(), {"subResource": "eviction"}, "NotCreated"),
    "nothing asked": (web_pod(), {"operation": ""}, "NotCreated"),
    "a bare pod": (pod(name="x"), {}, "NoController"),
    "labels are null": (pod(name="x", labels=None, ownerReferences=None), {}, "NoController"),
    "an owner that does not control": (
        pod(owner=reference("ReplicaSet", "a", "b", controller=False)),
        {},
        "NoController",
    ),
    "a mirror pod": (pod(name="x", annotations={"kubernetes.io/config.mirror": "h"}), {}, "Mirror"),
    "a DaemonSet's pod": (pod(owner=reference("DaemonSet", "a", "b")), {}, "OwnerKind"),
    "a Job's pod": (pod(owner=reference("Job", "a", "b")), {}, "OwnerKind"),
    "a ReplicaSet of somebody else's API": (
        pod(owner=reference("ReplicaSet", "a", "b") | {"apiVersion": "example.com/v1"}),
        {},
        "OwnerKind",
    ),
}


@pytest.mark.parametrize(("obj", "more", "want"), BEGIN.values(), ids=BEGIN)
def test_pods_that_are_not_ours_are_left_alone(obj: Any, more: dict[str, Any], want: str) -> None:
    """The pod alone tells that it is not to be split."""
    assert want == _code(admit.begin(_request(obj, **more), RULES))


def test_two_owners_the_controller_counts() -> None:
    """Of several owner references the controlling one is followed."""
    obj = web_pod()
    obj["metadata"]["ownerReferences"].insert(0, reference("ConfigMap", "x", "y", controller=False))
    asking = admit.begin(_request(obj), RULES)
    assert isinstance(asking, admit.Asking)
    assert asking.controller.name == "web-1"


BAD: dict[str, Any] = {
    "no object": None,
    "a list": [],
    "labels are a number": {"metadata": {"labels": 3}},
    "affinity is a list": {"metadata": {}, "spec": {"affinity": []}},
}


@pytest.mark.parametrize("obj", BAD.values(), ids=BAD)
def test_object_that_is_no_pod_is_bad_input(obj: Any) -> None:
    """What cannot be read is told with its place, never guessed at."""
    with pytest.raises(InputError) as raised:
        admit.begin(_request(obj), RULES)
    assert raised.value.path.startswith("$.request.object")


BODIES = {
    "not JSON": b"{",
    "not text": b"\xff\xfe",
    "another kind": b'{"apiVersion":"admission.k8s.io/v1","kind":"Other","request":{"uid":"1"}}',
    "an old version": b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1"}}',
    "no request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    "uid is a number": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}}',
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_body_that_is_no_review_is_bad_input(body: bytes) -> None:
    """Any bytes give a review or an error of ours."""
    with pytest.raises(InputError):
        decode(body)


def _resolved(objects: dict[str, Any], obj: dict[str, Any]) -> Any:
    asking = admit.begin(_request(obj), RULES)
    assert isinstance(asking, admit.Asking)
    steps = admit.resolve(asking)
    lookup = next(steps)
    try:
        while True:
            lookup = steps.send(objects.get(lookup.kind))
    except StopIteration as end:
        return end.value


def _object(kind: str, **more: Any) -> Any:
    from fairlead.kube.manifests.tier import KINDS

    return msgspec.convert(workload(kind, **more), KINDS[kind])


REPLICA_SET = {"name": "web-1", "uid": "rs-1", "controller": reference("Deployment", "web", "dep-1")}


def test_owner_is_found_through_the_replica_set() -> None:
    """The numbers are those of the Deployment, not of the ReplicaSet."""
    objects = {
        "ReplicaSet": _object("ReplicaSet", **REPLICA_SET, replicas=99),
        "Deployment": _object("Deployment", name="web", uid="dep-1", replicas=5, minimum="2"),
    }
    want = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=5, min_available="2")
    assert want == _resolved(objects, web_pod())


MISSING: dict[str, tuple[dict[str, Any], str]] = {
    "no ReplicaSet": ({}, "OwnerNotFound"),
    "a ReplicaSet of the same name": (
        {"ReplicaSet": _object("ReplicaSet", **(REPLICA_SET | {"uid": "new"}))},
        "OwnerNotFound",
    ),
    "a ReplicaSet of its own": ({"ReplicaSet": _object("ReplicaSet", name="web-1", uid="rs-1")}, "NoDeployment"),
    "a ReplicaSet of a Rollout": (
        {"ReplicaSet": _object("ReplicaSet", **(REPLICA_SET | {"controller": reference("Rollout", "web", "ro")}))},
        "NoDeployment",
    ),
    "no Deployment": ({"ReplicaSet": _object("ReplicaSet", **REPLICA_SET)}, "OwnerNotFound"),
    "a Deployment of the same name": (
        {
            "ReplicaSet": _object("ReplicaSet", **REPLICA_SET),
            "Deployment": _object("Deployment", name="web", uid="other"),
        },
        "OwnerNotFound",
    ),
}


@pytest.mark.parametrize(("objects", "want"), MISSING.values(), ids=MISSING)
def test_owner_that_is_not_there_leaves_the_pod_alone(objects: dict[str, Any], want: str) -> None:
    """A missing owner, or another one under its name, decides nothing."""
    assert want == _code(_resolved(objects, web_pod()))


def test_unresolved_slots_ask_for_a_retry() -> None:
    """Neither tier is safe to answer: the client is told to come back, whatever the failure policy."""
    owner = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=4, min_available="1")
    decision = split(Newcomer(), owner, HeldSlots(reserved=1), TierPolicy())
    got = admit.answer(_request(web_pod()), None, decision, RULES)["response"]
    assert got["allowed"] is False
    assert (got["status"]["code"], got["status"]["reason"]) == (429, "TooManyRequests")
    assert "details" not in got["status"], "a delay would keep a worker of the controller waiting"
    got = admit.answer(_request(web_pod()), None, decision, RULES, soon=True)["response"]
    assert got["status"]["details"] == {"retryAfterSeconds": 1}


def test_second_call_for_a_granted_pod_changes_nothing() -> None:
    """Called again with its own patch applied, the webhook recognises it."""
    from tests.tier.pods import patched

    request = _request(web_pod())
    asking = admit.begin(request, RULES)
    assert isinstance(asking, admit.Asking)
    owner = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=4, min_available="1")
    decision = split(asking.newcomer, owner, HeldSlots(), TierPolicy())
    after = patched(web_pod(), patch_of(admit.answer(request, asking, decision, RULES)))
    assert after["metadata"]["annotations"]["distributed-scheduling/slot"] == request.uid
    assert _code(admit.begin(_request(after), RULES)) == reasons.ALREADY_DECIDED.code


@pytest.mark.parametrize(
    ("requirement", "selector", "want"),
    [
        (Requirement("spot", Operator("DoesNotExist")), {"spot": "true"}, TierPin.ELSEWHERE),
        (Requirement("type", Operator("NotIn"), ("spot",)), {"type": "od"}, TierPin.ON_DEMAND),
        (Requirement("type", Operator("NotIn"), ("spot",)), {"type": "spot"}, TierPin.ELSEWHERE),
        (Requirement("type", Operator("Exists")), {"other": "x"}, TierPin.NONE),
    ],
)
def test_pins_follow_the_configured_rule(requirement: Requirement, selector: dict[str, str], want: TierPin) -> None:
    """Whatever tells the tiers apart, a node selector that settles it is a pin."""
    spec = msgspec.convert(web_pod(spec={"nodeSelector": selector}), Pod).spec
    assert want is pin_of(spec, Tiers(on_demand=(requirement,)))


def test_named_node_is_a_pin_and_no_slot() -> None:
    """A pod put on a node by its author bypasses the scheduler; its rules require nothing."""
    spec = msgspec.convert(web_pod(spec={"nodeName": "od-a"}), Pod).spec
    assert pin_of(spec, RULES) is TierPin.NAMED
    assert not requires_on_demand(spec, RULES)


VALIDATE: dict[str, tuple[Any, Any, str, bool]] = {
    "good": ("2", None, "CREATE", True),
    "percent": ("50%", None, "CREATE", True),
    "none": (None, None, "CREATE", True),
    "bad": ("two", None, "CREATE", False),
    "bad as before": ("two", "two", "UPDATE", True),
    "bad after good": ("two", "2", "UPDATE", False),
    "bad after another bad": ("two", "three", "UPDATE", False),
    "not even text": (2, None, "CREATE", False),
}


@pytest.mark.parametrize(("text", "old", "operation", "want"), VALIDATE.values(), ids=VALIDATE)
def test_workload_with_a_bad_minimum_is_refused(text: Any, old: Any, operation: str, want: bool) -> None:
    """A bad annotation is refused when it is written, and only then."""
    new = workload("Deployment", "web", "u", minimum=text)
    before = workload("Deployment", "web", "u", minimum=old) if operation == "UPDATE" else None
    answer = validate(_request(new, kind="Deployment", operation=operation, oldObject=before))
    assert answer["response"]["allowed"] is want
    if not want:
        assert "min-available" in answer["response"]["status"]["message"]


def test_verdicts_of_the_audit_log_are_the_levels_own() -> None:
    """A pod left alone is said to be unmanaged, with its reason."""
    request = _request(pod(name="x"))
    found = admit.begin(request, RULES)
    assert isinstance(found, Split)
    audit = admit.answer(request, None, found, RULES)["response"]["auditAnnotations"]
    assert audit["tier"] == TierVerdict.UNMANAGED.value
    assert audit["reason"] == "NoController"
