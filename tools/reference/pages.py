"""Each page as text, from what the program says of itself."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from fairlead.cli.main import COMMANDS, cli
from fairlead.settings import Configuration
from tools.reference.metrics import families
from tools.reference.reasons import every_reason

SOURCE = Path(__file__).resolve().parents[2] / "src" / "fairlead"
OURS = re.compile(r"(fairlead\.io|distributed-scheduling)/[a-z-]+")
NOTE = "<!-- Made by `make reference`; change the program. -->\n\n"
LEVELS = ("fleet", "tier", "queue", "node", "disk")


def pages() -> Iterator[tuple[str, str]]:
    """Every file of docs/reference with its text."""
    yield "cli.md", NOTE + commands()
    yield "metrics.md", NOTE + metrics()
    yield "reasons.md", NOTE + reasons()
    yield "annotations.md", NOTE + annotations()
    schema = msgspec.json.schema(Configuration)
    yield "configuration.schema.json", json.dumps(schema, indent=2) + "\n"


def commands() -> str:
    """The help of every command, as it prints it."""
    parts = [
        "# Commands\n\nEach command with its `--help`. "
        "All of them work as `kubectl fairlead …` too ([how](../command-line.md)).\n"
    ]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts.append(f"## {name}\n\n{_help(name)}")
        for inner in getattr(command, "commands", {}):
            parts.append(f"### {name} {inner}\n\n{_help(name, inner)}")
    return "\n".join(parts)


def _help(*words: str) -> str:
    """Made without running the command: what others write to standard error meanwhile is not part of it."""
    command: click.Command = cli
    context = click.Context(cli, info_name="fairlead", terminal_width=100, **cli.context_settings)
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None
        command, context = found, click.Context(found, context, info_name=word, **found.context_settings)
    lines = command.get_help(context).rstrip().splitlines()
    return "```text\n" + "\n".join(line.rstrip() for line in lines) + "\n```\n"


def metrics() -> str:
    """What each component exposes."""
    parts = ["# Metrics\n\nOn `/metrics` of each component, port 8080 ([how they are scraped](../monitoring.md)).\n"]
    for component, found in families().items():
        rows = [
            f"| `{name}` | {kind} | {', '.join(f'`{each}`' for each in labels) or '–'} | {text} |"
            for name, kind, labels, text in found
        ]
        parts.append(
            f"## {component}\n\n| metric | kind | labels | what it says |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(parts)


def reasons() -> str:
    """Every reason code with its sentence and cure."""
    head = (
        "# Reasons\n\nWhy something waits, by level. The *cure* is what could lift it: `room` (more of it), "
        "`eviction` (somebody else's),\n`edit` (people must change an object), `nothing` (all is as asked).\n"
    )
    parts = [head]
    for level in LEVELS:
        rows = [
            f"| `{each.code}` | {each.cure} | {_escaped(each.sentence)} |"
            for each in sorted(every_reason(), key=lambda each: each.code)
            if each.level == level
        ]
        parts.append(
            f"## {level}\n\n[Its page](../levels/{level}.md).\n\n| code | cure | sentence |\n|---|---|---|\n"
            + "\n".join(rows)
            + "\n"
        )
    return "\n".join(parts)


def _escaped(sentence: str) -> str:
    return "`" + sentence.replace("|", "\\|").replace("`", "'") + "`"


def annotations() -> str:
    """Every annotation, label and gate of ours, with what the source says of it."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for name, words in _constants(ast.parse(path.read_text())):
            found[name] = max(found.get(name, ""), words, key=len)
    rows = [f"| `{name}` | {_sentence(words)} |" for name, words in sorted(found.items())]
    return (
        "# Annotations, labels and gates\n\nKeys that Fairlead reads or writes on objects of others.\n\n"
        "| key | what it is |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def _constants(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Assignments of such a key, each with the text that follows it."""
    for this, following in zip(module.body, [*module.body[1:], None], strict=True):
        if (
            isinstance(this, ast.Assign)
            and isinstance(this.value, ast.Constant)
            and OURS.fullmatch(str(this.value.value))
        ):
            said = following.value if isinstance(following, ast.Expr) else None
            yield str(this.value.value), str(said.value) if isinstance(said, ast.Constant) else ""


def _sentence(words: str) -> str:
    return " ".join(words.split())
