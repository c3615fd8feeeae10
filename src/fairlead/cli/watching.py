"""The option `-w`: look at a live cluster again and again."""

import sys
import time
from collections.abc import Callable

import click

from fairlead.cli.main import EXIT_OK

SECONDS = 2.0
"""Between two looks."""
REST = 4
"""A look that took long is followed by so many times its length of rest, for the sake of the server."""

watch_option = click.option(
    "-w", "--watch", is_flag=True, help="Look again every two seconds or more, until interrupted."
)


def watched(look: Callable[[], int], watch: bool, form: str) -> int:
    """The exit code of one look; with `watch`, look until Ctrl-C. A table is drawn over the last one."""
    if not watch:
        return look()
    try:
        while True:
            if form in ("table", "wide") and sys.stdout.isatty():
                click.clear()
            began = time.monotonic()
            look()
            sys.stdout.flush()
            time.sleep(max(SECONDS, REST * (time.monotonic() - began)))
    except KeyboardInterrupt:
        return EXIT_OK


def follows_cluster(watch: bool, live: bool) -> None:
    """`-w` is of no use where only files are read."""
    if watch and not live:
        raise click.UsageError("-w follows a live cluster; expected --cluster beside it")
