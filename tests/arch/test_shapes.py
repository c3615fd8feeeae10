"""Shapes of API objects have the fields that are read, and no others."""

import ast
from pathlib import Path

import fairlead

SOURCE = Path(fairlead.__file__).parent
SHAPES = SOURCE / "kube" / "objects"
UNREAD = {
    "transition_id": "written back with the conditions of a PodGroup",
    "last_probe_time": "written back with the conditions of a PodGroup",
    "current_state": "a Replica as written is compared whole with what a watch shows",
    "healthy_at": "a Replica as written is compared whole with what a watch shows",
    "started": "a Replica as written is compared whole with what a watch shows",
}
"""Fields that no code names, with what they are for."""


def fields() -> set[str]:
    """Of all shapes."""
    trees = [ast.parse(path.read_text()) for path in SHAPES.glob("*.py")]
    shapes = [each for tree in trees for each in tree.body if isinstance(each, ast.ClassDef)]
    assigned = [each.target for shape in shapes for each in shape.body if isinstance(each, ast.AnnAssign)]
    return {target.id for target in assigned if isinstance(target, ast.Name)}


def read() -> set[str]:
    """Every attribute that the source names, and every text that is such a name (for `getattr`)."""
    nodes = [each for path in SOURCE.rglob("*.py") for each in ast.walk(ast.parse(path.read_text()))]
    texts = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return {each.attr for each in nodes if isinstance(each, ast.Attribute)} | {each.lower() for each in texts}


def test_every_field_of_a_shape_is_read() -> None:
    """A field that nothing is decided by costs memory, and a wrong value in it would make the object unusable."""
    assert fields() - read() == set(UNREAD)
