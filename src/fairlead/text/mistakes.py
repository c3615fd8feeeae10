"""msgspec's errors in our words: the path of a mistake and a sentence, for everything that decodes."""

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from fairlead.model.errors import InputError

T = TypeVar("T")

UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What decoding raises for a text or a value that is not what was expected."""
_STEP = re.compile(r"\.([^.\[]+)|\[(?:([0-9]+)|\.{3})\]")
_NUMBER = re.compile(r"\[[0-9]+\]")
_SOME_KEY, _OF_A_KEY = "[...]", "key` in `"
"""What msgspec writes for a member of a mapping, whichever it is, and for a key that is itself no text."""
_UNKNOWN = re.compile(r"(?is)object contains unknown field (.+?)(?:; (?:did you mean|expected one of) .*)?\Z")


def parsed(text: str, kind: type[T], place: str) -> T:
    """JSON as `kind`; `InputError` at `place` where it cannot be read."""
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as error:
        raise mistake(error, place) from None


def converted(value: Any, kind: type[T], place: str) -> T:
    """A value that was parsed already as `kind`; `InputError` at `place` where it is something else."""
    try:
        return msgspec.convert(value, kind)
    except UNREADABLE as error:
        message, path = words(error)
        raise _within(place, exact(path, error, value, kind), message) from None


def mistake(error: Exception, place: str = "") -> InputError:
    """The error as bad input; `place` says what was read, and the path inside it (`spec.replicas`) comes after it."""
    message, path = words(error)
    return _within(place, path, message)


def _within(place: str, path: str, message: str) -> InputError:
    inner = path.removeprefix("$").removeprefix(".")
    return InputError(": ".join(filter(None, (place, inner))), message)


def words(error: Exception, kind: Any = None) -> tuple[str, str]:
    """The sentence without msgspec's quotes, and the JSON path, which is `$` for the whole.

    Where the type that was expected is given, a wrong choice is told with the choices there are, and an unknown
    field with the one that is probably meant.
    """
    if isinstance(error, RecursionError):
        return "nested too deeply", "$"
    if isinstance(error, UnicodeError):
        return "is not UTF-8 text", "$"
    message, _, path = str(error).partition(" - at `")
    message = message.replace("`", "")
    path = path.rstrip("`") or "$"
    if not message.startswith("JSON"):
        message = message[:1].lower() + message[1:]
    if path.startswith(_OF_A_KEY):
        return f"a key: {message}", path.removeprefix(_OF_A_KEY)
    return message + (_hint(message, path, kind) if kind is not None else ""), path


def exact(path: str, error: Exception, value: Any, kind: Any) -> str:
    """The path with the keys that lead to the mistake, `cpu.7` for `cpu[...]`: halves of a mapping are tried alone."""
    if _SOME_KEY not in path:
        return path
    mistake = _mistake(error)
    trail: list[Any] = []
    inner = value
    for field, number in _STEP.findall(path):
        step = field or (int(number) if number else None)
        if step is None:
            step = _wrong_key(value, trail, inner, kind, mistake) if isinstance(inner, dict) else None
        if step is None:
            return path
        inner = inner[step]
        trail.append(step)
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in trail)


def _wrong_key(value: Any, trail: list[Any], inner: dict[Any, Any], kind: Any, mistake: tuple[str, str]) -> Any:
    """The first key of the mapping at the end of the trail whose member has the mistake; None where none has it."""
    keys = list(inner)
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        keys = half if _fails(value, trail, half, kind, mistake) else keys[len(half) :]
    return keys[0] if keys and _fails(value, trail, keys, kind, mistake) else None


def _fails(value: Any, trail: list[Any], keys: list[Any], kind: Any, mistake: tuple[str, str]) -> bool:
    """Whether the mistake is there with these members alone of the mapping at the end of the trail."""
    try:
        msgspec.convert(_alone(value, trail, keys), kind)
    except UNREADABLE as error:
        return _mistake(error) == mistake
    return False


def _mistake(error: Exception) -> tuple[str, str]:
    """The mistake, wherever in a list it is."""
    message, path = words(error)
    return message, _NUMBER.sub("", path)


def _alone(value: Any, trail: list[Any], keys: list[Any]) -> Any:
    """A copy of the value in which the trail leads past one item of each list to these members of the mapping."""
    if not trail:
        return {key: value[key] for key in keys}
    inner = _alone(value[trail[0]], trail[1:], keys)
    return [inner] if isinstance(value, list) else {**value, trail[0]: inner}


def unknown_field(message: str) -> str:
    """The field that a sentence of ours says is not known, empty where it says something else."""
    found = _UNKNOWN.search(message)
    return found[1] if found else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?` where one of the known words is close, else nothing."""
    from difflib import get_close_matches  # only where something is wrong

    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else ""


def _hint(message: str, path: str, kind: Any) -> str:
    unknown = unknown_field(message)
    choices = [each for found in _types(kind, path) for each in _choices(found, fields=bool(unknown))]
    if unknown:
        return did_you_mean(unknown, choices) or (f"; expected one of {', '.join(choices)}" if choices else "")
    return f"; expected one of {', '.join(choices)}" if choices and "enum value" in message else ""


def _choices(found: Any, *, fields: bool) -> list[str]:
    """The names of a struct's fields, or the values of an enum or a literal."""
    if fields:
        return [each.encode_name for each in found.fields] if isinstance(found, msgspec.inspect.StructType) else []
    if isinstance(found, msgspec.inspect.EnumType):
        return [str(each.value) for each in found.cls]
    return [str(each) for each in found.values] if isinstance(found, msgspec.inspect.LiteralType) else []


def _types(kind: Any, path: str) -> list[Any]:
    """The types that may stand at a path inside a type."""
    found = _opened(msgspec.inspect.type_info(kind))
    for step in _STEP.finditer(path):
        found = [inner for each in found for inner in _opened(_inside(each, step[1]))]
    return found


def _inside(found: Any, name: str | None) -> Any:
    """The type of a field, or of the members of a list or a mapping."""
    if name and isinstance(found, msgspec.inspect.StructType):
        return next((each.type for each in found.fields if each.encode_name == name), None)
    return getattr(found, "value_type", None) or getattr(found, "item_type", None)


def _opened(found: Any) -> list[Any]:
    """A union as its members, metadata left off; nothing for nothing."""
    if isinstance(found, msgspec.inspect.UnionType):
        return [inner for each in found.types for inner in _opened(each)]
    if isinstance(found, msgspec.inspect.Metadata):
        return _opened(found.type)
    return [] if found is None else [found]
