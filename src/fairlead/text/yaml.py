"""YAML as Kubernetes reads it: duplicate keys refused, no dates, no sexagesimal numbers, errors with their line."""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from fairlead.model.errors import InputError


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
        return super().construct_mapping(node, deep=deep)


def _without(tags: set[str]) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """The resolvers of the safe loader, less those whose tag is in `tags`."""
    return {
        first: [(tag, pattern) for tag, pattern in entries if tag not in tags]
        for first, entries in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


_INT, _FLOAT, _DATE = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "timestamp"))
_Loader.yaml_implicit_resolvers = _without({_INT, _FLOAT, _DATE})
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
    if re.fullmatch(r"-?0[0-7]+", text):
        return int(text, 8)
    return int(text, 0)


_Loader.add_constructor(_INT, _construct_int)


def load_all(text: str, source: str) -> Iterator[tuple[int, Any]]:
    """Every document of the text that is not empty, with the line it begins at.

    Raises `InputError` with the line of a mistake.
    """
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            assert node is not None  # check_node said so
            value = loader.construct_document(node)
            if value is not None:
                yield node.start_mark.line + 1, value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = text.rstrip().count("\n")  # a mistake found at the end is told at the last line that says something
        place = f"{source}:{min(mark.line, last) + 1}" if mark else source
        raise InputError(place, f"is not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InputError(source, f"is not valid YAML: {str(error).splitlines()[0]}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(source, f"is not valid YAML: {error}") from None
    finally:
        loader.dispose()
