"""msgspec's errors in our words, and only there."""

import ast
from pathlib import Path

import msgspec
import pytest

import fairlead
from fairlead.model.errors import InputError
from fairlead.text.mistakes import converted, parsed

SOURCE = Path(fairlead.__file__).parent


class Wanted(msgspec.Struct):
    """One field, and members that are not looked at."""

    count: int


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ('{"count": "3"}', "here: count: expected int, got str"),
        ("{}", "here: object missing required field count"),
        ('{"count" 3}', "here: JSON is malformed: expected ':' (byte 9)"),
        ('{"count": 3', "here: input data was truncated"),
        ('{"other": "\ud800"}', "here: is not UTF-8 text"),
        ('{"other": ' + "[" * 5000 + "]" * 5000 + "}", "here: nested too deeply"),
    ],
    ids=["another type", "a field too few", "no JSON", "half a text", "half a character", "deep nesting"],
)
def test_text_that_cannot_be_read_is_bad_input_with_its_place(text: str, want: str) -> None:
    """Whatever is wrong with it, one kind of error comes."""
    with pytest.raises(InputError) as found:
        parsed(text, Wanted, "here")
    assert str(found.value) == want


def test_value_of_another_type_is_bad_input_with_its_place() -> None:
    """What was parsed elsewhere is told in the same words."""
    assert converted({"count": 3}, Wanted, "here") == Wanted(3)
    with pytest.raises(InputError, match=r"^here: count: expected int, got null$"):
        converted({"count": None}, Wanted, "here")
    with pytest.raises(InputError, match=r"^here: b: expected int, got str$"):
        converted({"a": 1, "b": "2"}, dict[str, int], "here")


def raw_texts(tree: ast.AST) -> list[int]:
    """Lines at which an error of decoding is put into a text as msgspec words it."""
    found = []
    for handler in ast.walk(tree):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None or handler.name is None:
            continue
        if "msgspec" not in ast.unparse(handler.type) and "UNREADABLE" not in ast.unparse(handler.type):
            continue
        shown = [each.value for each in ast.walk(handler) if isinstance(each, ast.FormattedValue)]
        shown += [each.args[0] for each in ast.walk(handler) if isinstance(each, ast.Call) and _is_str(each)]
        found += [each.lineno for each in shown if isinstance(each, ast.Name) and each.id == handler.name]
    return found


def _is_str(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "str" and bool(call.args)


def test_raw_texts_are_found() -> None:
    """In a template and by `str`."""
    text = 'try: a()\nexcept UNREADABLE as e: b(f"{e}")\nexcept msgspec.DecodeError as e:\n  b(str(e))'
    assert raw_texts(ast.parse(text)) == [2, 4]
    assert raw_texts(ast.parse("try: a()\nexcept UNREADABLE as e: b(words(e))")) == []


def test_errors_of_decoding_are_put_into_words_in_one_place() -> None:
    """No module shows msgspec's own sentence; `mistakes` takes off its quotes and names the place."""
    found = {
        str(path.relative_to(SOURCE)): lines
        for path in sorted(SOURCE.rglob("*.py"))
        if (lines := raw_texts(ast.parse(path.read_text())))
    }
    assert found == {}
