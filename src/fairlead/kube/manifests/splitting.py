"""`split` on manifests: an admission review answered from the objects that exist, as the webhook answers it live."""

from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.explain_tier import lines
from fairlead.kube.admission import admit
from fairlead.kube.admission.review import Review, ReviewRequest
from fairlead.kube.admission.validate import KINDS, validate
from fairlead.kube.manifests.tier import Existing
from fairlead.levels.tier.presets import TierChoice
from fairlead.levels.tier.split import Split, policy_of, split
from fairlead.model.owners import HeldSlots


@dataclass(frozen=True, slots=True)
class Answered:
    """A review with its answer. An answered review is a success, whatever the answer is."""

    review: dict[str, Any]
    decision: Split | None = None
    unplaced: int = 0
    finding: None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Why the pod is split so; none where the review is of another kind."""
        return () if self.decision is None else tuple(lines(self.decision))


class Splitting:
    """The verb over one state and one configuration."""

    PROBLEM = Review

    def __init__(self, existing: Existing, choice: TierChoice) -> None:
        self.existing = existing
        self.tiers = choice.tiers(existing.node_labels)

    def solve(self, review: Review, /) -> Answered:
        """The answer to one review."""
        request, tiers = review.request, self.tiers
        if _kind(request) in KINDS:
            return Answered(validate(request))
        asking = admit.begin(request, tiers)
        if not isinstance(asking, admit.Asking):
            return Answered(admit.answer(request, None, asking, tiers), asking)
        decision = self._decide(asking)
        return Answered(admit.answer(request, asking, decision, tiers), decision)

    def answer(self, review: Review, answered: Answered, /) -> dict[str, Any]:
        """The AdmissionReview that is sent back."""
        return answered.review

    def _decide(self, asking: admit.Asking) -> Split:
        steps = admit.resolve(asking)
        lookup = next(steps)
        while True:
            try:
                lookup = steps.send(self.existing.find(lookup.kind, lookup.namespace, lookup.name))
            except StopIteration as end:
                owner = end.value
                break
        if isinstance(owner, Split):
            return owner
        uid = asking.controller.uid
        stored = sum(admit.holds_slot(pod, uid, self.tiers) for pod in self.existing.pods)
        return split(asking.newcomer, owner, HeldSlots(stored=stored), policy_of(self.tiers))


def _kind(request: ReviewRequest) -> str:
    """The kind under review; a request that does not say it shows it in its object."""
    shown = request.object.get("kind") if isinstance(request.object, dict) else None
    return request.kind.kind or str(shown or "")
