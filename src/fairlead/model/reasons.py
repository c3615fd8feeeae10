"""Why something did not go as asked: a stable code, a sentence, and what would cure it.

A `Reason` is a constant of a level (`levels/<level>/reasons.py`); a `Finding` is one occurrence of it with the
numbers that make the sentence concrete. Codes are part of the interface: they are documented and never reused.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from string import Formatter
from types import MappingProxyType

from fairlead.dataclass import dataclass

Detail = str | int


class Cure(StrEnum):
    """What could lift a reason. The live queue wakes a pending workload only on an event that fits its cure."""

    ROOM = "room"
    """More free amounts on some target: a node joins, a replica ends."""
    EVICTION = "eviction"
    """Evicting others would make the room."""
    EDIT = "edit"
    """An object has to be changed: the workload, a policy, a target."""
    NOTHING = "nothing"
    """Nothing is wrong; the state asked for is the state there is."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A kind of rejection. `sentence` is a format string over the details of a finding.

    `{count:replica needs|replicas need}` is the number with the words for one or for several.
    """

    code: str
    sentence: str
    cure: Cure = Cure.NOTHING
    level: str = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Finding:
    """One occurrence of a reason, with its numbers."""

    reason: Reason
    details: Mapping[str, Detail] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def code(self) -> str:
        """The stable code of the reason."""
        return self.reason.code

    @property
    def sentence(self) -> str:
        """The reason's sentence with the numbers filled in."""
        return _SENTENCES.vformat(self.reason.sentence, (), self.details)


class _Sentences(Formatter):
    def format_field(self, value: Detail, format_spec: str) -> str:
        """The value; behind it the words for one or for several, where there are such words."""
        one, both, several = format_spec.partition("|")
        if not both:
            return str(super().format_field(value, format_spec))
        return f"{value} {one if value == 1 else several}"


_SENTENCES = _Sentences()


def because(reason: Reason, **details: Detail) -> Finding:
    """A finding; reads well at the place where a decision is refused."""
    return Finding(reason, MappingProxyType(details))
