"""The validating endpoint: a workload whose annotation cannot be read is refused when its user applies it."""

from collections.abc import Mapping
from typing import Any

from fairlead.kube.admission.review import ReviewRequest, allow, refuse
from fairlead.kube.admission.rules import MINIMUM
from fairlead.levels.tier import reasons
from fairlead.levels.tier.minimum import parse_minimum
from fairlead.model.reasons import because

KINDS = ("Deployment", "StatefulSet")


def validate(request: ReviewRequest) -> dict[str, Any]:
    """Refuse a bad minimum; an update that leaves it as it was passes, so that an old mistake blocks nobody."""
    text = _minimum(request.object)
    unchanged = request.operation == "UPDATE" and text == _minimum(request.old_object)
    if text is None or unchanged or (isinstance(text, str) and parse_minimum(text) is not None):
        return allow(request.uid)
    finding = because(reasons.INVALID_MINIMUM, owner=request.name or "this workload", text=str(text)[:64])
    return refuse(
        request.uid, code=422, reason="Invalid", message=f"metadata.annotations[{MINIMUM}]: {finding.sentence}"
    )


def _minimum(value: Any) -> Any:
    """The annotation, None where there is none."""
    for key in ("metadata", "annotations", MINIMUM):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
