"""A division as sentences: for each cluster why this many, and what would change it."""

from collections.abc import Iterator
from fractions import Fraction

from fairlead.levels.fleet.divide import Division
from fairlead.model.division import Mode
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Cure

_MODES = {
    Mode.STATIC: "by static weight",
    Mode.WEBSTER: "by Webster's rule",
    Mode.DYNAMIC: "by room",
    Mode.AGGREGATED: "on few clusters",
    Mode.DUPLICATED: "whole in each cluster",
}
_CURES = {
    Cure.ROOM: "more room on a cluster would change it",
    Cure.EVICTION: "moving something else away would change it",
    Cure.EDIT: "a change of the policy, the workload or a cluster would change it",
    Cure.NOTHING: "nothing needs to change",
}


def lines(decision: Division) -> tuple[str, ...]:
    """One line for the whole, one for each step that was noted, one for each cluster in natural order."""
    return (*_whole(decision), *_steps(decision), *_clusters(decision))


def _whole(decision: Division) -> Iterator[str]:
    placed = sum(decision.placements.values())
    where = f"{len(decision.chosen)} of {len(decision.placements)} clusters" + (
        f" (affinity group {decision.group})" if decision.group else ""
    )
    what = "replica" if placed == 1 else "replicas"
    yield f"{placed} {what} over {where}, {_MODES[decision.mode]}; {decision.unplaced} unplaced."
    if decision.finding:
        yield f"{decision.finding.code}: {decision.finding.sentence}; {_CURES[decision.finding.reason.cure]}."


def _steps(decision: Division) -> Iterator[str]:
    if decision.mode is Mode.STATIC and decision.floors:
        left = f"{decision.residual} {'is' if decision.residual == 1 else 'are'}"
        yield f"The floors take {sum(decision.floors.values())}, {left} residual."
    for note in decision.trace.notes:
        yield f"{note[0].upper()}{note[1:]}."


def cluster_lines(decision: Division, name: str) -> tuple[str, ...]:
    """Why one cluster gets what it gets, and what would change it."""
    if decision.removed.get(name):
        cure = _CURES[decision.removed[name].cure]
    elif decision.mode is Mode.STATIC:
        cure = "another weight or number of replicas would change it; a residual is drawn anew only with other floors"
    else:
        cure = "other weights, other room or another number of replicas would change it"
    return (_cluster(decision, name), f"{cure[0].upper()}{cure[1:]}.")


def _clusters(decision: Division) -> Iterator[str]:
    for name in natural_sorted(decision.placements):
        yield _cluster(decision, name)


def _cluster(decision: Division, name: str) -> str:
    removed = decision.removed.get(name)
    count = decision.placements[name]
    if removed:
        return f"{name}: none, {removed.sentence} ({removed.code})."
    if decision.mode is Mode.STATIC and name in decision.floors:
        return f"{name}: {count}, {_static(decision, name, count)}."
    return f"{name}: {count}{', as before' if decision.trace.kept.get(name) == count else ''}."


def _static(decision: Division, name: str, count: int) -> str:
    """Floor, residual, kept or drawn, with which odds."""
    floor = decision.floors[name]
    drawn = [draw for draw in decision.trace.draws if name in draw.equals]
    odds = Fraction(drawn[-1].weights[drawn[-1].equals.index(name)], sum(drawn[-1].weights)) if drawn else None
    won = any(name in draw.winners for draw in drawn)
    chance = "" if odds is None else f" with odds {odds.numerator} in {odds.denominator}"
    if decision.kept and name in decision.trace.kept:
        return f"kept as it was (its floor is {floor})"
    if count == floor:
        return f"its floor; it drew{chance} and did not win" if odds is not None else "its floor"
    if won:
        return f"its floor {floor} and a residual, drawn{chance}"
    return f"its floor {floor} and the residual it had" if name in decision.trace.kept else f"its floor {floor} and one"
