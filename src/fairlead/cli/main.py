"""The entry point: a group whose commands are imported only when they are called."""

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper

import click

from fairlead import __version__
from fairlead.model.errors import FairleadError

COMMANDS = {
    "plan": "Plan a directory of manifests through all five levels.",
    "snapshot": "Save a live cluster as a file that plan reads.",
    "explain": "Say why a workload, a node or a volume is as it is.",
    "diff": "Compare two plans or two sets of manifests.",
    "ui": "Show a plan, a live cluster or a simulation as a page in the browser.",
    "simulate": "Let a scenario happen to a cluster in memory, under policies side by side.",
    "divide": "Divide replicas over clusters by weight (fleet).",
    "share": "Share a cluster between queues, namespaces and jobs (queue).",
    "split": "Answer an admission review: on-demand or spot (tier).",
    "place": "Place replicas on nodes, with cores and volumes (node).",
    "balance": "Put storage replicas on nodes and disks (disk).",
    "webhook": "Serve admission reviews: on-demand or spot, exactly counted (tier).",
    "tiers": "Show on-demand and spot replicas of every workload of a cluster (tier).",
    "config": "Check the configuration of the live components.",
    "scheduler": "Run the live scheduler.",
    "queue": "Show what queues deserve and use, who waits and why, in a live cluster (queue).",
    "fleet": "Run the live scheduler of Karmada's bindings (fleet).",
    "storage": "Advise on Longhorn's storage replicas, or place them (disk).",
    "version": "Say which version this is, of which commit, and what it was tested with.",
    "support-bundle": "Write one archive with what a report of a fault needs, and nothing secret.",
    "completion": "Print the completion script of a shell.",
    "help": "Show the help of a command, or this page.",
}
"""Every command with its one line of help; the module of the same name in this package has the rest."""

GROUPS = {
    "Plan and ask": ("plan", "explain", "diff", "simulate", "ui"),
    "One level at a time": ("divide", "split", "share", "place", "balance"),
    "Run on a cluster": ("scheduler", "webhook", "fleet", "storage"),
    "Look at a cluster": ("queue", "tiers", "snapshot"),
}
"""The commands as help lists them; the others come last."""

LIVE = ("aiohappyeyeballs", "aiohttp", "uvloop", "cryptography", "prometheus_client", "structlog")
EXTRAS = {**dict.fromkeys(LIVE, "live"), "opentelemetry": "otel"}
"""Which extra brings a package, by the name that is imported."""

EXIT_OK, EXIT_UNPLACED, EXIT_BAD_INPUT, EXIT_UNREACHABLE, EXIT_INTERRUPTED = 0, 1, 2, 3, 130

held: list[object] = []
"""What is too large to be freed object by object at the end of the process (docs/decisions/0416)."""

UNCOLLECTED = frozenset({"plan", "explain", "diff"})
"""Commands that make millions of objects and no cycles: looking for cycles again and again takes most of the time."""

EPILOG = """
\b
Examples:
  fairlead plan -f examples/shop
  fairlead divide -f problem.json -o json
  echo '{"strategy":"auto","count":3,"nodes":[{"name":"a","capacity":9}]}' | fairlead place -f -

\b
Exit codes: 0 everything placed, 1 something is unplaced (the answer is printed all the same),
2 bad input, 3 the cluster cannot be reached.
"""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"fairlead.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from fairlead.text.mistakes import did_you_mean

            hint = did_you_mean(args[0], COMMANDS) or "; see fairlead help"
            raise click.UsageError(f"No such command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        rest = tuple(name for name in COMMANDS if name not in grouped)
        for title, names in {**GROUPS, "More": rest}.items():
            with formatter.section(title):
                formatter.write_dl([(name, COMMANDS[name]) for name in names])


@click.group(cls=LazyGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="fairlead")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Place replicas evenly, fairly and stably, in Kubernetes and around it, and say why."""
    if ctx.invoked_subcommand not in UNCOLLECTED:
        gc.enable()


def process() -> None:
    """As `main`, for a process that has nothing else to do: what is held is not freed before it ends.

    NumPy starts no threads of its own: its matrices are small here, and the threads take time at every start.
    """
    gc.disable()  # until it is known what is to be done: imports make no garbage
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        main()
    except SystemExit as end:
        if held and isinstance(end.code, int):
            with suppress(OSError):
                sys.stdout.flush()  # standard error keeps nothing back
                os._exit(end.code)
        raise


def main() -> None:
    """Run the command line; whatever happens, the user sees one line and a sensible exit code."""
    _open_streams()
    try:
        if not (is_unicode(sys.stdout) and is_unicode(sys.stderr)):
            from fairlead.cli.ascii import draw_with_ascii

            draw_with_ascii()
        code = cli.main(standalone_mode=False, prog_name=_called())
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = EXIT_BAD_INPUT
    except FairleadError as error:
        code = _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = _fail("interrupted; nothing is left half done", EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) went away: that is its right. Python would complain again at exit, so detach.
        _detach()
        code = EXIT_OK
    except OSError as error:
        # Input and the network have errors of their own: what is left is output that cannot be written.
        _detach()
        code = _fail(f"the output cannot be written: {(error.strerror or str(error)).lower()}", EXIT_BAD_INPUT)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        code = _fail(f"this needs the extra `{extra}`: pip install 'fairlead[{extra}]'", EXIT_BAD_INPUT)
    except (MemoryError, RecursionError):
        code = _fail("the input is too large for this machine's memory", EXIT_BAD_INPUT)
    sys.exit(code if isinstance(code, int) else EXIT_OK)


def _open_streams() -> None:
    """What is written to a standard stream that the caller has closed goes nowhere; the exit code still tells.

    Half a wide character, which JSON can name, is written as JSON has it; standard error does so anyway.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - it lasts as long as the process
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _detach() -> None:
    """Python flushes standard output again at exit, and would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_unicode(stream: object) -> bool:
    """Whether a stream can draw; one without an encoding can."""
    encoding = getattr(stream, "encoding", None)
    return encoding is None or "utf" in encoding.lower()


def _called() -> str:
    """The name in usage lines: as a plugin of kubectl the command is typed in two words."""
    return "kubectl fairlead" if os.path.basename(sys.argv[0]).startswith("kubectl-fairlead") else "fairlead"


def _fail(message: str, code: int) -> int:
    with suppress(OSError):  # where standard error is full as well, the exit code tells
        click.echo(f"fairlead: {message}", err=True)
    return code
