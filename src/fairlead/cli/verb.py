"""What the five verbs share: reading problems, solving each or all, printing answers, the exit code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from fairlead.cli.main import EXIT_BAD_INPUT, EXIT_OK, EXIT_UNPLACED
from fairlead.cli.output import Decorated, chosen, console, write_record
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.model.decision import Decision

Table = Callable[["Console", Any, Any], None]
"""Draws one problem and its decision for a person."""
Explain = Callable[[Any], Sequence[str]]
"""A decision as sentences (`fairlead.engine.explain_*`)."""


class Solver(Protocol):
    """What answers problems that are read already."""

    def solve(self, problem: Any, /) -> Any: ...

    def answer(self, problem: Any, decision: Any, /) -> dict[str, Any]: ...


class Verb(Solver, Protocol):
    """A module of `fairlead.problems`."""

    PROBLEM: type[Any]


def file_option(what: str = "A problem in JSON or YAML") -> Callable[[Decorated], Decorated]:
    """The `-f` option of a verb."""
    return click.option(
        "-f", "--file", "sources", multiple=True, required=True, metavar="FILE", help=f"{what}; - is standard input."
    )


def keep_going_option() -> Callable[[Decorated], Decorated]:
    """The `--keep-going` option of commands that read manifests."""
    return click.option("--keep-going", is_flag=True, help="What cannot be read does not make the exit code 2.")


def explain_option() -> Callable[[Decorated], Decorated]:
    """The `--explain` option of a verb."""
    return click.option("--explain", is_flag=True, help="Say why: here so many, there none, and what would change it.")


def read(source: str) -> bytes:
    """The bytes of a file or of standard input."""
    try:
        if source == "-":
            from fairlead.text.documents import standard_input

            return standard_input()
        return Path(source).read_bytes()
    except IsADirectoryError:
        raise InputError(source, "is a directory; expected a file") from None
    except OSError as error:
        raise InputError(source, (error.strerror or str(error)).lower()) from None


def run(
    verb: Verb, texts: Mapping[str, bytes], output: str | None, table: Table, explain: Explain | None = None
) -> int:
    """Solve every problem of the texts (by source) and print the answers in order; returns the exit code.

    `explain` turns a decision into sentences: printed below a table, `explanation` in a record.

    One problem that is bad input ends with its message. Among many, a bad one yields an error record in its place,
    the others go on, and the exit code is the highest.
    """
    found = [problem for source, raw in texts.items() for problem in problems(verb, raw, source)]
    if not found:
        raise InputError(", ".join(texts), "holds nothing but comments; expected a problem in JSON or YAML")
    places = [place for place, _ in found]
    return report(verb, [problem for _, problem in found], output, table, explain, places)


def report(
    verb: Solver,
    problems: Sequence[Any],
    output: str | None,
    table: Table,
    explain: Explain | None = None,
    places: Sequence[str] = (),
) -> int:
    """`run` for problems that are read already (an `InputError` stands for one that could not be).

    `places` says where each problem stands: what is wrong with its values is told with it.
    """
    many = len(problems) > 1
    if not many and isinstance(problems[0], InputError):
        raise problems[0]
    decisions = _placed(_solve(verb, problems), problems, places)
    form = chosen(output)
    screen = console() if form == "table" else None
    code = EXIT_OK
    for problem, decision in zip(problems, decisions, strict=True):
        if isinstance(decision, InputError):
            if not many:
                raise decision
            click.echo(f"fairlead: {decision}", err=True)
            record: dict[str, Any] = {"error": {"path": decision.path, "message": decision.message}}
            code = EXIT_BAD_INPUT
        elif screen is not None:
            table(screen, problem, decision)
            for line in explain(decision) if explain else ():
                screen.print(line, markup=False)
            code = max(code, _code(decision))
            continue
        else:
            record = verb.answer(problem, decision)
            if explain:
                record["explanation"] = list(explain(decision))
            code = max(code, _code(decision))
        write_record(record, form, one_line=many)
    return code


def _placed(decisions: Sequence[Any], problems: Sequence[Any], places: Sequence[str]) -> list[Any]:
    """The decisions; an error that a problem's values make is told with the place of the problem."""
    if not places:
        return list(decisions)
    return [
        decision.within(f"{place}: $")
        if isinstance(decision, InputError) and decision is not problem and decision.path.startswith("$")
        else decision
        for decision, problem, place in zip(decisions, problems, places, strict=True)
    ]


def problems(verb: Verb, raw: bytes, source: str) -> list[tuple[str, Any]]:
    """The problems of a text, each with its place; an `InputError` stands for one that cannot be read."""
    from fairlead.text.documents import documents, strict

    found: list[tuple[str, Any]] = []
    for document in documents(raw, source):
        if isinstance(document, InputError):
            found.append((source, document))
            continue
        try:
            found.append((document.place, strict(document.value, verb.PROBLEM)))
        except InputError as error:
            found.append((document.place, error.within(f"{document.place}: $")))
    return found


def _solve(verb: Solver, problems: Sequence[Any]) -> list[Any]:
    """A decision or an error for each problem, in order; in bulk where the verb can."""
    good = [problem for problem in problems if not isinstance(problem, InputError)]
    solve_many = getattr(verb, "solve_many", None)
    solved = iter(solve_many(good) if solve_many else [_attempt(verb, problem) for problem in good])
    return [problem if isinstance(problem, InputError) else next(solved) for problem in problems]


def _attempt(verb: Solver, problem: Any) -> Any:
    try:
        return verb.solve(problem)
    except InputError as error:
        return error


def _code(decision: "Decision") -> int:
    return EXIT_UNPLACED if decision.unplaced or decision.finding else EXIT_OK
