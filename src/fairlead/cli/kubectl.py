"""Fairlead as a plugin of kubectl: the completion that kubectl asks for (`kubectl_complete-fairlead`).

`kubectl fairlead …` runs `kubectl-fairlead`, which is the same entry point as `fairlead`. For completion kubectl runs
`kubectl_complete-fairlead` with the words typed so far, the last one unfinished, and reads one candidate a line, a tab
before its description, then a line with a colon and a directive.
"""

import sys

import click
from click.shell_completion import CompletionItem, ShellComplete

DEFAULT, NO_FILES, ONLY_FOLDERS = 0, 4, 16
"""The directives of kubectl's completion (cobra): complete files, complete nothing else, complete folders."""
FILE_KINDS = {"file": DEFAULT, "dir": ONLY_FOLDERS}


def complete() -> None:
    """Answer kubectl: the candidates for the last word of the command line, then what else it may complete."""
    *words, unfinished = sys.argv[1:] or [""]
    from fairlead.cli.main import cli

    for line in answer(cli, words, unfinished):
        click.echo(line)


def answer(cli: click.Command, words: list[str], unfinished: str) -> list[str]:
    """The lines that kubectl reads."""
    found = ShellComplete(cli, {}, "fairlead", "_FAIRLEAD_COMPLETE").get_completions(words, unfinished)
    plain = [_line(item) for item in found if item.type not in FILE_KINDS]
    # Many options take a path as plain text: where nothing is known, files are the best guess.
    directive = next(
        (FILE_KINDS[item.type] for item in found if item.type in FILE_KINDS), NO_FILES if plain else DEFAULT
    )
    return [*plain, f":{directive}"]


def _line(item: CompletionItem) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
