"""The tier level: what one admission costs the processor, from the bytes of a review to the bytes of its answer."""

import json
from typing import Any

import msgspec

from bench.measure import CPU, Report, ratio, side_by_side
from fairlead.kube.admission import admit
from fairlead.kube.admission.review import allow, decode
from fairlead.levels.tier.split import Policy, split
from fairlead.live.webhook.ledger import Attempt, Knowledge, Listing, SlotLedger
from fairlead.model.owners import HeldSlots, Owner, OwnerKind
from fairlead.model.tiers import Tiers

RULES, POLICY = Tiers(), Policy()
DEPLOYMENT = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=10, min_available="3")
TURNS = 200


def run(report: Report) -> None:
    """Both tables, in processor time of one core."""
    _admissions(report)
    _attempts(report)


def _review(**spec: Any) -> bytes:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs-1", "controller": True}
    container = {"name": "web", "image": "web:1", "env": [{"name": f"V{n}", "value": "x" * 40} for n in range(40)]}
    pod = {"metadata": {"ownerReferences": [owner]}, "spec": {"containers": [container], **spec}}
    request = {"uid": "u", "operation": "CREATE", "namespace": "shop", "object": pod}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(review).encode()


def _answered(raw: bytes, owner: Owner | None, held: HeldSlots) -> bytes:
    request = decode(raw).request
    asking = admit.begin(request, RULES)
    assert isinstance(asking, admit.Asking)
    decision = split(asking.newcomer, owner or DEPLOYMENT, held, POLICY)
    return msgspec.json.encode(admit.answer(request, asking, decision, RULES))


def _empty(raw: bytes) -> bytes:
    return msgspec.json.encode(allow(decode(raw).request.uid))


def _admissions(report: Report) -> None:
    raw = _review()
    unmanaged = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=10)
    calls = {
        "an empty answer": lambda: [_empty(raw) for _ in range(TURNS)],
        "left alone": lambda: [_answered(raw, unmanaged, HeldSlots()) for _ in range(TURNS)],
        "on demand": lambda: [_answered(raw, None, HeldSlots()) for _ in range(TURNS)],
        "spot": lambda: [_answered(raw, None, HeldSlots(stored=3)) for _ in range(TURNS)],
    }
    seconds = side_by_side(calls, repeats=15, clock=CPU)
    least = seconds["an empty answer"]
    rows = [(name, f"{took / TURNS * 1e6:.0f} µs", ratio(took, least)) for name, took in seconds.items()]
    report.table("One admission, bytes to bytes, without the cluster", ("answer", "a review", "of an empty one"), rows)


def _attempts(report: Report) -> None:
    rows = []
    batch = tuple(f"new-{number}" for number in range(50))
    for slots in (10, 100, 1_000, 10_000):
        granted = frozenset(f"slot-{number}" for number in range(slots))
        listing, ledger = Listing(granted, granted), SlotLedger("1", granted, granted)

        def attempt(ledger: SlotLedger = ledger, listing: Listing = listing, target: int = slots + 5) -> SlotLedger:
            return Attempt(requests=batch).read(ledger, Knowledge(), target).proposed

        seconds = side_by_side({"": attempt}, repeats=30, clock=CPU)[""]
        rows.append((f"{slots:,}", f"{seconds * 1e6:.0f} µs"))
    report.table("One attempt for fifty waiting requests, by slots in the ledger", ("slots", "an attempt"), rows)
