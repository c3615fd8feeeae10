"""`fairlead split`: answer an admission review from files, as the webhook would answer it from the cluster."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli import verb
from fairlead.cli.output import json_text, output_option

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.kube.admission.admit import Asking
    from fairlead.kube.admission.review import Review, ReviewRequest
    from fairlead.kube.manifests.tier import Existing
    from fairlead.levels.tier.presets import TierChoice
    from fairlead.levels.tier.split import Split


@dataclass(frozen=True, slots=True)
class Answered:
    """A review with its answer. An answered review is a success, whatever the answer is."""

    review: dict[str, Any]
    decision: "Split | None" = None
    unplaced: int = 0
    finding: None = None


class _Splitting:
    """The verb over one state and one configuration."""

    def __init__(self, existing: "Existing", choice: "TierChoice", explain: bool) -> None:
        from fairlead.kube.admission.review import Review

        self.PROBLEM = Review
        self.existing = existing
        self.tiers = choice.tiers(existing.node_labels)
        self.explain = explain

    def solve(self, review: "Review", /) -> Any:
        from fairlead.kube.admission import admit
        from fairlead.kube.admission.validate import KINDS, validate

        request, tiers = review.request, self.tiers
        if _kind(request) in KINDS:
            return Answered(validate(request))
        asking = admit.begin(request, tiers)
        if not isinstance(asking, admit.Asking):
            return Answered(admit.answer(request, None, asking, tiers), asking)
        decision = self._decide(asking)
        return Answered(admit.answer(request, asking, decision, tiers), decision)

    def answer(self, review: "Review", answered: Answered, /) -> dict[str, Any]:
        if self.explain and answered.decision is not None:
            from fairlead.engine.explain_tier import lines

            click.echo("\n".join(lines(answered.decision)), err=True)
        return answered.review

    def _decide(self, asking: "Asking") -> "Split":
        from fairlead.kube.admission.admit import holds_slot, resolve
        from fairlead.levels.tier.split import Split, policy_of, split
        from fairlead.model.owners import HeldSlots

        steps = resolve(asking)
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
        stored = sum(holds_slot(pod, uid, self.tiers) for pod in self.existing.pods)
        return split(asking.newcomer, owner, HeldSlots(stored=stored), policy_of(self.tiers))


@click.command(
    "split",
    epilog="""
\b
Examples:
  fairlead split -f review.json --state cluster.yaml -o json
  fairlead split -f review.json --state cluster.yaml --config fairlead.yaml --explain
  kubectl get deploy,rs,sts,pods -A -o json > state.json && fairlead split -f review.json --state state.json

\b
The state holds the Deployments, ReplicaSets, StatefulSets, Pods and Nodes that exist. Nodes show by which label
on-demand and spot are told apart; without any the configured label holds, or node.kubernetes.io/capacity. A Pod
holds a slot if it is active, has the ReplicaSet as controller and its spec requires on-demand nodes.
Reviews of Deployments and StatefulSets are answered as the validating endpoint does. The exit code is 0 whenever a
review is answered.
""",
)
@verb.file_option("An AdmissionReview in JSON or YAML")
@click.option("--state", metavar="FILE", help="The objects that exist, as manifests in JSON or YAML.")
@click.option("--config", metavar="FILE", help="A configuration (see `fairlead config`), or its tier section alone.")
@click.option("--explain", is_flag=True, help="Say why, in sentences.")
@output_option()
def command(sources: tuple[str, ...], state: str | None, config: str | None, explain: bool, output: str | None) -> int:
    """Answer an admission review: does the new replica need an on-demand node, or does it prefer spot?"""
    from fairlead.kube.manifests.tier import Existing, read_existing

    existing = read_existing(verb.read(state), state) if state else Existing()
    splitting = _Splitting(existing, _choice(config), explain)
    texts = {source: verb.read(source) for source in sources}
    return verb.run(splitting, texts, output, _table)


def _kind(request: "ReviewRequest") -> str:
    """The kind under review; a request that does not say it shows it in its object."""
    shown = request.object.get("kind") if isinstance(request.object, dict) else None
    return request.kind.kind or str(shown or "")


def _choice(config: str | None) -> "TierChoice":
    from fairlead.settings import DEFAULTS, read_tier

    return (read_tier(verb.read(config), config) if config else DEFAULTS.tier).choice()


def _table(screen: "Console", review: "Review", answered: Answered) -> None:
    """The verdict in sentences, then what the patch changes."""
    from fairlead.engine.explain_tier import lines
    from fairlead.kube.admission.review import patch_of

    if answered.decision is None:
        status = answered.review["response"].get("status")
        screen.print(f"refused: {status['message']}" if status else "allowed", markup=False)
        return
    for line in lines(answered.decision):
        screen.print(line, markup=False)
    for operation in patch_of(answered.review):
        value = json_text(operation["value"], one_line=True) if "value" in operation else ""
        screen.print(f"  {operation['op']:<7} {operation['path']}  {value}".rstrip(), markup=False)
