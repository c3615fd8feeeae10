"""`fairlead balance`: storage replicas on nodes and disks."""

from typing import Any

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run
from fairlead.model.errors import InputError


@click.command(
    "balance",
    epilog="""
\b
Examples:
  fairlead balance -f problem.json -o json
  fairlead balance -f problems.jsonl -o json     one problem a line, one answer a line
  echo '{"size":"8Gi","nodes":[{"name":"a","disks":[{"name":"d","usable":"40Gi"}]}]}' | fairlead balance -f -
  kubectl -n longhorn-system get nodes.longhorn.io,volumes.longhorn.io,replicas.longhorn.io,settings.longhorn.io \\
    -o yaml | fairlead balance -f - --explain
  fairlead balance -f longhorn.yaml --target 0.2 --max-moves 5 --max-bytes 2Ti
  fairlead balance -f longhorn.yaml --evacuate node3 --evacuate node4/disk-1
""",
)
@file_option("A problem in JSON or YAML, or manifests of Longhorn")
@click.option("--alpha", default=None, metavar="NUMBER", help="1: absolute space (default), 0: ratio, or a mix.")
@click.option("--scope", type=click.Choice(["node", "all"]), default=None, help="Disks that the disk stage scores.")
@click.option(
    "--usable-as",
    type=click.Choice(["available", "maximum"]),
    default=None,
    help="What reserved and scheduled are taken from: space free now (default), or the size of the disk.",
)
@click.option("--target", default=None, metavar="NUMBER", help="Advise moves until the imbalance is down to this.")
@click.option("--max-moves", type=click.IntRange(min=0), default=None, help="The most moves to advise.")
@click.option("--max-bytes", default=None, metavar="QUANTITY", help="The most bytes that moves may copy.")
@click.option("--evacuate", multiple=True, metavar="NODE[/DISK]", help="Advise moves that empty a node or a disk.")
@keep_going_option()
@output_option()
@explain_option()
def command(sources: tuple[str, ...], keep_going: bool, output: str | None, explain: bool, **options: Any) -> int:
    """Put storage replicas on nodes and disks so that what stays usable is even.

    The options from --alpha to --evacuate are for manifests; a problem says all that itself. Nothing is written.
    """
    from fairlead.cli import balance_manifests as manifests
    from fairlead.engine.explain_disk import lines
    from fairlead.pictures.balance import picture
    from fairlead.problems import balance

    explanation = lines if explain else None
    asked, wanted = given(sources), manifests.BalanceOptions(**options)
    if not asked.are_manifests:
        if wanted.given:
            raise InputError(asked.name, "is a problem, which says all that itself; the options are for manifests")
        return run(balance, asked.texts, output, picture, explanation)
    found = catalogue_of(asked)
    problem = manifests.asked_for(found, asked.name, wanted)
    return max(report(manifests, [problem], output, picture, explanation), exit_code(found, keep_going))
