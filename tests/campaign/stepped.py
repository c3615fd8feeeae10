"""`python -m tests.campaign.stepped FILE COMPONENT …`: `fairlead` with a wall clock that is off.

The file holds the seconds that the clock is off, and may change at any time: a step of the clock of one process. Only
`time.time` is off. What has to be steady does not ask it.
"""

import mmap
import runpy
import struct
import sys
import time
from pathlib import Path

FORM = "d"


def set_clock(file: Path, seconds: float) -> None:
    """Step the clock of the process that was started with the file."""
    with file.open("r+b" if file.exists() else "wb") as off:
        off.write(struct.pack(FORM, seconds))


def shift(file: Path) -> None:
    """Put the wall clock of this process off by what the file says, now and later."""
    true = time.time
    with file.open("rb") as off:
        shared = mmap.mmap(off.fileno(), struct.calcsize(FORM), access=mmap.ACCESS_READ)
    time.time = lambda: true() + float(struct.unpack(FORM, shared)[0])


if __name__ == "__main__":
    shift(Path(sys.argv[1]))
    sys.argv = ["fairlead", *sys.argv[2:]]
    runpy.run_module("fairlead", run_name="__main__")
