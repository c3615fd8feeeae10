"""What every object carries: metadata, owners, selectors, conditions."""

from typing import Any

import msgspec

Quantity = str | int | float
"""An amount as written: built-in kinds always send text, custom resources may hold plain numbers."""

Quantities = dict[str, Quantity]
Raw = dict[str, Any]


class ApiShape(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all shapes. Out of sight of the cycle collector: they hold no cycles, and there are many."""


class OwnerReference(ApiShape, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(ApiShape, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object, if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Bare(ApiShape, frozen=True):
    """Any object, seen only by its metadata."""

    metadata: ObjectMeta = ObjectMeta()


class RequirementSpec(ApiShape, frozen=True):
    """One expression of a label, node or field selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelectorSpec(ApiShape, frozen=True):
    """Empty selects everything; absent (None at the place of use) selects nothing."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[RequirementSpec, ...] = ()


class Condition(ApiShape, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_probe_time: str | None = None
    observed_generation: int = 0


class ObjectReference(ApiShape, frozen=True):
    """Points at one object, for events, claims and the like."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
