"""What stands before every route: who may ask, and what a browser may do with the answer."""

import hmac
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

TOKEN_HEADER = "X-Fairlead-Token"
OPEN = frozenset({"/", "/app.js", "/app.css"})
"""The page itself, in which nothing is secret: it asks for the token and sends it with every question."""

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def guard(*, token: str, hosts: frozenset[str] | None) -> Middleware:
    """A middleware. `hosts` are the names under which a server on the loopback may be asked (against rebinding)."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        if hosts is not None and urlsplit(f"//{request.host}").hostname not in hosts:
            return _refused(403, "this server answers only under a name of the loopback")
        if token and request.path not in OPEN and not _shown(request, token):
            return _refused(401, f"a token is needed, in the header {TOKEN_HEADER}")
        return await handler(request)

    return guarded


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers to every answer, to streams before they begin as well."""
    response.headers.update(HEADERS)


def _shown(request: web.Request, token: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(request.headers.get(TOKEN_HEADER, "").encode(), token.encode())


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"path": "", "message": message}}, status=status)
