"""The pages of a component's own server."""

import socket
import urllib.request


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def page(port: int, path: str) -> str:
    """A page; empty while the server is not up."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def measured(port: int, name: str) -> float:
    """The value of a metric; −1 where there is none yet."""
    found = [line for line in page(port, "/metrics").splitlines() if line.startswith(f"{name} ")]
    return float(found[0].split()[1]) if found else -1.0
