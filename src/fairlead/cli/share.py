"""`fairlead share`: a cluster between queues, namespaces and jobs."""

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run
from fairlead.model.errors import InputError


@click.command(
    "share",
    epilog="""
\b
Examples:
  fairlead share -f problem.json -o json
  fairlead share -f problems.jsonl -o json       one problem a line, one answer a line
  echo '{"total":{"cpu":4},"jobs":[{"name":"a","replicas":9,"request":{"cpu":1}}]}' | fairlead share -f -
  kubectl get nodes,pods,queues.scheduling.volcano.sh,podgroups.scheduling.volcano.sh,resourcequotas -A -o yaml \\
    | fairlead share -f - --preempt --explain
""",
)
@file_option("A problem in JSON or YAML, or manifests of queues, pod groups, pods, quotas and nodes")
@click.option("--preempt", is_flag=True, help="Let jobs take room from others, where that is fair.")
@click.option(
    "--reserve-after",
    type=click.IntRange(min=0),
    default=None,
    metavar="SECONDS",
    help="Keep room for a gang that has waited so long.",
)
@keep_going_option()
@output_option()
@explain_option()
def command(
    sources: tuple[str, ...],
    preempt: bool,
    reserve_after: int | None,
    keep_going: bool,
    output: str | None,
    explain: bool,
) -> int:
    """Share a cluster between queues, then namespaces, then jobs: whose turn it is, and how far everybody gets.

    --preempt and --reserve-after are for manifests; a problem says that itself. Nothing is written.
    """
    from fairlead.engine.explain_queue import lines
    from fairlead.pictures.share import picture
    from fairlead.problems import share

    explanation = lines if explain else None
    asked = given(sources)
    if not asked.are_manifests:
        if preempt or reserve_after is not None:
            raise InputError(asked.name, "is a problem, which says all that itself; the options are for manifests")
        return run(share, asked.texts, output, picture, explanation)
    from fairlead.cli import share_manifests as manifests

    found = catalogue_of(asked)
    problem = manifests.problem_of(found, asked.name, preempt, reserve_after, planned=True)
    return max(report(manifests, [problem], output, picture, explanation), exit_code(found, keep_going))
