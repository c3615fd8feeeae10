"""What every level returns: placements, what is unplaced and why, and a trace from which it can be explained."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.model.reasons import Finding, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """Targets that one filter removed: how many, and up to three of their names."""

    reason: Reason
    count: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The terms that ranked one of the best targets; each term is exact text (an integer or a fraction)."""

    target: str
    terms: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One recorded random choice: among whom, with which weights, from which key, and who won."""

    equals: tuple[str, ...]
    weights: tuple[int, ...]
    key: str
    winners: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a decision looked at. Snapshot and trace together replay the decision.

    `notes` are the steps in order, each one sentence of fact (which rule applied, what was kept and why).
    """

    considered: int = 0
    rejected: tuple[Rejection, ...] = ()
    scores: tuple[Score, ...] = ()
    kept: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    draws: tuple[Draw, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer of a level. A level adds its own columns in a subclass.

    `placements` maps a target to its number of new replicas (fleet: to its total); `finding` says why something
    is unplaced, or why nothing was done.
    """

    placements: Mapping[str, int]
    unplaced: int = 0
    finding: Finding | None = None
    trace: Trace = field(default_factory=Trace)


def trace_record(trace: Trace) -> dict[str, Any]:
    """The trace as plain JSON values, empty parts left out."""
    record: dict[str, Any] = {"considered": trace.considered}
    if trace.rejected:
        record["rejected"] = [
            {"reason": each.reason.code, "count": each.count, "names": list(each.names)} for each in trace.rejected
        ]
    if trace.scores:
        record["scores"] = [{"target": score.target, **score.terms} for score in trace.scores]
    if trace.kept:
        record["kept"] = dict(trace.kept)
    if trace.draws:
        record["draws"] = [
            {
                "equals": list(draw.equals),
                "weights": list(draw.weights),
                "key": draw.key,
                "winners": list(draw.winners),
            }
            for draw in trace.draws
        ]
    if trace.notes:
        record["notes"] = list(trace.notes)
    return record


def decision_record(decision: Decision) -> dict[str, Any]:
    """The part of the JSON answer that every level shares."""
    finding = decision.finding
    return {
        "placements": dict(decision.placements),
        "unplaced": decision.unplaced,
        "reason": finding.code if finding else None,
        **({"message": finding.sentence, "cure": finding.reason.cure.value} if finding else {}),
        "trace": trace_record(decision.trace),
    }
