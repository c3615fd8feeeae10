"""The volumes a replica asks for: `AUTO:/data:rw:100`, `/host:/data:ro`."""

import re

from fairlead.dataclass import dataclass
from fairlead.model.amounts import amount
from fairlead.model.errors import InputError

AUTO = "AUTO"
_FLAGS = re.compile(r"[a-z]*")
_BYTES = re.compile(r"(?<=[KMGTPEki])B$")
_EXPECTED = 'expected source:target[:flags[:size]], such as "AUTO:/data:rw:100"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One volume of a request.

    `auto`: a volume of the node is chosen for it; otherwise it is a plain path that binds and limits nothing.
    `whole`: a volume of the node is taken entirely, for one replica alone. Size 0 charges nothing.
    """

    text: str
    target: str
    auto: bool
    whole: bool
    size_bytes: int


def mount(text: str, path: str = "") -> Mount:
    """The mount that `text` describes; `m` among the flags asks for a whole volume."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 4 or not parts[0] or not parts[1]:
        raise InputError(path, f"{text!r} is not a volume; {_EXPECTED}")
    source, target, flags, size = (*parts, "", "")[:4] if len(parts) < 4 else parts
    if not _FLAGS.fullmatch(flags):
        raise InputError(path, f"{flags!r} in {text!r} are not flags; {_EXPECTED}")
    # Docker's spelling of the suffixes (GiB, GB) means the same as Kubernetes' (Gi, G).
    size_bytes = amount("storage", _BYTES.sub("", size), path) if size else 0
    auto = source == AUTO
    return Mount(text=text, target=target, auto=auto, whole=auto and "m" in flags, size_bytes=size_bytes)


def mounts(texts: list[str], path: str) -> tuple[Mount, ...]:
    """Every mount of a request. Two chosen volumes at one target are bad input."""
    result = tuple(mount(text, f"{path}[{row}]") for row, text in enumerate(texts))
    seen: set[str] = set()
    for row, each in enumerate(result):
        if each.auto and each.target in seen:
            raise InputError(f"{path}[{row}]", f"{each.target!r} is mounted twice; expected distinct targets")
        if each.auto:
            seen.add(each.target)
    return result
