"""Every command in the documentation runs, and prints what the documentation says.

A fenced block marked `console` is a transcript: lines that begin with `$ ` are run by bash from the root of the
repository, and what follows must be what they print; a line `…` stands for any number of lines. A block marked `sh`
needs a cluster: each `fairlead` command in it must at least exist, with options that exist.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fairlead.cli.main import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/*/README.md", "deploy/**/*.md")
    for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> Iterator[tuple[str, str]]:
    """Every block of one kind, named by its page and line."""
    for page in PAGES:
        text = page.read_text()
        for match in FENCE.finditer(text):
            if match[1] == kind:
                yield f"{page.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}", match[2]


def steps(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a transcript, each with the lines it is said to print."""
    command, lines = "", []
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, lines
            command, lines = line[2:], []
        elif line.startswith("> ") and not lines:
            command += "\n" + line[2:]
        else:
            lines.append(line.rstrip())
    if command:
        yield command, lines


def shell(command: str) -> tuple[int, list[str]]:
    """Run a command as a reader would, with nothing on the terminal; its exit code and lines."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]


def agrees(want: list[str], got: list[str]) -> bool:
    """Whether the printed lines are the documented ones, `…` standing for any number of lines."""
    if not want:
        return not got
    if want[0].strip() == "…":
        return any(agrees(want[1:], got[start:]) for start in range(len(got) + 1))
    return bool(got) and want[0] == got[0] and agrees(want[1:], got[1:])


def trimmed(lines: list[str]) -> list[str]:
    """Without empty lines at either end."""
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


@pytest.mark.parametrize(("place", "block"), [pytest.param(*each, id=each[0]) for each in blocks("console")])
def test_transcript_is_what_is_printed(place: str, block: str) -> None:
    """A reader who types the command sees the lines of the page."""
    for command, want in steps(block):
        code, got = shell(command)
        assert code in (0, 1), f"{place}: {command}: exit code {code}: {got}"
        assert agrees(trimmed(want), trimmed(got)), f"{place}: {command} prints\n" + "\n".join(got)


def option_names(command: click.Command) -> set[str]:
    """Every spelling of every option."""
    names = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return names | {"-h", "--help"}


@pytest.mark.parametrize(("place", "block"), [pytest.param(*each, id=each[0]) for each in blocks("sh")])
def test_command_for_a_cluster_exists(place: str, block: str) -> None:
    """Commands that need a cluster are at least spelled as they are."""
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "fairlead" not in words or words[0] == "helm":  # the name of a release, not a command of ours
            continue
        words = words[words.index("fairlead") + 1 :]
        if not words or words[0] in ("--version", "--help", "-V", "-h"):
            continue
        assert words[0] in COMMANDS, f"{place}: {line}"
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None
        known = option_names(command)
        for subcommand in getattr(command, "commands", {}).values():
            known |= option_names(subcommand)
        given = {word.split("=")[0] for word in words[1:] if word.startswith("-") and word != "-"}
        assert given <= known, f"{place}: {line}"


def test_every_command_is_documented() -> None:
    """A command that no page shows does not exist for a reader."""
    text = "\n".join(page.read_text() for page in PAGES)
    assert [name for name in COMMANDS if f"fairlead {name}" not in text] == []
