"""The log of a component: one stream, standard error, in one form, whoever writes to it.

A server that cannot be reached, or that refuses our credentials, makes every watch, lease and round fail again and
again. At most one line a minute tells of either, with the number of those that were left out; at the level `debug` all
of them are there.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from fairlead.dataclass import dataclass
from fairlead.kube.errors import ApiError, UnreachableError

SECONDS = 60.0
"""Between two lines about a server that cannot be reached, or that does not know us."""
UNAUTHORIZED = 401
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


@dataclass(slots=True)
class _Muted:
    """Until when no further line of a kind is wanted, and how many were left out since the last one."""

    until: float = 0.0
    left_out: int = 0


class SeldomUnreachable(logging.Filter):
    """Lets one line about a server that is away pass in so many seconds, and one about a server that does not know us,
    each with how many did not.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._muted = {kind: _Muted() for kind in (_away, _unauthorized)}

    def filter(self, record: logging.LogRecord) -> bool:
        values = list(_values(record))
        muted = next((muted for kind, muted in self._muted.items() if any(map(kind, values))), None)
        if muted is None:
            return True
        now = self._clock()
        if now < muted.until:
            muted.left_out += 1
            return False
        if muted.left_out:
            _add(record, muted.left_out)
        muted.until, muted.left_out = now + SECONDS, 0
        return True


def _away(value: object) -> bool:
    return isinstance(value, UnreachableError)


def _unauthorized(value: object) -> bool:
    return isinstance(value, ApiError) and value.status == UNAUTHORIZED


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
