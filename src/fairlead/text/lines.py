"""The line of a text, JSON or YAML, at which the value of a path stands."""

import re

import yaml

from fairlead.dataclass import dataclass
from fairlead.text.mistakes import unknown_field
from fairlead.text.yaml import DEEPEST

Step = str | int
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def steps_of(path: str) -> tuple[Step, ...]:
    """`$.a[2].b` as its steps: a, 2, b."""
    return tuple(int(each[2]) if each[2] else each[1] for each in _STEP.finditer(path))


@dataclass(frozen=True, slots=True)
class Lines:
    """The first document of a text, with its places."""

    root: yaml.Node | None

    def at(self, path: str, message: str = "") -> int:
        """The line of the key (or list item) at a path, or of the field that the message says is unknown there."""
        unknown = unknown_field(message)
        node, line = self.root, self.root.start_mark.line if self.root else 0
        for step in (*steps_of(path), *([unknown] if unknown else ())):
            if isinstance(node, yaml.MappingNode):
                found = next(((key, value) for key, value in node.value if key.value == step), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line, found[1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line
        return line + 1


def lines_of(raw: bytes) -> Lines:
    """The places of a text that was read already; none where it is JSON that is no YAML, or nested too deeply."""
    text = raw.decode("utf-8-sig")
    if text.count("[") + text.count("{") > DEEPEST:
        return Lines(None)
    try:
        return Lines(next(iter(yaml.compose_all(text, Loader=yaml.CSafeLoader)), None))
    except (yaml.YAMLError, ValueError, RecursionError):
        return Lines(None)
