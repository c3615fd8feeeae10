"""`fairlead place`: replicas onto nodes, with cores and volumes."""

import click

from fairlead.cli.completing import completing, strategies
from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run
from fairlead.model.amounts import amount
from fairlead.model.errors import InputError


@click.command(
    "place",
    epilog="""
\b
Examples:
  fairlead place -f problem.json -o json
  fairlead place -f problems.jsonl -o json       one problem a line, one answer a line
  fairlead place -f nodes.yaml --pods pods.yaml --count 20 --cpu 500m --memory 1Gi
  kubectl get nodes,pods,deployments -A -o yaml | fairlead place -f - --workload shop/web --explain
  echo '{"strategy":"fill","count":2,"nodes":[{"name":"a","count":1},{"name":"b"}]}' | fairlead place -f -
""",
)
@file_option("A problem in JSON or YAML, or manifests of nodes, pods and workloads")
@click.option("--pods", multiple=True, metavar="FILE", help="More manifests: the pods that run on the nodes.")
@click.option("--workload", default="", metavar="NAME", help="The workload to place, where manifests hold several.")
@click.option(
    "--cpu", default=None, metavar="QUANTITY", help="What a replica asks for, instead of a workload's request."
)
@click.option("--memory", default=None, metavar="QUANTITY", help="The same for memory.")
@click.option("--count", type=int, default=None, help="New replicas.  [default: what the workload lacks]")
@click.option(
    "--strategy",
    default=None,
    shell_complete=completing(strategies),
    help="auto (communism is its other name), fill, average, global, global-greedy or drained.",
)
@click.option("--nodes-limit", type=int, default=0, help="Highest total a node, or number of nodes (fill, average).")
@click.option("--partial", is_flag=True, help="Place what fits, instead of all or nothing.")
@keep_going_option()
@output_option()
@explain_option()
def command(
    sources: tuple[str, ...],
    pods: tuple[str, ...],
    workload: str,
    cpu: str | None,
    memory: str | None,
    count: int | None,
    strategy: str | None,
    nodes_limit: int,
    partial: bool,
    keep_going: bool,
    output: str | None,
    explain: bool,
) -> int:
    """Place replicas on nodes by capacity or by resources, with the cores and volumes of each replica.

    The options from --pods to --partial are for manifests; a problem says all that itself.
    """
    from fairlead.cli.place_manifests import problem_of
    from fairlead.engine.explain_node import lines
    from fairlead.pictures.place import picture
    from fairlead.problems import place

    explanation = lines if explain else None
    asked = given((*sources, *pods))
    if not asked.are_manifests:
        if (workload, cpu, memory, count, strategy, nodes_limit, partial) != ("", None, None, None, None, 0, False):
            raise InputError(
                asked.name, "is a problem, which says how many and how itself; the options are for manifests"
            )
        return run(place, asked.texts, output, picture, explanation)
    found = catalogue_of(asked)
    problem = problem_of(
        found,
        workload=workload,
        request=_request(cpu, memory),
        strategy=strategy,
        count=count,
        limit=nodes_limit,
        partial=partial,
    )
    return max(report(place, [problem], output, picture, explanation), exit_code(found, keep_going))


def _request(cpu: str | None, memory: str | None) -> dict[str, int] | None:
    """The request that the options give, None where they give none."""
    given = {"cpu": cpu, "memory": memory}
    asked = {name: amount(name, text, f"--{name}") for name, text in given.items() if text is not None}
    return asked or None
