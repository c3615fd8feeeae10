"""Templates as `kubectl -o jsonpath=` takes them, in part (docs/decisions/0396): `{.sites[0].workloads[*].name}`.

    template  text, and in braces a path, a quoted text, `range PATH` or `end`
    path      .key  ['key']  [0]  [-1]  [1:3]  [*]  .*  [?(@.key == value)]

A step that finds nothing gives nothing, as for kubectl; what is not understood is refused with its place.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError

Step = Callable[[Any], Iterator[Any]]
"""From one value to those that it leads to."""

TOKEN = re.compile(r"\{((?:[^{}\"']|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')*)\}|([^{}]+)|([{}])")
STEP = re.compile(
    r"\.?\[\s*(?:(?P<index>-?\d+)|(?P<low>-?\d*):(?P<high>-?\d*)|(?P<all>\*)|'(?P<quoted>[^']*)'|\"(?P<double>[^\"]*)\""
    r"|\?\(\s*@(?P<left>[^\s<>=!]*)\s*(?P<sign>==|!=|<=|>=|<|>)\s*(?P<right>[^)]*?)\s*\)"
    r"|\?\(\s*@(?P<present>[^\s<>=!)]*)\s*\))\s*\]"
    r"|\.(?P<every>\*)|\.(?P<key>(?:[\w/-]|\\.)+)"
)
MOST_PATH, MOST_RANGES = 500, 20
"""Characters of one path, and ranges within each other: far above what a record has, so that nothing runs deep."""
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Range:
    """What stands between `{range PATH}` and `{end}`, once for each value."""

    steps: tuple[Step, ...]
    parts: "list[str | tuple[Step, ...] | Range]"


def rendered(template: str, record: Any) -> str:
    """The template filled with values of the record. `InputError` names the part that is not understood."""
    if any("\ud800" <= each <= "\udfff" for each in template):
        raise InputError("jsonpath", f"{template!a} is not UTF-8")
    return "".join(_texts(_parsed(template), record))


def _texts(parts: "Sequence[str | tuple[Step, ...] | Range]", value: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, Range):
            for each in _found(part.steps, value):
                yield from _texts(part.parts, each)
        else:
            yield " ".join(map(_text, _found(part, value)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(template: str) -> "list[str | tuple[Step, ...] | Range]":
    if "{" not in template:
        raise InputError("jsonpath", f"{template!r} has no path; expected one in braces, such as {{.unplaced}}")
    whole: list[str | tuple[Step, ...] | Range] = []
    open_ = [whole]
    for found in TOKEN.finditer(template):
        inside, text, brace = found.groups()
        if brace:
            raise InputError("jsonpath", f"a lone {brace} at {found.start() + 1}; expected {{…}} around each path")
        if text is not None:
            open_[-1].append(text)
            continue
        words = inside.strip()
        if words == "end":
            if len(open_) == 1:
                raise InputError("jsonpath", f"{{end}} at {found.start() + 1} ends no {{range}}")
            open_.pop()
        elif words.startswith("range "):
            if len(open_) > MOST_RANGES:
                raise InputError("jsonpath", f"more than {MOST_RANGES} {{range}} within each other")
            block = Range(_steps(words.removeprefix("range ").strip()), [])
            open_[-1].append(block)
            open_.append(block.parts)
        else:
            open_[-1].append(_quoted(words) if words[:1] in ("'", '"') else _steps(words))
    if len(open_) > 1:
        raise InputError("jsonpath", "a {range} has no {end}")
    return whole


def _quoted(words: str) -> str:
    if len(words) < 2 or words[-1] != words[0]:
        raise InputError("jsonpath", f"{words} is not closed")
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), words[1:-1])


def _steps(path: str) -> tuple[Step, ...]:
    if len(path) > MOST_PATH:
        raise InputError("jsonpath", f"a path of {len(path)} characters; expected at most {MOST_PATH}")
    rest = path.removeprefix("$").removeprefix("@")
    rest = f".{rest}" if rest and rest[0] not in ".[" else rest
    if ".." in rest:
        raise InputError("jsonpath", f"{path!r}: .. is not implemented; name every step of the way")
    steps: list[Step] = []
    while rest not in ("", "."):
        found = STEP.match(rest)
        if found is None:
            raise InputError("jsonpath", f"{path!r} is not understood from {rest!r} on; expected .KEY, [0] or [*]")
        steps.append(_step(found))
        rest = rest[found.end() :]
    return tuple(steps)


def _step(found: "re.Match[str]") -> Step:
    part = found.groupdict()
    if part["index"] is not None:
        return _slice(int(part["index"]), int(part["index"]) + 1 or None)
    if part["low"] is not None:
        return _slice(*(int(each) if each else None for each in (part["low"], part["high"])))
    if part["all"] or part["every"]:
        return _all
    if part["sign"]:
        return _where(_steps(part["left"]), SIGNS[part["sign"]], part["right"])
    if part["present"] is not None:
        steps = _steps(part["present"])
        return lambda value: (each for each in _all(value) if _found(steps, each))
    key = next(part[name] for name in ("quoted", "double", "key") if part[name] is not None)
    return _key(re.sub(r"\\(.)", r"\1", key))


def _key(key: str) -> Step:
    return lambda value: iter([value[key]] if isinstance(value, dict) and key in value else [])


def _slice(low: int | None, high: int | None) -> Step:
    return lambda value: iter(value[low:high] if isinstance(value, (list, tuple)) else [])


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


def _where(steps: tuple[Step, ...], holds: Callable[[Any, Any], bool], text: str) -> Step:
    wanted = text[1:-1] if text[:1] in ("'", '"') else _number(text)

    def kept(value: Any) -> Iterator[Any]:
        for each in _all(value):
            for found in _found(steps, each):
                if _kind(found) == _kind(wanted) != "other" and holds(found, wanted):
                    yield each
                    break

    return kept


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        expected = "expected a number, true, false or a quoted text"
        raise InputError("jsonpath", f"{text!r} in a condition; {expected}") from None


def _kind(value: Any) -> str:
    """What can be compared with each other."""
    if isinstance(value, bool):
        return "truth"
    return "text" if isinstance(value, str) else "number" if isinstance(value, (int, float)) else "other"


def _found(steps: Sequence[Step], value: Any) -> Sequence[Any]:
    values = [value]
    for step in steps:
        values = [each for one in values for each in step(one)]
    return values
