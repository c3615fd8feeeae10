"""Topology spread: the count of like replicas stays even over domains, within a skew."""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node.constraints.labels import domains, selected
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.population import Population
from fairlead.model.selectors import Taint, tolerated
from fairlead.model.shape import Shape, Spread


@dataclass(slots=True)
class Domains:
    """One constraint at work: replicas per domain, and which domains and nodes take part."""

    codes: Int
    counts: Int
    counted: Bool
    """Nodes whose replicas are counted."""
    real: Bool
    """Domains that have such a node; the least crowded of these sets the level."""
    itself: bool
    """Whether a new replica adds to the count of its domain when it is weighed,"""
    lasting: bool
    """and whether the next one finds it counted."""
    most_skew: int
    least_domains: int

    def allowed(self) -> Bool:
        """Nodes on which one more replica keeps the skew."""
        found = self.counts[:-1][self.real]
        lowest = int(found.min()) if len(found) >= max(self.least_domains, 1) else 0
        # The last entry stands for nodes without the key: they never pass.
        fits = self.counts + int(self.itself) - lowest <= self.most_skew
        fits[-1] = False
        return fits[self.codes]

    def skew(self) -> Int:
        """Per node the replicas in its domain; without the key it counts as the most crowded."""
        crowded = self.counts.copy()
        crowded[-1] = crowded.max(initial=0)
        return crowded[self.codes]

    def place(self, row: int) -> None:
        """Count a new replica."""
        if self.lasting and self.counted[row]:
            self.counts[self.codes[row]] += 1


def spreads(state: NodeState, shape: Shape, population: Population, *, hard: bool) -> list[Domains]:
    """The hard (or the soft) constraints of the shape.

    Counted are nodes that carry the keys of all constraints of that kind and that the constraint's node policies
    let in: by default those the replica's own selector allows, whatever their taints.
    """
    wanted = [each for each in shape.spread if each.hard == hard]
    if not wanted:
        return []
    keyed = np.ones(len(state.names), dtype=np.bool_)
    for constraint in wanted:
        keyed &= domains(state, constraint.key)[0] != ABSENT
    return [_domains(constraint, state, shape, population, keyed) for constraint in wanted]


def _domains(constraint: Spread, state: NodeState, shape: Shape, population: Population, keyed: Bool) -> Domains:
    codes, count = domains(state, constraint.key)
    counted = keyed.copy()
    if constraint.respects_affinity:
        counted &= selected(state, shape)
    if constraint.respects_taints:
        counted &= np.array([_honoured(each, shape) for each in state.taint_profiles])[state.taint_profile]
    like = _like(constraint, shape, population)
    present = population.per_node(like, len(state.names), staying=True)
    real = np.zeros(count, dtype=np.bool_)
    real[codes[counted]] = True
    counts = np.bincount(codes[counted], weights=present[counted], minlength=count + 1).astype(np.int64)
    itself = constraint.selector is not None and constraint.selector.selects(dict(shape.labels))
    lasting = itself and bool(constraint.selector and constraint.selector.requirements)
    return Domains(codes, counts, counted, real, itself, lasting, constraint.most_skew, constraint.least_domains)


def _honoured(taints: tuple[Taint, ...], shape: Shape) -> bool:
    return tolerated(tuple(each for each in taints if not each.implied), shape.tolerations)


def _like(constraint: Spread, shape: Shape, population: Population) -> Bool:
    """Like residents of the same namespace; as in kube-scheduler an empty selector counts none."""
    return np.array(
        [
            each.namespace == shape.namespace
            and constraint.selector is not None
            and bool(constraint.selector.requirements)
            and constraint.selector.selects(dict(each.labels))
            for each in population.residents
        ],
        dtype=np.bool_,
    )
