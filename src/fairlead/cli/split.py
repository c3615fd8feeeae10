"""`fairlead split`: answer an admission review from files, as the webhook would answer it from the cluster."""

from typing import TYPE_CHECKING, Any

import click

from fairlead.cli import verb
from fairlead.cli.output import output_option

if TYPE_CHECKING:
    from fairlead.kube.manifests.splitting import Answered
    from fairlead.levels.tier.presets import TierChoice


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
    from fairlead.kube.manifests.splitting import Splitting
    from fairlead.kube.manifests.tier import Existing, read_existing
    from fairlead.pictures.split import picture

    class Explained(Splitting):
        """An answer is an AdmissionReview and nothing else, so the sentences go to standard error."""

        def answer(self, review: Any, answered: "Answered", /) -> dict[str, Any]:
            for line in answered.sentences:
                click.echo(line, err=True)
            return super().answer(review, answered)

    existing = read_existing(verb.read(state), state) if state else Existing()
    splitting = (Explained if explain else Splitting)(existing, _choice(config))
    texts = {source: verb.read(source) for source in sources}
    return verb.run(splitting, texts, output, picture)


def _choice(config: str | None) -> "TierChoice":
    from fairlead.settings import DEFAULTS, read_tier

    return (read_tier(verb.read(config), config) if config else DEFAULTS.tier).choice()
