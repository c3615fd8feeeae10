"""`fairlead config`: look at the configuration of the live components."""

import click

from fairlead.cli import verb
from fairlead.cli.given import print_errors
from fairlead.cli.output import json_text, yaml_text


@click.group(
    "config",
    epilog="""
\b
Examples:
  fairlead config check -f fairlead.yaml
""",
)
def command() -> None:
    """Check the configuration of the live components."""


@command.command(
    "check",
    epilog="""
\b
Examples:
  fairlead config check -f fairlead.yaml
  fairlead config check -f fairlead.yaml -o yaml
""",
)
@verb.file_option("A configuration in JSON or YAML")
@click.option("-o", "--output", type=click.Choice(["json", "yaml"]), help="Print it whole, defaults filled in.")
def check(sources: tuple[str, ...], output: str | None) -> None:
    """Read a configuration as the components do; all its mistakes are told with their lines, and the exit code is 2."""
    import msgspec

    from fairlead.settings import mistakes, read_configuration

    for source in sources:
        raw = verb.read(source)
        wrong = mistakes(raw, source)
        print_errors(wrong[:-1])
        for last in wrong[-1:]:
            raise last
        configuration = read_configuration(raw, source)
        if output is None:
            click.echo(f"{source}: a valid {configuration.kind} of {configuration.api_version}")
        else:
            record = msgspec.to_builtins(configuration)
            click.echo(json_text(record) if output == "json" else yaml_text(record))
