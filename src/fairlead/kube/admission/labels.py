"""What a node selector says about one label, as a set: which values, and whether the label may be absent."""

from collections.abc import Iterable, Mapping

from fairlead.dataclass import dataclass
from fairlead.kube.objects.affinity import NodeSelectorTerm
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.model.selectors import Requirement


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The states of one label that are allowed.

    `values` are the values allowed, or with `others` all values except these; `absent` allows a node without
    the label.
    """

    values: frozenset[str] = frozenset()
    others: bool = True
    absent: bool = True

    def __and__(self, other: "LabelSet") -> "LabelSet":
        absent = self.absent and other.absent
        if self.others and other.others:
            return LabelSet(self.values | other.values, True, absent)
        if self.others:
            return LabelSet(other.values - self.values, False, absent)
        if other.others:
            return LabelSet(self.values - other.values, False, absent)
        return LabelSet(self.values & other.values, False, absent)

    @property
    def empty(self) -> bool:
        """Nothing is allowed."""
        return not self.others and not self.values and not self.absent

    def within(self, other: "LabelSet") -> bool:
        """Whether all that this set allows is allowed by `other`."""
        if self.absent and not other.absent:
            return False
        if not self.others:
            return not (self.values & other.values) if other.others else self.values <= other.values
        return other.others and other.values <= self.values


ANYTHING = LabelSet()


def of_requirement(requirement: RequirementSpec | Requirement) -> LabelSet:
    """The set of one expression. Gt and Lt compare numbers: they are read as "some value", which is never too small."""
    values = frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return LabelSet(values, False, False)
        case "NotIn":
            return LabelSet(values, True, True)
        case "DoesNotExist":
            return LabelSet(frozenset(), False, True)
        case _:
            return LabelSet(frozenset(), True, False)


def of_selector(selector: Mapping[str, str], key: str) -> LabelSet:
    """What a node selector map says about `key`."""
    return LabelSet(frozenset({selector[key]}), False, False) if key in selector else ANYTHING


def of_terms(terms: Iterable[NodeSelectorTerm], key: str) -> list[LabelSet]:
    """What each term that can select a node says about `key`; terms without expressions select none."""
    sets = []
    for term in terms:
        if not term.match_expressions and not term.match_fields:
            continue
        allowed = ANYTHING
        for expression in term.match_expressions:
            if expression.key == key:
                allowed &= of_requirement(expression)
        sets.append(allowed)
    return sets
