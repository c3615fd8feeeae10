"""The campaign: mangled inputs (`fuzz`, `replay`) and faults on a real control plane (`soak`)."""

import argparse
import signal
import sys
import time

from tests.campaign import counts
from tests.campaign.fuzzing import SHARES, Fuzzed, fuzz, replay


def main() -> int:
    """Run one part; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    fuzzing = parts.add_parser("fuzz", help="mangled inputs for all that reads from outside")
    fuzzing.add_argument("--number", type=int, default=10_000, help="how many inputs")
    fuzzing.add_argument("--only", choices=sorted(SHARES), default="", help="one target instead of all")
    soaking = parts.add_parser("soak", help="all components on a real control plane through random faults")
    soaking.add_argument("--minutes", type=float, default=10.0)
    for part in (fuzzing, soaking):
        part.add_argument("--seed", type=int, default=int(time.time()))
        part.add_argument("--page", action="store_true", help="add the counts to docs/proof/")
    again = parts.add_parser("replay", help="one input of a defect again")
    again.add_argument("seed", help="as it was told with the defect, such as 1/verbs/717")
    given = parser.parse_args()
    if given.part == "replay":
        print(replay(given.seed))
        return 0
    if given.part == "soak":
        return _soak(given.minutes, given.seed, page=given.page)
    return _fuzz(given.number, given.seed, given.only, page=given.page)


def _soak(minutes: float, seed: int, *, page: bool) -> int:
    from tests.campaign.soak import Soaked, soak

    def progress(found: Soaked) -> None:
        print(
            f"  {found.seconds / 60:.1f} min, {found.faults.total()} faults, {found.quiet_points} quiet points, "
            f"{found.admissions:,} pods admitted",
            flush=True,
        )

    print(f"soak: {minutes:g} minutes, seed {seed}", flush=True)
    found = soak(minutes, seed, progress)
    for name, number in found.faults.most_common():
        print(f"  {name} {number}")
    print("memory: " + ", ".join(f"{name} {size:.0f} MiB" for name, size in sorted(found.largest_mib.items())))
    for each in found.found:
        print(f"  found: {each}")
    if page:
        counts.add(counts.soak_run(found))
    return int(bool(found.found))


def _fuzz(number: int, seed: int, only: str, *, page: bool) -> int:
    print(f"fuzz: {number:,} inputs, seed {seed}", flush=True)
    found = fuzz(number, seed, _Progress(number), only)
    for target, ends in found.ends.items():
        print(f"  {target}: " + ", ".join(f"{end} {count:,}" for end, count in sorted(ends.items())))
    print(f"{found.inputs:,} inputs in {found.seconds:.0f} s, {len(found.defects)} defects")
    for each in found.defects:
        print(f"  {each}")
    if page:
        counts.add(counts.fuzz_run(found))
    return int(bool(found.defects))


class _Progress:
    """A line every ten seconds."""

    def __init__(self, number: int) -> None:
        self._number, self._said = number, time.monotonic()

    def __call__(self, found: Fuzzed) -> None:
        if time.monotonic() - self._said > 10:
            self._said = time.monotonic()
            print(f"  {found.inputs:,} of {self._number:,}, {len(found.defects)} defects", flush=True)


if __name__ == "__main__":
    # As Ctrl-C does, it ends what was started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
