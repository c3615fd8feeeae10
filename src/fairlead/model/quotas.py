"""Hard bounds on what a namespace may hold."""

from collections.abc import Mapping

from fairlead.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceQuota:
    """`hard` has amounts in the unit of their resource, without what pods that are being deleted still hold of it; a
    resource that is not named is not bounded."""

    name: str
    namespace: str
    hard: Mapping[str, int]
