"""YAML as Kubernetes reads it: duplicate keys refused, no dates, no sexagesimal numbers, errors with their line."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from fairlead.model.errors import InputError

DEEPEST = 500
MOST_DIGITS = 1000
"""Of an integer: one of thousands cannot even be printed, nor is it ever an amount."""
LARGEST = 5_000_000
"""Values of one document, aliases written out: a text of a few lines can stand for billions."""
_DEEP_LINE = re.compile(rf"^[ \t?:-]{{{DEEPEST},}}", re.MULTILINE)
"""A line whose first word stands so far to the right that its block may be too deep."""
_HELM = re.compile(r"\{\{-? *[.\w(\"/]")
HELM = "is a Helm template, not YAML; render it first: helm template CHART | fairlead plan -f -"


class _Loader(yaml.CSafeLoader):
    """The C parser with a stricter resolver."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen and key != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", key_node.start_mark
                )
            seen.add(key)
        mapping = super().construct_mapping(node, deep=deep)
        if not _TEXT.issuperset(map(type, mapping)):
            return self._with_text_keys(node, len(seen - {"<<"}), deep)
        return mapping

    def _with_text_keys(self, node: yaml.MappingNode, own: int, deep: bool) -> dict[Any, Any]:
        """Numbers and booleans that are keys, as the texts that they are in JSON: `{0: 100}` is `{"0": 100}`.

        The last `own` keys of the node are its own; what is merged into it stands before them and gives way. In a
        mapping of Python `1` and `true` are one key, so the texts are made before there is one.
        """
        keys = [_key(self.construct_object(key, deep=True)) for key, _ in node.value]
        given = keys[len(keys) - own :]
        if len(set(given)) < len(given):
            twice = next(key for key in given if given.count(key) > 1)
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice!r} is there twice", node.start_mark)
        return {key: self.construct_object(value, deep=deep) for key, (_, value) in zip(keys, node.value, strict=True)}


_TEXT = frozenset({str})


def _key(key: Any) -> Any:
    if isinstance(key, bool):
        return "true" if key else "false"
    return repr(key).removesuffix(".0") if isinstance(key, int | float) else key


def _without(tags: set[str]) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """The resolvers of the safe loader, less those whose tag is in `tags`."""
    return {
        first: [(tag, pattern) for tag, pattern in entries if tag not in tags]
        for first, entries in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_INT, _FLOAT, _DATE, _VALUE = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp", "value"))
# A plain `=` is a text, as Kubernetes has it: YAML 1.1 means a default value by it, which nothing can construct.
_Loader.yaml_implicit_resolvers = _without({_INT, _FLOAT, _DATE, _VALUE})
_Loader.add_implicit_resolver(
    _INT, re.compile(r"[-+]?(?:0b[01]+|0o[0-7]+|0x[0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


def _construct_int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = loader.construct_scalar(node).replace("+", "")
    if len(text) > MOST_DIGITS:
        raise yaml.constructor.ConstructorError(None, None, f"a number of {len(text)} digits", node.start_mark)
    if re.fullmatch(r"-?0[0-7]+", text):
        return int(text, 8)
    return int(text, 0)


_Loader.add_constructor(_INT, _construct_int)


def _too_deep(text: str) -> bool:
    """Whether the text nests deeper than `DEEPEST`; the C parser would overrun its stack on such a text.

    Counting is exact but slow, so it is done only where brackets or indentation leave the possibility.
    """
    brackets = text.count("[") + text.count("{")
    if brackets <= DEEPEST and not _DEEP_LINE.search(text):
        return False
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > DEEPEST:
                    return True
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        pass  # the loader finds the same mistake and names its place
    return False


def _expanded(value: Any, known: dict[int, int]) -> int:
    """How many values there are once every alias is written out. Each shared value is looked at once."""
    if not isinstance(value, dict | list):
        return 1
    size = known.get(id(value))
    if size is None:
        known[id(value)] = LARGEST + 1  # a value that holds itself has no end
        inner = value.values() if isinstance(value, dict) else value
        size = known[id(value)] = 1 + sum(_expanded(each, known) for each in inner)
    return size


def load_all(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """Every document of the text that is not empty, with the line it begins at.

    Raises `InputError` with the line of a mistake.
    """
    if _too_deep(text):
        raise InputError(source, f"is not valid YAML: nested more than {DEEPEST} levels deep")
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node said so
            value = loader.construct_document(node)
            if "*" in text and _expanded(value, {}) > LARGEST:
                raise InputError(
                    f"{source}:{node.start_mark.line + 1}", "is not valid YAML: its aliases expand too far"
                )
            if value is not None:
                yield node.start_mark.line + 1, value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip().count("\n")  # a mistake found at the end is told at the last line that says something
        place = f"{source}:{min(mark.line, last) + 1}" if mark else source
        if _HELM.search(text):
            raise InputError(place, HELM) from None
        raise InputError(place, f"is not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(source, f"is not valid YAML: {str(error).splitlines()[0]}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(source, f"is not valid YAML: {error}") from None
    finally:
        loader.dispose()
