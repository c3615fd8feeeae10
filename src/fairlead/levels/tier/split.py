"""`split`: does this new replica have to run on an on-demand node, or does it prefer spot?

The rules, in order:
0. a workload of a cluster without tiers, one that opted out, and one of the system's own priority are left alone;
1. a workload scaled to zero is left alone;
2. N = 1: the replica is required on on-demand nodes, annotated or not (a setting turns this off);
3. no minimum, or one that cannot be read: left alone, the second with a warning;
4. a user's own node rules that already settle the tier win, with a warning;
5. StatefulSet: the first M ordinals are required, the rest prefer spot;
6. Deployment: required while fewer than min(M, N) slots of its ReplicaSet are held, then spot. Where the slots are
   full only by counting grants whose replica has not appeared, neither answer is safe: ask again.
"""

from dataclasses import replace
from enum import StrEnum

from fairlead.dataclass import dataclass
from fairlead.levels.tier import reasons
from fairlead.levels.tier.minimum import Minimum, parse_minimum
from fairlead.model.decision import Decision, Trace
from fairlead.model.owners import Exempt, HeldSlots, Newcomer, Owner, OwnerKind, TierPin
from fairlead.model.reasons import Detail, Finding, Reason, because
from fairlead.model.tiers import Tiers

_PINS = {
    TierPin.ON_DEMAND: "allow on-demand nodes only",
    TierPin.ELSEWHERE: "allow no on-demand node",
    TierPin.NAMED: "name its node",
}


_EXEMPT = {Exempt.SYSTEM: reasons.SYSTEM_PRIORITY, Exempt.OPTED_OUT: reasons.OPTED_OUT}


class TierVerdict(StrEnum):
    """What is to become of one replica."""

    ON_DEMAND = "on-demand"
    SPOT = "spot"
    UNMANAGED = "unmanaged"
    RETRY = "retry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Settings of the level. `single_replica` switches rule 2; without `tiers` the nodes are not told apart."""

    single_replica: bool = True
    tiers: bool = True


def policy_of(tiers: Tiers) -> Policy:
    """What the tiers of a cluster mean to the level."""
    return Policy(single_replica=tiers.single_replica, tiers=tiers.present)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Decision):
    """The decision about one replica.

    `rule` is the reason of the verdict; `target` is min(M, N) where it was worked out; `selector` asks for the
    plain form of the requirement (a node selector) instead of an affinity term.
    """

    verdict: TierVerdict
    rule: Finding
    target: int | None = None
    selector: bool = False
    warnings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How many replicas of one workload belong on on-demand nodes: `count` = min(M, N), or `finding` says why not.

    `single` marks rule 2, which asks for the plain form.
    """

    count: int | None
    single: bool = False
    finding: Finding | None = None
    warnings: tuple[Finding, ...] = ()


def split(newcomer: Newcomer, owner: Owner, held: HeldSlots, policy: Policy) -> Split:
    """The verdict on `newcomer`; `held` counts its ReplicaSet and is not looked at for a StatefulSet."""
    target = target_of(owner, policy)
    if target.finding is not None:
        return left_alone(target.finding, target.warnings)
    decision = _pinned(newcomer) or _by_count(newcomer, owner, held, target)
    return replace(decision, warnings=target.warnings + decision.warnings)


def target_of(owner: Owner, policy: Policy) -> Target:
    """min(M, N) of a workload (rules 0 to 3)."""
    if owner.exempt is not Exempt.NONE:
        return Target(count=None, finding=because(_EXEMPT[owner.exempt], owner=owner.name))
    if not policy.tiers:
        finding = because(reasons.NO_TIERS, owner=owner.name)
        return Target(count=None, finding=finding, warnings=() if owner.min_available is None else (finding,))
    if owner.replicas <= 0:
        return Target(count=None, finding=because(reasons.SCALED_TO_ZERO, owner=owner.name))
    minimum = None if owner.min_available is None else parse_minimum(owner.min_available)
    warnings: tuple[Finding, ...] = ()
    if owner.min_available is not None and minimum is None:
        warnings = (because(reasons.INVALID_MINIMUM, owner=owner.name, text=owner.min_available[:64]),)
    if owner.replicas == 1 and policy.single_replica:
        return Target(count=1, single=True, warnings=warnings)
    if minimum is None:
        finding = warnings[0] if warnings else because(reasons.NO_MINIMUM, owner=owner.name)
        return Target(count=None, finding=finding, warnings=warnings)
    return Target(count=min(minimum.of(owner.replicas), owner.replicas), warnings=_quorum(owner, minimum))


def left_alone(finding: Finding, warnings: tuple[Finding, ...] = ()) -> Split:
    """The replica is admitted as it is."""
    return _decision(TierVerdict.UNMANAGED, finding, warnings=warnings)


def unmanaged(reason: Reason, *, warn: bool = False, **details: Detail) -> Split:
    """`left_alone` with a finding made here; `warn` repeats it as a warning to the user."""
    finding = because(reason, **details)
    return left_alone(finding, (finding,) if warn else ())


def _pinned(newcomer: Newcomer) -> Split | None:
    if newcomer.pin is TierPin.NONE:
        return None
    return unmanaged(reasons.USER_PINNED, warn=True, pin=_PINS[newcomer.pin])


def _by_count(newcomer: Newcomer, owner: Owner, held: HeldSlots, target: Target) -> Split:
    count = target.count
    assert count is not None
    if owner.kind is OwnerKind.STATEFUL_SET:
        return _by_ordinal(newcomer, owner, count, target.single)
    taken = held.stored + held.reserved
    if taken < count:
        rule = because(reasons.SLOT_GRANTED, slot=taken + 1, target=count)
        if target.single:
            rule = because(reasons.SINGLE_REPLICA, owner=owner.name)
        return _decision(TierVerdict.ON_DEMAND, rule, target=count, selector=target.single)
    if held.stored < count:
        rule = because(reasons.SLOTS_UNRESOLVED, reserved=held.reserved, target=count)
        return _decision(TierVerdict.RETRY, rule, target=count)
    return _decision(TierVerdict.SPOT, because(reasons.SLOTS_FULL, held=held.stored, target=count), target=count)


def _by_ordinal(newcomer: Newcomer, owner: Owner, count: int, single: bool) -> Split:
    index = ordinal(newcomer.name, owner)
    if single and index in (0, None):
        rule = because(reasons.SINGLE_REPLICA, owner=owner.name)
        return _decision(TierVerdict.ON_DEMAND, rule, target=count, selector=True)
    if index is None:
        return unmanaged(reasons.NO_ORDINAL, warn=True, name=newcomer.name, owner=owner.name)
    required = 0 <= index < count
    reason = reasons.ORDINAL_REQUIRED if required else reasons.ORDINAL_BEYOND
    rule = because(reason, index=index, target=count, owner=owner.name)
    return _decision(TierVerdict.ON_DEMAND if required else TierVerdict.SPOT, rule, target=count)


def ordinal(name: str, owner: Owner) -> int | None:
    """The place of a StatefulSet's replica, 0 for the first one; None where the name has no ordinal."""
    digits = name.removeprefix(f"{owner.name}-")
    if digits == name or not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return None
    return int(digits) - owner.first_ordinal


def _quorum(owner: Owner, minimum: Minimum) -> tuple[Finding, ...]:
    """A StatefulSet is expected to keep N/2 < M < N; anything else is obeyed, and said."""
    count = minimum.of(owner.replicas)
    if owner.kind is not OwnerKind.STATEFUL_SET or owner.replicas < 2 * count < 2 * owner.replicas:
        return ()
    return (because(reasons.QUORUM, owner=owner.name, minimum=count, replicas=owner.replicas),)


def _decision(
    verdict: TierVerdict,
    rule: Finding,
    *,
    target: int | None = None,
    selector: bool = False,
    warnings: tuple[Finding, ...] = (),
) -> Split:
    placed = verdict in (TierVerdict.ON_DEMAND, TierVerdict.SPOT)
    return Split(
        placements={verdict.value: 1} if placed else {},
        finding=rule if verdict is TierVerdict.RETRY else None,
        trace=Trace(considered=1, notes=(rule.sentence,)),
        verdict=verdict,
        rule=rule,
        target=target,
        selector=selector,
        warnings=warnings,
    )
