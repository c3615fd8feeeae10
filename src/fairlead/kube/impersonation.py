"""Impersonation: a kubeconfig's `as`, `as-uid`, `as-groups` and `as-user-extra` as headers of every request."""

import re
import string
from collections.abc import Iterator

from fairlead.kube.kubeconfig import User
from fairlead.model.errors import InputError

Fields = tuple[tuple[str, str], ...]
"""Header names and values; a name may stand there several times."""

PREFIX = "Impersonate-"

_LEGAL = frozenset("!#$&'*+-.^_`|~" + string.ascii_letters + string.digits)
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?").fullmatch


def impersonation(user: User, place: str) -> Fields:
    """The headers, none where nobody else is named. What no header can carry is bad input."""
    named = tuple(_named(user))
    if named and not user.as_user:
        raise InputError(f"{place}.as", "as-uid, as-groups and as-user-extra need a user to act as")
    for name, value in named:
        if not _VALUE(value):
            raise InputError(f"{place}.as", f"{value!r} cannot be sent in the header {name}")
    return named


def _named(user: User) -> Iterator[tuple[str, str]]:
    if user.as_user:
        yield f"{PREFIX}User", user.as_user
    if user.as_uid:
        yield f"{PREFIX}Uid", user.as_uid
    for group in user.as_groups:
        yield f"{PREFIX}Group", group
    for key, values in user.as_user_extra.items():
        for value in values:
            yield f"{PREFIX}Extra-{_escaped(key)}", value


def _escaped(key: str) -> str:
    """A key as part of a header's name: every other byte as %XX, as client-go writes it."""
    return "".join(chr(byte) if chr(byte) in _LEGAL else f"%{byte:02X}" for byte in key.encode())
