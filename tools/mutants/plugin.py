"""A pytest plugin: records how long each test takes, runs only the chosen tests in their order, or serves trials.

Chosen tests are named in a file and not on the command line, so a test whose name depends on changed code is left out
instead of ending the run.
"""

import json
import os
import resource
from importlib import import_module
from pathlib import Path

import pytest

from tools.mutants import serving

CHOSEN = "FAIRLEAD_MUTANTS_CHOSEN"
"""The variable that names a file with one test a line."""
SEEN = "FAIRLEAD_MUTANTS_SEEN"
"""The variable that names the file to write seconds by test to, and the tests that fail."""
MEMORY = "FAIRLEAD_MUTANTS_MEMORY"
"""The variable that bounds the address space of a run, in bytes: beyond it a test fails and the machine stays well."""
PROBED = "FAIRLEAD_MUTANTS_PROBED"
"""The variable that names the module that hears of each test before it runs."""

_seconds: dict[str, float] = {}
_failing: set[str] = set()


def pytest_configure() -> None:
    """Bounds this process and the ones it starts."""
    if MEMORY in os.environ:
        bound = int(os.environ[MEMORY])
        resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tells the probes whose hits the next ones are."""
    if PROBED in os.environ:
        import_module(os.environ[PROBED]).begin(item.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the chosen tests, in the order of the file."""
    if CHOSEN not in os.environ:
        return
    names = Path(os.environ[CHOSEN]).read_text(encoding="utf-8").splitlines()
    order = {name: at for at, name in enumerate(names)}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Tries changes in forks instead of running the tests, where somebody asks."""
    if serving.SERVE not in os.environ:
        return None
    serving.serve(session)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds up set-up, call and teardown."""
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _failing.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes what was seen, in the process that hears of all tests."""
    if SEEN in os.environ and not hasattr(session.config, "workerinput"):
        seen = {"seconds": _seconds, "failing": sorted(_failing)}
        Path(os.environ[SEEN]).write_text(json.dumps(seen), encoding="utf-8")
