"""The log of a component: one stream, standard error, in one form, whoever writes to it.

A server that cannot be reached makes every watch, lease and round fail again and again. At most one line a minute tells
of it, with the number of those that were left out; at the level `debug` all of them are there.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from fairlead.kube.errors import UnreachableError

SECONDS = 60.0
"""Between two lines about a server that cannot be reached."""
LIBRARIES = ("aiohttp", "asyncio", "urllib3")
"""Loggers of others, which tell of themselves from warnings on."""


def start_log(form: str, level: str, stream: TextIO | None = None) -> None:
    """Write what any part of the process logs to one stream, as `console` or `json`, from this level on."""
    lowest = logging.getLevelNamesMapping()[level.upper()]
    out = stream or sys.stderr
    shared: list[Processor] = [structlog.stdlib.add_logger_name, structlog.stdlib.add_log_level, _stamp]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(lowest),
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    render: Any = structlog.dev.ConsoleRenderer(colors=out.isatty(), pad_event_to=30)
    if form == "json":
        render = structlog.processors.JSONRenderer(ensure_ascii=False)
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _words, render],
        )
    )
    if lowest > logging.DEBUG:
        handler.addFilter(SeldomUnreachable(time.monotonic))
    logging.basicConfig(level=lowest, handlers=[handler], force=True)
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(max(lowest, logging.WARNING))


_stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)


def _words(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """An error among the values as its words."""
    return {key: str(value) if isinstance(value, Exception) else value for key, value in event.items()}


class SeldomUnreachable(logging.Filter):
    """Lets one line about an unreachable server pass in so many seconds, with how many did not."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._until = 0.0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        if not any(isinstance(each, UnreachableError) for each in _values(record)):
            return True
        now = self._clock()
        if now < self._until:
            self._left_out += 1
            return False
        if self._left_out:
            _add(record, self._left_out)
        self._until, self._left_out = now + SECONDS, 0
        return True


def _values(record: logging.LogRecord) -> Iterable[object]:
    """What a line is made of: the fields of ours are a mapping, those of the standard library its arguments."""
    if isinstance(record.msg, dict):
        return record.msg.values()
    return record.args.values() if isinstance(record.args, Mapping) else record.args or ()


def _add(record: logging.LogRecord, left_out: int) -> None:
    if isinstance(record.msg, dict):
        record.msg["left_out"] = left_out
    else:
        record.msg, record.args = f"{record.getMessage()} ({left_out} lines like this were left out)", ()
