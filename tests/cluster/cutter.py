"""A way to the API server that can be cut: every connection through it ends at once, watches among them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class Cutter:
    """Forwards bytes to a server; `kubeconfig` leads through it."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        server = urlsplit(yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
        self._server = server.hostname or "127.0.0.1", server.port or 443
        self._folder = folder
        self._door = socket.create_server(("127.0.0.1", 0))
        self.kubeconfig = self.through(kubeconfig)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def through(self, kubeconfig: Path) -> Path:
        """The same access to the same server, over this way."""
        config = yaml.safe_load(kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self._door.getsockname()[1]}"
        made = self._folder / f"cut-{kubeconfig.stem}.yaml"
        made.write_text(yaml.safe_dump(config))
        return made

    def cut(self) -> int:
        """End every connection; how many there were."""
        with self._lock:
            ended = list(self._open)
            self._open.clear()
        for each in ended:
            _end(each)
        return len(ended) // 2

    def close(self) -> None:
        """Let nobody in any more."""
        _end(self._door)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                inner, _ = self._door.accept()
            except OSError:
                return
            try:
                outer = socket.create_connection(self._server, timeout=10)
            except OSError:
                _end(inner)
                continue
            outer.settimeout(None)
            with self._lock:
                self._open |= {inner, outer}
            for one, other in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while chunk := one.recv(65536):
                other.sendall(chunk)
        with self._lock:
            self._open -= {one, other}
        _end(one)
        _end(other)


def _end(one: socket.socket) -> None:
    """Close a socket even while another thread reads from it."""
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@contextmanager
def cutter(kubeconfig: Path, folder: Path) -> Iterator[Cutter]:
    """A way that exists while the block runs."""
    made = Cutter(kubeconfig, folder)
    try:
        yield made
    finally:
        made.close()
