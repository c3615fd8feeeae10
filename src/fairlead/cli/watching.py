"""The option `-w`: look at a live cluster again and again."""

import sys
import time
from collections.abc import Callable

import click

from fairlead.cli.main import EXIT_OK, EXIT_UNREACHABLE
from fairlead.model.errors import FairleadError

SECONDS = 2.0
"""Between two looks."""
REST = 4
"""A look that took long is followed by so many times its length of rest, for the sake of the server."""

watch_option = click.option(
    "-w", "--watch", is_flag=True, help="Look again every two seconds or more, until interrupted."
)


def watched(look: Callable[[], int], watch: bool, form: str) -> int:
    """The exit code of one look; with `watch`, look until Ctrl-C. A table is drawn over the last one.

    A server that was there and cannot be reached for a while is told, and asked again.
    """
    if not watch:
        return look()
    began = time.monotonic()
    look()
    try:
        while True:
            sys.stdout.flush()
            time.sleep(max(SECONDS, REST * (time.monotonic() - began)))
            if form in ("table", "wide") and sys.stdout.isatty():
                click.clear()
            began = time.monotonic()
            _look_again(look)
    except KeyboardInterrupt:
        return EXIT_OK


def _look_again(look: Callable[[], int]) -> None:
    try:
        look()
    except FairleadError as error:
        if error.exit_code != EXIT_UNREACHABLE:
            raise
        click.echo(f"fairlead: {error}", err=True)


def follows_cluster(watch: bool, live: bool) -> None:
    """`-w` is of no use where only files are read."""
    if watch and not live:
        raise click.UsageError("-w follows a live cluster; expected --cluster beside it")
