"""Reviews posted to the webhook processes directly, by processes of their own, and what was answered.

They are of two kinds: dry runs for counted Deployments, which read ledger, pods and owner and write nothing, and pods
that need no count. A posted review that could grant a slot would hold it for a pod that never comes.
"""

import http.client
import json
import multiprocessing
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import Any

PROCESSES = 5
IN_A_ROW = 50
"""Reviews over one connection; then another process is chosen, so that a restarted one gets its share soon."""


class Posting:
    """What was answered so far. `ports` is a file with the ports of the webhooks, a JSON list."""

    def __init__(self, ports: Path) -> None:
        self.ports = ports
        spawn = multiprocessing.get_context("spawn")
        self.stop = spawn.Event()
        self._counts = [spawn.Value("q", 0) for _ in range(PROCESSES)]
        self._wrong = spawn.SimpleQueue()
        self._spawn = spawn

    @property
    def answered(self) -> int:
        """Reviews that were answered with yes or no."""
        return sum(each.value for each in self._counts)

    @property
    def wrong(self) -> list[str]:
        """Answers that no review may get, as sentences."""
        found = []
        while not self._wrong.empty():
            found.append(self._wrong.get())
        return found

    @contextmanager
    def running(self, reviews: list[dict[str, Any]]) -> Iterator[None]:
        """Posts these, chosen at random, while the block runs."""
        bodies = [json.dumps(each).encode() for each in reviews]
        posters = [
            self._spawn.Process(target=_post, args=(number, self.ports, bodies, self.stop, each, self._wrong))
            for number, each in enumerate(self._counts)
        ]
        for poster in posters:
            poster.start()
        try:
            yield
        finally:
            self.stop.set()
            for poster in posters:
                poster.join(60)


def _post(seed: int, ports: Path, bodies: list[bytes], stop: Event, count: Any, wrong: Any) -> None:
    chance, tls = Random(seed), ssl._create_unverified_context()  # the API server verifies; here only answers matter
    while not stop.is_set():
        with suppress(OSError, http.client.HTTPException, IndexError, ValueError):
            port = chance.choice(json.loads(ports.read_text()))
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=tls)
            for status, body in _answers(connection, chance.choices(bodies, k=IN_A_ROW)):
                if status == 200 and isinstance(json.loads(body)["response"]["allowed"], bool):
                    count.value += 1
                elif status < 500:
                    wrong.put(f"a review was answered with {status}: {body[:200]!r}")
                if stop.is_set():
                    return
        time.sleep(0.05)


def _answers(connection: http.client.HTTPSConnection, bodies: list[bytes]) -> Iterator[tuple[int, bytes]]:
    try:
        for body in bodies:
            connection.request("POST", "/mutate", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            yield response.status, response.read()
    finally:
        connection.close()
