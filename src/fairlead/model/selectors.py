"""Selectors, taints and tolerations: the small languages in which objects choose one another."""

from dataclasses import field
from enum import StrEnum

from fairlead.dataclass import dataclass


class Operator(StrEnum):
    """How a requirement compares a label with its values."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one key. NotIn and DoesNotExist hold where the key is absent; Gt and Lt compare integers."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, value: str | None) -> bool:
        """Whether the condition holds for this value of the key; None is an absent key."""
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        bound, number = integer(self.values[0] if self.values else ""), integer(value or "")
        if bound is None or number is None:
            return False
        return number > bound if self.operator is Operator.GT else number < bound


def integer(text: str) -> int | None:
    """The text as a decimal integer of 64 bits, as Go reads it, or None; digits other than 0–9 are not digits here."""
    digits = text[1:] if text[:1] in ("-", "+") else text
    value = digits.lstrip("0")
    if not (digits.isascii() and digits.isdigit()) or len(value) > 19:
        return None
    number = int(value or "0") * (-1 if text[0] == "-" else 1)
    return number if -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True)
class Term:
    """Conditions on a node that must all hold. A term without any condition matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    """Conditions on `metadata.name`."""


@dataclass(frozen=True, slots=True)
class Preference:
    """A term that is worth `weight` where it matches."""

    weight: int
    term: Term


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Conditions on labels that must all hold; without any it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: "dict[str, str]") -> bool:
        """Whether an object with these labels is selected."""
        return all(each.holds(labels.get(each.key)) for each in self.requirements)


CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
CLOSING = (CORDONED, NOT_READY, UNREACHABLE)
"""Keys of the taints that say that a node takes nothing new, and why."""


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node (or cluster) that repels replicas."""

    key: str
    effect: str = Effect.NO_SCHEDULE
    value: str = ""
    implied: bool = False
    """Not written on the node yet: its being closed implies it."""

    @property
    def repels(self) -> bool:
        """Whether it forbids, rather than discourages."""
        return self.effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)


@dataclass(frozen=True, slots=True)
class Toleration:
    """Leave to ignore taints. An empty key with Exists tolerates all; an empty effect, every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = field(default=None, compare=False)
    """How long a replica may stay under a taint with NoExecute; it says nothing about where one may start."""

    def tolerates(self, taint: Taint) -> bool:
        """Whether this taint is ignored."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.operator == "Exists":
            return not self.key or self.key == taint.key
        return self.key == taint.key and self.value == taint.value


def reopened(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether a node is open again to replicas that tolerate what closed it. One closed without a taint is not."""
    closing = tuple(taint for taint in taints if taint.key in CLOSING and taint.effect == Effect.NO_SCHEDULE)
    return bool(closing) and tolerated(closing, tolerations)


def tolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether every repelling taint is tolerated."""
    return all(any(each.tolerates(taint) for each in tolerations) for taint in taints if taint.repels)
