"""Python's collector of cycles, held while a decision is made or a run is simulated."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held() -> Iterator[None]:
    """No collection meanwhile: a decision makes hundreds of thousands of objects without a cycle among them, and to
    look for one again and again took a third of its time (docs/decisions/0440), and a tenth of a simulated day's.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
