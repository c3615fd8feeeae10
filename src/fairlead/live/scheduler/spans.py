"""The scheduler's spans: the way of each pod from its event to its bind, and each cycle with the groups it decides."""

from collections.abc import Sequence

from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord
from fairlead.live.runtime.spans import ObjectSpans


class Spans:
    """Told of cycles and, by `pods`, of what becomes of pods. This one keeps nothing: spans are off."""

    def __init__(self) -> None:
        self.pods = ObjectSpans()

    def cycle(self) -> None:
        """A cycle begins."""

    def deciding(self) -> None:
        """A batch of groups, or a turn of the queue level, begins."""

    def decided(self, outcome: PodSetOutcome) -> None:
        """A group was decided; what follows of its pods is by this decision."""

    def placed(self, pod: PodRecord, node: str) -> None:
        """The pod counts on its node, and is to be bound."""

    def over(self, outcomes: Sequence[PodSetOutcome], *, shared: bool) -> None:
        """The cycle is over; `shared` tells whether the queue level had a turn."""
