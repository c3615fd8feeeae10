"""`fairlead completion`: the script that a shell sources."""

import click
from click.shell_completion import get_completion_class


@click.command(
    "completion",
    epilog="""
\b
Examples:
  source <(fairlead completion bash)
  fairlead completion zsh > ~/.zfunc/_fairlead
  fairlead completion fish > ~/.config/fish/completions/fairlead.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL."""
    from fairlead.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None  # click ships all three
    click.echo(kind(cli, {}, "fairlead", "_FAIRLEAD_COMPLETE").source())
