"""`fairlead divide`: replicas over clusters."""

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run


@click.command(
    "divide",
    epilog="""
\b
Examples:
  fairlead divide -f problem.json -o json
  fairlead divide -f bindings.jsonl -o json      one problem a line, one answer a line
  echo '{"workload":{"name":"web","replicas":7},"clusters":[{"name":"a"},{"name":"b"}]}' | fairlead divide -f -
  fairlead divide -f problem.yaml --explain
  fairlead divide -f examples/shop               manifests: Karmada's clusters, policies and bindings
""",
)
@file_option("A problem in JSON or YAML, or manifests of Karmada")
@keep_going_option()
@output_option()
@explain_option()
def command(sources: tuple[str, ...], keep_going: bool, output: str | None, explain: bool) -> int:
    """Divide the replicas of a workload over clusters: by weight, by room, on few, or all in each."""
    from fairlead.cli import divide_manifests as manifests
    from fairlead.engine.explain_fleet import lines
    from fairlead.pictures.divide import picture
    from fairlead.problems import divide

    explanation = lines if explain else None
    asked = given(sources)
    if not asked.are_manifests:
        return run(divide, asked.texts, output, picture, explanation)
    found = catalogue_of(asked)
    code = report(manifests, manifests.asked_for(found, asked.name), output, picture, explanation)
    return max(code, exit_code(found, keep_going))
