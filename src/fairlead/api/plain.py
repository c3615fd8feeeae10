"""What a caller gives, as plain values: mappings and lists become JSON, and files are read where a path is given."""

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from fairlead.kube.manifests.load import NO_PATH
from fairlead.model.errors import InputError

PathLike = str | os.PathLike[str]


def plain(value: Any, place: str) -> Any:
    """A copy of the value with nothing in it but what JSON has; anything else is bad input."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=_stamp))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(place, f"{str(error).lower()}; expected values that JSON has") from None


def _stamp(value: Any) -> str:
    """A YAML reader makes dates of times; Kubernetes writes them as text."""
    if isinstance(value, date):
        return value.isoformat().replace("+00:00", "Z")
    raise TypeError(f"a value of type {type(value).__name__}")


def file_bytes(path: PathLike) -> bytes:
    """The bytes of a file; `InputError` where it cannot be read."""
    try:
        return Path(path).read_bytes()
    except IsADirectoryError:
        raise InputError(str(path), "is a directory; expected a file") from None
    except OSError as error:
        raise InputError(str(path), (error.strerror or str(error)).lower()) from None
    except ValueError:
        raise InputError(repr(path), NO_PATH) from None


def text_of(source: PathLike | Mapping[str, Any], place: str) -> tuple[bytes, str]:
    """A file or a mapping as text, and its name in messages."""
    if isinstance(source, Mapping):
        return json.dumps(plain(source, place)).encode(), place
    if not isinstance(source, str | os.PathLike):
        raise InputError(place, f"a value of type {type(source).__name__}; expected a file or a mapping")
    return file_bytes(source), str(source)
