"""AdmissionReview (admission.k8s.io/v1): the question as typed shapes, the answer as plain values."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.kube.objects.meta import ApiShape
from fairlead.model.errors import InputError
from fairlead.text.mistakes import UNREADABLE, words

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
MOST_WARNING = 256
"""The API server cuts longer warnings."""

Patch = list[dict[str, Any]]


class GroupKind(ApiShape, frozen=True):
    group: str = ""
    version: str = ""
    kind: str = ""


class ReviewRequest(ApiShape, frozen=True):
    """What is about to happen. `object` is absent when something is deleted, `old_object` when it is created."""

    uid: str = ""
    kind: GroupKind = GroupKind()
    sub_resource: str | None = None
    name: str | None = None
    namespace: str | None = None
    operation: str = ""
    object: Any = None
    old_object: Any = None
    dry_run: bool | None = None


class Review(ApiShape, frozen=True):
    """The envelope. Fields that later versions add are ignored."""

    api_version: str
    kind: str
    request: ReviewRequest

    def __post_init__(self) -> None:
        if (self.api_version, self.kind) != (API_VERSION, KIND):
            raise ValueError(f"{self.api_version} {self.kind} is not understood; expected {API_VERSION} {KIND}")


_DECODER = msgspec.json.Decoder(Review)
_ENCODER = msgspec.json.Encoder()


def decode(raw: bytes) -> Review:
    """The review in a request body; anything else is `InputError`."""
    try:
        return _DECODER.decode(raw)
    except msgspec.ValidationError as error:
        message, path = words(error)
        raise InputError(path, message) from None
    except UNREADABLE as error:
        raise InputError("$", f"is not JSON: {words(error)[0]}") from None


def allow(
    uid: str,
    *,
    patch: Sequence[Mapping[str, Any]] = (),
    warnings: Sequence[str] = (),
    audit: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The object is admitted, changed by `patch` where there is one."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(_ENCODER.encode(patch)).decode()
    return _envelope(response, warnings, audit)


def refuse(uid: str, *, code: int, reason: str, message: str, retry_seconds: int | None = None) -> dict[str, Any]:
    """The object is refused; `code` and `reason` are those of the Status that the user's client sees."""
    status: dict[str, Any] = {"status": "Failure", "code": code, "reason": reason, "message": message}
    if retry_seconds is not None:
        status["details"] = {"retryAfterSeconds": retry_seconds}
    return _envelope({"uid": uid, "allowed": False, "status": status}, (), None)


def patch_of(review: Mapping[str, Any]) -> Patch:
    """The operations carried by an answer, none where it carries no patch."""
    text = review["response"].get("patch")
    return [] if text is None else msgspec.json.decode(base64.b64decode(text), type=Patch)


def _envelope(response: dict[str, Any], warnings: Sequence[str], audit: Mapping[str, str] | None) -> dict[str, Any]:
    if warnings:
        response["warnings"] = [text[:MOST_WARNING] for text in warnings]
    if audit:
        response["auditAnnotations"] = dict(audit)
    return {"apiVersion": API_VERSION, "kind": KIND, "response": response}
