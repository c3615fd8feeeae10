"""Which proxy leads to a server: the kubeconfig's `proxy-url`, else the environment, by the rules of Go's clients."""

import base64
import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import field
from urllib.parse import SplitResult, unquote, urlsplit

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError

PORTS = {"http": 80, "https": 443}
ALL = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of the header that it asks for, empty where none is known."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def proxy_of(text: str, place: str) -> Proxy:
    """The proxy at an address such as `http://user:password@proxy:3128`."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        raise InputError(place, f"expected an address such as http://proxy:3128, got {_shown(text)!r}") from None
    if parts.scheme != "http":
        raise InputError(place, f"only proxies at http:// are supported, got {_shown(text)!r}")
    if not host:
        raise InputError(place, f"expected an address such as http://proxy:3128, got {_shown(text)!r}")
    return Proxy(host=host, port=port, authorization=_authorization(parts))


def environment_proxy(server: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that HTTPS_PROXY or HTTP_PROXY names for this server, None where there is none or NO_PROXY exempts it.

    Upper case comes first. `localhost` and loopback addresses are never reached through a proxy.
    """
    parts = urlsplit(server)
    name = f"{parts.scheme}_proxy"
    address = environ.get(name.upper()) or environ.get(name, "")
    if not address or not _proxied(parts, environ.get("NO_PROXY") or environ.get("no_proxy", "")):
        return None
    return proxy_of(address if "://" in address else f"http://{address}", name.upper())


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _shown(text: str) -> str:
    """Without a password."""
    scheme, mark, rest = text.rpartition("://")
    _, at, after = rest.rpartition("@")
    return f"{scheme}{mark}…@{after}" if at else text


def _proxied(server: SplitResult, exempt: str) -> bool:
    host = (server.hostname or "").lower()
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    port = server.port or PORTS.get(server.scheme, 0)
    return not any(_exempts(each, host, port) for each in _listed(exempt))


def _listed(exempt: str) -> Iterator[str]:
    return (each for part in exempt.split(",") if (each := part.strip().lower()))


def _exempts(entry: str, host: str, port: int) -> bool:
    """One entry of NO_PROXY: `*`, a network, an address or a domain, the latter two with a port or without."""
    if entry == ALL:
        return True
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            pass
    name, wanted = _split_port(entry)
    if not name or (wanted and wanted != str(port)):
        return False
    if (listed := _address(name)) is not None:
        return listed == address
    return address is None and _within(host, name.removeprefix("*") if name.startswith("*.") else name)


def _within(host: str, domain: str) -> bool:
    """`.example.com` holds what is below it, `example.com` itself too."""
    return host.endswith(domain) if domain.startswith(".") else host == domain or host.endswith("." + domain)


def _split_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
