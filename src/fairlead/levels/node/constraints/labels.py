"""Node selectors and node affinity, evaluated once per distinct label value instead of once per node."""

import numpy as np

from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.selectors import Operator, Requirement, Term
from fairlead.model.shape import Shape

NAME_FIELD = "metadata.name"


def requirement_holds(state: NodeState, requirement: Requirement) -> Bool:
    """Where the condition on a label holds."""
    column = state.labels.get(requirement.key)
    if column is None:
        return np.full(len(state.names), requirement.holds(None))
    # One answer a value, and one for absence at the end, where the code −1 points.
    if requirement.operator in (Operator.IN, Operator.NOT_IN):
        # Most often few of many values are named, such as one host: only those are looked up.
        named = requirement.operator is Operator.IN
        answers = np.full(len(column.values) + 1, not named)
        answers[[column.code_of[value] for value in requirement.values if value in column.code_of]] = named
    else:
        answers = np.array([*map(requirement.holds, column.values), requirement.holds(None)])
    return answers[column.codes]


def term_matches(state: NodeState, term: Term) -> Bool:
    """Where every condition of the term holds; an empty term matches nowhere."""
    matches = np.full(len(state.names), bool(term.labels or term.fields))
    for requirement in term.labels:
        matches &= requirement_holds(state, requirement)
    for requirement in term.fields:
        matches &= _field_holds(state, requirement)
    return matches


def _field_holds(state: NodeState, requirement: Requirement) -> Bool:
    named = np.zeros(len(state.names), dtype=np.bool_)
    if requirement.key == NAME_FIELD:
        named[[state.rows[name] for name in requirement.values if name in state.rows]] = True
    return named if requirement.operator is Operator.IN else ~named


def selected(state: NodeState, shape: Shape) -> Bool:
    """Where nodeSelector and required node affinity both allow the shape."""
    allowed = np.ones(len(state.names), dtype=np.bool_)
    for key, value in shape.node_selector:
        allowed &= requirement_holds(state, Requirement(key, Operator.IN, (value,)))
    if shape.required is not None:
        any_term = np.zeros(len(state.names), dtype=np.bool_)
        for term in shape.required:
            any_term |= term_matches(state, term)
        allowed &= any_term
    return allowed


def preference(state: NodeState, shape: Shape) -> Int:
    """The summed weight of the preferred terms that match each node."""
    total = np.zeros(len(state.names), dtype=np.int64)
    for preferred in shape.preferred:
        total += preferred.weight * term_matches(state, preferred.term)
    return total


def domains(state: NodeState, key: str) -> tuple[Int, int]:
    """Per node the number of its value of `key` (ABSENT where it has none), and how many values there are."""
    column = state.labels.get(key)
    if column is None:
        return np.full(len(state.names), ABSENT, dtype=np.int64), 0
    return column.codes.astype(np.int64), len(column.values)
