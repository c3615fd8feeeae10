"""Trials in forks of one pytest process that has collected every test: nothing is started, imported or collected again.

A fork takes over the changed functions by their code objects, so everything that was imported earlier runs the change,
and runs its tests in order until one fails. What runs at import cannot be tried so; it gets a process of its own.
"""

import gc
import json
import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import process_time
from types import CodeType, FunctionType
from typing import TypedDict

import pytest

SERVE = "FAIRLEAD_MUTANTS_SERVE"
"""The variable that names two descriptors: one to read trials from, one to write answers to, a JSON text a line."""


KEEPING = type(cache(lambda: None))
"""Functions that keep their results."""
HANGING = 90
"""Seconds of processor time beyond those of a trial after which a fork is ended: no test takes so long."""


class Collected(TypedDict):
    """A test by its name, and whether it draws examples; those take longer."""

    test: str
    drawn: bool


class Trial(TypedDict):
    """The changed module, its source before and after, the tests in order, and the seconds that one test may take.

    No test is begun after `most` seconds of processor time.
    """

    path: str
    before: str
    after: str
    tests: list[str]
    each: float
    most: float


class Answer(TypedDict):
    """The exit code of a trial, and the test that failed."""

    code: int
    test: str


def serve(session: pytest.Session) -> None:
    """Says which tests there are, then answers each trial until there are no more."""
    reading, writing = map(int, os.environ[SERVE].split(","))
    items = {item.nodeid: item for item in session.items}
    with os.fdopen(reading) as trials, os.fdopen(writing, "w", buffering=1) as answers:
        print(json.dumps([_collected(each) for each in session.items]), file=answers)
        for line in trials:
            print(json.dumps(_answer(session, items, json.loads(line))), file=answers)


def _collected(item: pytest.Item) -> Collected:
    return Collected(test=item.nodeid, drawn=bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False)))


def _answer(session: pytest.Session, items: dict[str, pytest.Item], trial: Trial) -> Answer:
    """A test that fails also without the change has noticed nothing: it is left out."""
    chosen = [items[name] for name in trial["tests"] if name in items]
    while True:
        answer = _forked(session, chosen, trial)
        if answer["code"] != 1 or not answer["test"]:
            return answer
        failed = items[answer["test"]]
        if _forked(session, [failed], {**trial, "after": trial["before"]})["code"] == 0:
            return answer
        chosen.remove(failed)


def _forked(session: pytest.Session, items: list[pytest.Item], trial: Trial) -> Answer:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            failed = _tried(session, items, trial)
            os.write(writing, failed.encode())
            code = int(bool(failed))
        finally:
            os._exit(code)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        return Answer(code=abs(os.waitstatus_to_exitcode(status)), test=said.read())


def _tried(session: pytest.Session, items: list[pytest.Item], trial: Trial) -> str:
    """The first test that fails, or nothing."""
    take_over(Path(trial["path"]), trial["before"], trial["after"])
    limit = int(process_time() + trial["most"] + HANGING)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    until = process_time() + trial["most"]
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.add_marker(pytest.mark.timeout(trial["each"]))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed or process_time() > until:
            with suppress(Exception):
                session._setupstate.teardown_exact(None)
            return item.nodeid if session.testsfailed else ""
    return ""


def take_over(path: Path, before: str, after: str) -> int:
    """Gives every function of the module that differs its new code; how many functions that were.

    Results that functions have kept until then are forgotten.
    """
    pairs = _pairs(compile(before, str(path), "exec"), compile(after, str(path), "exec"))
    changed = {old: new for old, new in pairs if old != new}
    known = gc.get_objects()
    # `isinstance` asks the class that an object claims, which a proxy of something that is gone cannot say.
    functions = [each for each in known if type(each) is FunctionType]
    here = [each for each in functions if each.__code__ in changed and Path(each.__code__.co_filename) == path]
    for function in here:
        function.__code__ = changed[function.__code__]
    for each in known:
        if type(each) is KEEPING:
            each.cache_clear()
    return len(here)


def _pairs(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Functions of two versions of a module that differ in operators and numbers alone, each beside the other."""
    yield before, after
    old, new = ([each for each in code.co_consts if isinstance(each, CodeType)] for code in (before, after))
    for one, other in zip(old, new, strict=True):
        yield from _pairs(one, other)
