"""`fairlead ui`: a page for the cluster, the shares and the reasons."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairlead.cli.completing import completing, contexts, policies_option
from fairlead.cli.configured import config_option, plan_settings
from fairlead.cli.live import KUBECONFIG_OPTION, chooses_cluster
from fairlead.cli.main import EXIT_OK
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.engine.plan_settings import PlanSettings
    from fairlead.web.replay import Replay
    from fairlead.web.serve import Address, Source

TOKEN_VARIABLE = "FAIRLEAD_UI_TOKEN"


@click.command(
    "ui",
    epilog="""
\b
Examples:
  fairlead ui -f examples/shop
  fairlead ui --cluster --context production --context staging
  fairlead ui --snapshot today.json --no-open
  fairlead ui --scenario examples/gpu-queue/scenario.yaml --policy auto --policy examples/gpu-queue/fifo.yaml

\b
Nothing is written anywhere. Off the loopback every record needs a token (--token-file, or FAIRLEAD_UI_TOKEN), in the
header X-Fairlead-Token.
""",
)
@click.option("-f", "--file", "sources", multiple=True, metavar="PATH", help="A manifest or a directory (repeatable).")
@click.option("--snapshot", default="", metavar="FILE", help="A snapshot that `fairlead snapshot` saved.")
@click.option("--cluster", is_flag=True, help="A live cluster; what changes there is seen at once.")
@KUBECONFIG_OPTION
@click.option(
    "--context",
    "contexts",
    multiple=True,
    shell_complete=completing(contexts),
    metavar="NAME",
    help="A context of the kubeconfig (repeatable: several clusters at once).",
)
@click.option("--scenario", default="", metavar="FILE", help="A simulation, with every moment of it.")
@policies_option("With --scenario: a policy (repeatable).")
@config_option
@click.option(
    "--listen", default="127.0.0.1:8123", metavar="HOST:PORT", help="Port 0 takes a free one.", show_default=True
)
@click.option("--token-file", default="", metavar="FILE", help="The token, for addresses off the loopback.")
@click.option("--open/--no-open", "opened", default=True, help="Open the browser.", show_default=True)
def command(
    sources: tuple[str, ...],
    snapshot: str,
    cluster: bool,
    kubeconfig: str,
    contexts: tuple[str, ...],
    scenario: str,
    policies: tuple[str, ...],
    config: str | None,
    listen: str,
    token_file: str,
    opened: bool,
) -> int:
    """Serve a page that shows the cluster, its queues, what waits and why; it only ever reads.

    Every view has an address, and the same record at its address with `.json`.
    """
    from fairlead.web.assets import SCRIPT, asset
    from fairlead.web.serve import address

    given = [name for name, value in (("-f", sources), ("--snapshot", snapshot), ("--cluster", cluster)) if value]
    if bool(scenario) == bool(given) or len(given) > 1:
        raise click.UsageError("Expected one source: '-f', '--snapshot', '--cluster' or '--scenario'.")
    if policies and not scenario:
        raise click.UsageError("'--policy' goes together with '--scenario'.")
    chooses_cluster(kubeconfig, contexts, cluster=cluster)
    asset(SCRIPT)
    where, settings = address(listen, _token(token_file)), plan_settings(config)
    if scenario:
        replay = _replay(scenario, policies, config)
        source = _replayed(replay, scenario)
        return _run(source, where, opened, replay)
    if cluster:
        return _run(_live(kubeconfig, contexts, settings), where, opened)
    return _run(_files((snapshot,) if snapshot else sources, settings), where, opened)


def _token(file: str) -> str:
    if not file:
        return os.environ.get(TOKEN_VARIABLE, "")
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(file, str(error)) from None
    if not token:
        raise InputError(file, "is empty; expected a token")
    return token


def _run(source: "Source", where: "Address", opened: bool, replay: "Replay | None" = None) -> int:
    from fairlead.web.serve import serve

    def ready(url: str) -> None:
        click.echo(f"fairlead: the page is at {url} (Ctrl-C ends it)", err=True)
        if opened:
            click.launch(url)

    asyncio.run(serve(source, where, ready, replay=replay))
    return EXIT_OK


def _files(sources: tuple[str, ...], settings: "PlanSettings") -> "Source":
    from fairlead.web.source_files import FileSource

    return FileSource(sources, settings=settings)


def _live(kubeconfig: str, contexts: tuple[str, ...], settings: "PlanSettings") -> "Source":
    from fairlead.kube.config import load
    from fairlead.web.source_live import Followed, LiveSource

    names = contexts or ("",)
    clusters = [
        Followed(name if len(names) > 1 else "", load(kubeconfig_path=kubeconfig, context=name)) for name in names
    ]
    return LiveSource(clusters, title=", ".join(filter(None, contexts)) or "the cluster", settings=settings)


def _replayed(replay: "Replay", scenario: str) -> "Source":
    from fairlead.web.source_replay import ReplaySource

    return ReplaySource(replay, scenario)


def _replay(scenario: str, policies: tuple[str, ...], config: str | None) -> "Replay":
    """The simulation under each policy, kept for replay."""
    from functools import partial

    from fairlead.cli.progress import progress
    from fairlead.cli.simulate import follow, policies_of, story_of
    from fairlead.sim.film import Film
    from fairlead.sim.run import run
    from fairlead.web.replay import Replay

    story = story_of(scenario, "", None, "", config)
    runs, films = [], {}
    for policy in policies_of(policies):
        films[policy.name] = film = Film(story)
        with progress() as drawn:
            runs.append(run(story, policy, partial(follow, drawn, policy.name, story.until_ms), film=film))
        if runs[-1].interrupted:
            raise KeyboardInterrupt
    return Replay(story, runs, films)
