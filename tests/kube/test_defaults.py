"""Numbers that an object does not tell are nought, as the API server leaves them out; the few others are named here."""

from collections.abc import Iterator

import msgspec.inspect as inspect

from fairlead.kube.resources import ALL

OTHERS = {
    ("TopologySpreadConstraint", "maxSkew"): 1,
    ("GangPolicy", "minCount"): 1,
}


def structs(part: inspect.Type, seen: set[type]) -> Iterator[inspect.StructType]:
    """Every shape below a type, once."""
    match part:
        case inspect.UnionType(types=types):
            for each in types:
                yield from structs(each, seen)
        case inspect.StructType(cls=cls, fields=fields) if cls not in seen:
            seen.add(cls)
            yield part
            for field in fields:
                yield from structs(field.type, seen)
        case inspect.VarTupleType(item_type=inner) | inspect.DictType(value_type=inner):
            yield from structs(inner, seen)


def test_numbers_that_are_not_told_are_nought() -> None:
    """Over every shape of every resource that is read."""
    seen: set[type] = set()
    defaults = {
        (shape.cls.__name__, field.encode_name): field.default
        for resource in ALL
        for shape in structs(inspect.type_info(resource.shape), seen)
        for field in shape.fields
        if isinstance(field.default, int | float) and not isinstance(field.default, bool)
    }
    assert len(defaults) > 40
    assert {name: value for name, value in defaults.items() if value != 0} == OTHERS
