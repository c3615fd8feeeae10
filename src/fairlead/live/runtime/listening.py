"""Addresses to listen at: read, and what is said where one cannot be had."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fairlead.model.errors import FairleadError, InputError

PORTS = range(2**16)
NO_ADDRESS = "is no address to listen at; expected HOST:PORT with a port from 0 to 65535"


class ListenError(FairleadError):
    """An address cannot be had: it is taken, or not one of this machine's."""


def host_and_port(listen: str, host: str) -> tuple[str, int]:
    """Both parts of HOST:PORT; `host` is for an address that names none."""
    named, _, port = listen.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) in PORTS):
        raise InputError(listen, NO_ADDRESS)
    return named.strip("[]") or host, int(port)


@contextmanager
def binding(listen: str) -> Iterator[None]:
    """What the system says of an address, as one line that names it."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        why = os.strerror(number) if number > 0 else error.strerror or str(error)
        raise ListenError(f"cannot listen at {listen}: {why.lower()}") from error
    except ValueError as error:
        # No host can be called so: a label is empty, or longer than 63 characters.
        raise InputError(listen, NO_ADDRESS) from error
