"""TLS towards the API server: what is trusted, which certificate is shown, and both again when their files change."""

import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fairlead.kube.config import Connection
from fairlead.kube.credentials import REREAD_SECONDS, Credential, read_text
from fairlead.model.errors import InputError

log = logging.getLogger(__name__)

Pair = tuple[str, str]
"""A certificate and its key, PEM text; empty where none is shown."""


class Trust:
    """The context for new connections.

    It is made anew when the authority's file or the client certificate has changed. A change that cannot be used (half
    written, or a key of another certificate) is logged and leaves the last good context in use (decisions/0229).
    """

    def __init__(self, connection: Connection, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._ca = connection.ca
        self._read_at = clock()
        self._pair: Pair = ("", "")
        self._tried = (self._ca, self._pair)
        self.context = tls_context(connection)

    def renewed(self, credential: Credential) -> bool:
        """Take over what has changed; True where `context` is another one now.

        Raises `InputError` where a first client certificate cannot be used.
        """
        pair = (credential.certificate, credential.key) if credential.certificate else self._pair
        wanted = (self._authority(), pair)
        if wanted == self._tried:
            return False
        try:
            self.context = tls_context(self._connection, ca=wanted[0], pair=wanted[1])
        except InputError as error:
            if self._pair == ("", "") and pair != self._pair:
                raise
            log.warning("the certificates in use are kept: %s", error)
            self._tried = wanted
            return False
        self._tried, (self._ca, self._pair) = wanted, wanted
        return True

    def _authority(self) -> str:
        """The authority as its file has it now; the one in use where there is no file or it cannot be read."""
        file, now = self._connection.ca_file, self._clock()
        if file is None or now - self._read_at < REREAD_SECONDS:
            return self._tried[0]
        self._read_at = now
        try:
            return read_text(Path(file), "certificate authority") or self._ca
        except InputError as error:
            log.warning("the certificate authority in use is kept: %s", error)
            return self._ca


def tls_context(connection: Connection, *, ca: str | None = None, pair: Pair = ("", "")) -> ssl.SSLContext:
    """What is trusted (`ca`, else the connection's) and shown. Raises `InputError` where one cannot be used."""
    try:
        context = ssl.create_default_context(cadata=(connection.ca if ca is None else ca) or None)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(connection.source, f"the certificate authority is not a PEM certificate: {error}") from error
    # Certificate authorities made for clusters often lack the extensions that the strict mode asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not connection.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if pair[0]:
        load_pair(context, *pair, place=connection.source)
    return context


def load_pair(context: ssl.SSLContext, certificate: str, key: str, *, place: str) -> None:
    """Load a certificate and its key from text. Raises `InputError` that names `place` and what is wrong."""
    try:
        with _as_file(f"{certificate}\n{key}\n".encode()) as name:
            context.load_cert_chain(name)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(place, f"the certificate and key cannot be used together: {error}") from error
    except OSError as error:
        raise InputError(place, f"the certificate and key cannot be handed to OpenSSL: {error}") from error


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """The name of a file with this content. OpenSSL reads files only.

    One in memory where the system has them: it needs no writable folder, and no key reaches a disk.
    """
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile(prefix="fairlead-") as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    handle = os.memfd_create("fairlead")
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
