"""Objects of one resource that cannot be read or taken: each is left out and told, and told again when it is back."""

import logging
from typing import Any

from fairlead.kube.changes import Identified, Key, SetAside
from fairlead.kube.decode import why
from fairlead.kube.errors import AnswerError
from fairlead.kube.resources import Resource
from fairlead.model.errors import InputError
from fairlead.model.faults import fault

log = logging.getLogger(__name__)


class LeftOut:
    """`aside` is told of each; without it the log is. `keys` are those that are left out now."""

    def __init__(self, resource: Resource[Any], aside: SetAside | None) -> None:
        self.keys: set[Key] = set()
        self._resource = resource
        self._aside = aside

    def add(self, metadata: Identified, error: Exception, *, gone: bool = False) -> None:
        """The object cannot be read or taken, which people are told; one that is `gone` is not kept in mind."""
        if isinstance(error, AnswerError):
            error = InputError(f"{self._resource.kind} {metadata.name}", f"cannot be read: {why(error)}")
        if not gone:
            self.keys.add((metadata.namespace, metadata.name))
        name = f"{metadata.namespace}/{metadata.name}".lstrip("/")
        if self._aside is None:
            log.error("%s %s is left out: %s", self._resource.kind, name, fault(error))
        else:
            self._aside(self._resource, metadata, error)
            if gone:
                self._aside(self._resource, metadata, None)

    def back(self, metadata: Identified, *, gone: bool = False) -> None:
        """The object is read again, or gone: then it is told whatever was known of it."""
        key = (metadata.namespace, metadata.name)
        if self._aside is not None and (gone or key in self.keys):
            self._aside(self._resource, metadata, None)
        self.keys.discard(key)
