"""The typed shapes against the schema that the API server itself publishes."""

from collections.abc import Iterator
from typing import Any

import msgspec.inspect as inspect
import pytest
from tools.controlplane.api import Api

from fairlead.kube.resources import ALL
from tests.cluster.versions import newest

SHARED = {
    "conditions[].lastProbeTime",
    "conditions[].observedGeneration",
    "statefulsets.spec.updateStrategy.rollingUpdate.maxSurge",
    "replicasets.status.updatedReplicas",
}
"""Fields of a shape that serves several kinds, where this kind does not have them."""

PLAIN: dict[type, str] = {inspect.StrType: "string", inspect.IntType: "integer", inspect.BoolType: "boolean"}


class Schema:
    """The OpenAPI document of a server, with its references followed."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.parts: dict[str, Any] = document["definitions"]
        self.kinds = {
            (each["group"], each["version"], each["kind"]): part
            for part in self.parts.values()
            for each in part.get("x-kubernetes-group-version-kind", ())
        }

    def follow(self, part: dict[str, Any]) -> dict[str, Any]:
        name = part.get("$ref", "").rpartition("/")[2]
        return self.parts[name] if name else part

    def differences(self, shape: inspect.Type, part: dict[str, Any], path: str) -> Iterator[str]:
        """Where the shape asks for a field that is not there, or is of another type."""
        part = self.follow(part)
        if isinstance(shape, inspect.UnionType):
            some = [each for each in shape.types if not isinstance(each, inspect.NoneType)]
            if len(some) == 1:
                yield from self.differences(some[0], part, path)
        elif isinstance(shape, inspect.StructType):
            for field in shape.fields:
                inner = part.get("properties", {}).get(field.encode_name)
                below = f"{path}.{field.encode_name}"
                if inner is None:
                    yield below
                else:
                    yield from self.differences(field.type, inner, below)
        elif isinstance(shape, inspect.VarTupleType):
            yield from self.differences(shape.item_type, part.get("items", {}), f"{path}[]")
        elif isinstance(shape, inspect.DictType):
            if not isinstance(shape.value_type, inspect.AnyType):
                yield from self.differences(shape.value_type, part.get("additionalProperties", {}), f"{path}{{}}")
        elif PLAIN.get(type(shape), part.get("type")) != part.get("type"):
            yield f"{path} ({part.get('type')})"


@pytest.fixture(scope="module")
def schema(api: Api) -> Schema:
    return Schema(api.get("/openapi/v2"))


@newest
def test_every_field_of_a_shape_is_one_of_the_server(schema: Schema) -> None:
    """A field misspelt in a shape would be silently absent for ever; here it is found."""
    checked, wrong = [], []
    for resource in ALL:
        part = schema.kinds.get((resource.group, resource.version, resource.kind))
        # Custom resources are whatever definition another test has installed: only the server's own kinds are checked.
        built_in = "." not in resource.group or resource.group.endswith(".k8s.io")
        if part is None or not built_in:
            continue
        checked.append(resource.label)
        found = schema.differences(inspect.type_info(resource.shape), part, resource.plural)
        wrong += [each for each in found if not any(each.endswith(shared) for shared in SHARED)]
    assert wrong == []
    assert {"pods", "nodes", "leases.coordination.k8s.io", "events.events.k8s.io"} <= set(checked)
    assert len(checked) >= 20


def test_a_misspelt_field_would_be_found(schema: Schema) -> None:
    """The check itself works: a field that does not exist, and one of another type."""
    wrong = inspect.type_info(_misspelt())
    found = list(schema.differences(wrong, schema.kinds["", "v1", "Pod"], "pods"))
    assert found == ["pods.spec.hostNetwork (boolean)", "pods.spec.nodeNam"]


def _misspelt() -> type:
    import msgspec

    spec = msgspec.defstruct("Spec", [("hostNetwork", str, ""), ("nodeNam", str, "")])
    return msgspec.defstruct("Pod", [("spec", spec)])
