"""The messages of Karmada's estimators as protobuf's own library reads them, of two releases.

Only the fields that a scheduler sends and reads are there; amounts, affinity and tolerations are read as bytes.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TEXT, BYTES, NUMBER = (
    descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
    descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
)
Fields = Mapping[str, tuple[int, Any, bool]]
"""Number, type (a name for that of a message), whether it is repeated."""

ENTRY: Fields = {"key": (1, TEXT, False), "value": (2, BYTES, False)}
COMPONENT: Fields = {
    "name": (1, TEXT, False),
    "replicaRequirements": (2, "ComponentRequirements", False),
    "replicas": (3, NUMBER, False),
}


def schema(*, affinity: int, tolerations: int, amounts: int, set_amounts: int) -> Mapping[str, type[Any]]:
    """The messages with the numbers that changed in Karmada 1.18."""
    messages: dict[str, Fields] = {
        "Entry": ENTRY,
        "Component": COMPONENT,
        "NodeClaim": {
            "nodeAffinity": (affinity, BYTES, False),
            "nodeSelector": (2, "Entry", True),
            "tolerations": (tolerations, BYTES, True),
        },
        "Requirements": {
            "nodeClaim": (1, "NodeClaim", False),
            "namespace": (3, TEXT, False),
            "priorityClassName": (4, TEXT, False),
            "resourceRequest": (amounts, "Entry", True),
        },
        "ComponentRequirements": {
            "nodeClaim": (1, "NodeClaim", False),
            "priorityClassName": (3, TEXT, False),
            "resourceRequest": (set_amounts, "Entry", True),
        },
        "ReplicasRequest": {"cluster": (1, TEXT, False), "replicaRequirements": (2, "Requirements", False)},
        "SetsRequest": {
            "cluster": (1, TEXT, False),
            "components": (2, "Component", True),
            "namespace": (3, TEXT, False),
        },
        "Answer": {"most": (1, NUMBER, False)},
    }
    return _compiled(messages)


def _compiled(messages: Mapping[str, Fields]) -> Mapping[str, type[Any]]:
    file = descriptor_pb2.FileDescriptorProto(name="estimator.proto", package="e", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, repeated) in fields.items():
            added = message.field.add(name=field, number=number, label=3 if repeated else 1)
            if isinstance(kind, str):
                added.type, added.type_name = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, f".e.{kind}"
            else:
                added.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"e.{name}")) for name in messages}


OLD = schema(affinity=1, tolerations=3, amounts=2, set_amounts=2)
"""Up to Karmada 1.17."""
NEW = schema(affinity=4, tolerations=5, amounts=5, set_amounts=4)
