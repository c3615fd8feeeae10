"""Fairlead as a plugin of kubectl: its name in usage lines, and the completion that kubectl asks for."""

import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli import kubectl
from fairlead.cli.main import COMMANDS, cli

BIN = Path(sys.executable).parent


def test_usage_is_told_as_it_is_typed() -> None:
    """`kubectl fairlead` in the one, `fairlead` in the other."""
    for program, name in (("kubectl-fairlead", "kubectl fairlead"), ("fairlead", "fairlead")):
        done = subprocess.run([BIN / program, "place", "--help"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"Usage: {name} place ")


def test_commands_are_candidates_with_their_help() -> None:
    """One a line, a tab before what it does, and no files."""
    *lines, directive = kubectl.answer(cli, [], "")
    assert [line.split("\t")[0] for line in lines] == list(COMMANDS)
    assert all(line.split("\t")[1] for line in lines)
    assert directive == ":4"


@pytest.mark.parametrize(
    ("words", "unfinished", "want"),
    [
        pytest.param([], "pla", ["plan", "place", ":4"], id="a command"),
        pytest.param(["plan"], "--fi", ["--file", ":4"], id="an option"),
        pytest.param(["completion"], "", ["bash", "zsh", "fish", ":4"], id="a choice"),
        pytest.param(["plan", "-f"], "", [":0"], id="a path"),
        pytest.param(["plan", "nonsense"], "x", [":0"], id="nothing is known"),
    ],
)
def test_candidates(words: list[str], unfinished: str, want: list[str]) -> None:
    """What is known ends the list; where nothing is known the shell offers files."""
    assert [line.split("\t")[0] for line in kubectl.answer(cli, words, unfinished)] == want


def test_program_answers_kubectl() -> None:
    """kubectl finds it by name and passes the words."""
    done = subprocess.run([BIN / "kubectl_complete-fairlead", "comple"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0].startswith("completion\t")
    assert subprocess.run([BIN / "kubectl_complete-fairlead"], capture_output=True, text=True, check=True).stdout
