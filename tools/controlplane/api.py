"""The Kubernetes API over plain HTTPS, for setting scenes and looking at results in tests.

Deliberately not Fairlead's own client: a test that used the code under test to check it would prove little.
Paths are the API's own (`/api/v1/nodes`), objects are dicts as in JSON.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import select
import ssl
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode, urlsplit

Object = dict[str, Any]

PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


class ApiError(Exception):
    """The API server answered with an error: HTTP status, machine-readable reason, message."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


class Api:
    """One user's access to one API server. Safe to use from several threads; connections are kept open and shared."""

    def __init__(self, server: str, tls: ssl.SSLContext, token: str | None = None) -> None:
        self.server = server
        self._tls = tls
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: list[http.client.HTTPSConnection] = []
        weakref.finalize(self, _close_all, self._idle)

    @classmethod
    def from_kubeconfig(cls, path: Path | str) -> Api:
        """Access as the current context of a kubeconfig: token or client certificate, inline or in files."""
        import yaml

        config = yaml.safe_load(Path(path).read_text())
        wanted = config["current-context"]
        context = _named(config["contexts"], wanted)["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        authority = _content(cluster, "certificate-authority")
        tls = ssl.create_default_context(cadata=authority.decode() if authority else None)
        certificate, key = _content(user, "client-certificate"), _content(user, "client-key")
        if certificate and key:
            with TemporaryDirectory() as folder:
                both = Path(folder) / "client.pem"
                both.touch(mode=0o600)
                both.write_bytes(certificate + b"\n" + key)
                tls.load_cert_chain(both)
        return cls(cluster["server"], tls, user.get("token"))

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str | int] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        """Send one request and return the decoded answer; `ApiError` on an HTTP error."""
        payload = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": content_type, "Accept": "application/json"}
        send = (method, _target(path, query), payload, headers)
        try:
            response, content = self._exchange(self._connection(), send)
        except http.client.RemoteDisconnected:
            if method == "POST":
                raise  # it may have been carried out
            # The server closed an idle connection at this very moment; a new one is as good.
            response, content = self._exchange(self._open(60), send)
        if response.status >= 400:
            raise _failure(response.status, content)
        is_json = response.headers.get_content_type() == "application/json"
        return json.loads(content) if is_json else content.decode()

    def _exchange(self, connection: http.client.HTTPSConnection, send: tuple[Any, ...]) -> tuple[Any, bytes]:
        try:
            connection.request(*send)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return response, content

    def get(self, path: str, **query: str | int) -> Any:
        """GET; keyword arguments become the query (`labelSelector`, `limit`, …)."""
        return self.request("GET", path, query=query)

    def items(self, path: str, **query: str | int) -> list[Object]:
        """All objects of a collection, in one list."""
        return list(self.get(path, **query).get("items") or [])

    def create(self, path: str, body: Object) -> Object:
        """POST `body` to a collection or subresource."""
        created: Object = self.request("POST", path, body)
        return created

    def replace(self, path: str, body: Object) -> Object:
        """PUT `body`."""
        replaced: Object = self.request("PUT", path, body)
        return replaced

    def patch(self, path: str, body: object, kind: str = "merge", **query: str | int) -> Object:
        """PATCH with a body of `kind`: merge, strategic, json or apply (which wants `fieldManager=`)."""
        patched: Object = self.request("PATCH", path, body, query=query, content_type=PATCH_TYPES[kind])
        return patched

    def delete(self, path: str, **query: str | int) -> Any:
        """DELETE an object or, with a collection's path, all of it (`labelSelector`, `gracePeriodSeconds`, …)."""
        return self.request("DELETE", path, query=query)

    def create_many(self, path: str, bodies: Iterable[Object], *, workers: int = 8) -> None:
        """POST many objects over a few connections kept open; the first failure is raised."""
        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(lambda body: self.create(path, body), bodies):
                pass

    def watch(self, path: str, *, seconds: float = 60, **query: str | int) -> Iterator[Object]:
        """Watch events as they come; ends when the server closes the stream or dies.

        `seconds` bounds the silence between two events: TimeoutError after that.
        """
        connection = self._open(seconds)
        with contextlib.closing(connection):
            headers = {**self._headers, "Accept": "application/json"}
            connection.request("GET", _target(path, {**query, "watch": "1"}), headers=headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise _failure(response.status, response.read())
            while True:
                try:
                    line = response.readline()
                except TimeoutError:
                    raise
                except (OSError, http.client.HTTPException):
                    return
                if not line.endswith(b"\n"):
                    return
                yield json.loads(line)

    def wait(self, what: str, holds: Callable[[], object], *, seconds: float = 180) -> None:
        """Wait until `holds()` is true, asking ten times a second; AssertionError with `what` after `seconds`.

        An answer 404, 409 or 5xx and a refused connection count as "not yet".
        """
        deadline = time.monotonic() + seconds
        last: object = "false"
        while True:
            try:
                if holds():
                    return
                last = "false"
            except ApiError as failure:
                if failure.status < 500 and failure.status not in (404, 409, 429):
                    raise
                last = failure
            except (OSError, http.client.HTTPException) as failure:
                last = failure
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:.0f} s (last: {last})")
            time.sleep(0.1)

    def close(self) -> None:
        """Close the connections kept open; the next request opens a new one."""
        _close_all(self._idle)

    def _connection(self) -> http.client.HTTPSConnection:
        """An idle connection that the server has not closed, else a new one."""
        while self._idle:
            connection = self._idle.pop()
            # Readable while nothing is asked means closed: a restarted server must not fail the next request.
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()
        return self._open(60)

    def _open(self, timeout: float) -> http.client.HTTPSConnection:
        address = urlsplit(self.server)
        return http.client.HTTPSConnection(
            address.hostname or "", address.port or 443, timeout=timeout, context=self._tls
        )


def _close_all(connections: list[http.client.HTTPSConnection]) -> None:
    while connections:
        connections.pop().close()


def _target(path: str, query: Mapping[str, str | int] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _failure(status: int, content: bytes) -> ApiError:
    try:
        answer = json.loads(content)
        return ApiError(status, answer.get("reason", ""), answer.get("message", ""))
    except (ValueError, AttributeError):
        return ApiError(status, "", content.decode(errors="replace").strip())


def _named(entries: Iterable[Object], name: str) -> Object:
    return next(entry for entry in entries if entry["name"] == name)


def _content(entry: Object, field: str) -> bytes | None:
    """A kubeconfig's `<field>-data` decoded, else the file that `<field>` names, else None."""
    if entry.get(f"{field}-data"):
        return base64.b64decode(entry[f"{field}-data"])
    return Path(entry[field]).read_bytes() if entry.get(field) else None
