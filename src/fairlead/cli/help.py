"""`fairlead help`: the help of a command, as a word instead of an option."""

import click


@click.command(
    "help",
    epilog="""
\b
Examples:
  fairlead help
  fairlead help plan
""",
)
@click.argument("name", required=False, default="", metavar="[COMMAND]")
def command(name: str) -> None:
    """Show the help of COMMAND, or the list of all."""
    from fairlead.cli.main import cli

    root = click.Context(cli, info_name="fairlead")
    if not name:
        click.echo(cli.get_help(root))
        return
    _, found, _ = cli.resolve_command(root, [name])
    assert found is not None  # an unknown name is a usage error
    click.echo(found.get_help(click.Context(found, info_name=name, parent=root)))
