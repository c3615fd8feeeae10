"""Printing: the formats of `-o`, and the choice between them."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairlead.cli.main import is_unicode
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

Decorated = TypeVar("Decorated", bound=Callable[..., Any] | click.Command)

FORMATS = ("table", "json", "yaml")
JSONPATH = "jsonpath="


class OutputForm(click.Choice[str]):
    """One of the forms, or `jsonpath=TEMPLATE` as kubectl has it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if str(value).startswith(JSONPATH) or value in self.choices:
            return value
        return self.fail(f"{value!r} is not one of {', '.join(map(str, self.choices))}, jsonpath=TEMPLATE", param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return f"[{'|'.join([*map(str, self.choices), 'jsonpath=…'])}]"


def output_option(*more: str) -> Callable[[Decorated], Decorated]:
    """The `-o` option; on a terminal the default is a table, in a pipe JSON."""
    return click.option(
        "-o",
        "--output",
        type=OutputForm([*FORMATS, *more]),
        default=None,
        help="Form of the answer.  [default: table on a terminal, else json]",
    )


def chosen(output: str | None) -> str:
    """The format asked for, or the one that suits where standard output goes."""
    return output or ("table" if sys.stdout.isatty() else "json")


def write_record(record: Any, form: str, *, one_line: bool = False) -> None:
    """Print a record in one of the forms that are no table; `one_line` is for one of many."""
    if form.startswith(JSONPATH):
        from fairlead.text.jsonpath import rendered

        click.echo(rendered(form.removeprefix(JSONPATH), record), nl=one_line)
    elif form == "yaml":
        click.echo(("---\n" if one_line else "") + yaml_text(record))
    else:
        click.echo(json_text(record, one_line=one_line))


def console() -> "Console":
    """A rich console on standard output; a pipe gets plain text of a readable width."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120, soft_wrap=not sys.stdout.isatty())


def json_text(record: Any, *, one_line: bool = False) -> str:
    """JSON as printed: keys in the order they were put, wide characters as they are where standard output has them."""
    import msgspec

    text = json.dumps(record, ensure_ascii=not is_unicode(sys.stdout))
    if one_line:
        return text
    # Python's own encoder is not compiled where it indents, and takes ten times as long.
    try:
        return msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, UnicodeEncodeError):  # an infinity, or half a wide character
        return json.dumps(record, ensure_ascii=not is_unicode(sys.stdout), indent=2)


def yaml_text(record: Any) -> str:
    """YAML as printed."""
    import yaml

    form: dict[str, Any] = {"sort_keys": False, "allow_unicode": is_unicode(sys.stdout), "width": 120}
    try:
        text: str = yaml.dump(record, Dumper=yaml.CSafeDumper, **form)
    except UnicodeEncodeError:  # half a wide character: only the slower one escapes it
        text = yaml.dump(record, Dumper=yaml.SafeDumper, **form)
    return text.rstrip()


def write_file(path: str, text: str) -> None:
    """Write what an option such as `--html` asks for, and say so on standard error."""
    try:
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(path, (error.strerror or str(error)).lower()) from None
    click.echo(f"fairlead: wrote {path}", err=True)
