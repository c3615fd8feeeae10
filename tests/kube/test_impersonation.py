"""Impersonation: a kubeconfig that names another user never acts with its own full identity."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from fairlead.kube.config import load
from fairlead.kube.wire.http import HttpTransport
from tests.kube.server import serving


def kubeconfig(path: Path, server: str, **user: Any) -> str:
    """A file with one context, whose user has these fields."""
    body = {
        "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "admin", **user}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(body))
    return str(path)


FIELDS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "nobody": ({}, []),
    "a user": ({"as": "limited"}, [("Impersonate-User", "limited")]),
    "a service account": (
        {"as": "system:serviceaccount:a:b"},
        [("Impersonate-User", "system:serviceaccount:a:b")],
    ),
    "each group in a header of its own": (
        {"as": "u", "as-groups": ["a, b", "c"]},
        [("Impersonate-User", "u"), ("Impersonate-Group", "a, b"), ("Impersonate-Group", "c")],
    ),
    "uid and extra, with keys escaped as client-go does": (
        {"as": "u", "as-uid": "7", "as-user-extra": {"example.com/a%b": ["1", "2"]}},
        [
            ("Impersonate-User", "u"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Extra-example.com%2Fa%25b", "1"),
            ("Impersonate-Extra-example.com%2Fa%25b", "2"),
        ],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
async def test_requests_and_watches_name_the_impersonated(name: str, tmp_path: Path) -> None:
    """The headers reach the server beside the token, on requests and on watches."""
    user, want = FIELDS[name]
    seen: list[list[tuple[str, str]]] = []

    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == "Bearer admin"
        seen.append([(key, value) for key, value in request.headers.items() if key.startswith("Impersonate")])
        return web.Response(text="{}\n")

    async with serving(handler, None) as address:
        wire = HttpTransport(load(kubeconfig_path=kubeconfig(tmp_path / "config", address, **user), environ={}))
        try:
            await wire.request("GET", "/api")
            assert [line async for line in wire.stream("/api/v1/pods", {"watch": "1"})] == [b"", b"{}"]
        finally:
            await wire.close()
    assert seen == [want, want]
