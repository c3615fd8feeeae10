"""How long webhooks take to answer, as the API server's own metrics tell."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tools.controlplane.api import Api


@dataclass(frozen=True)
class Answers:
    """Answers of one webhook: how many by upper bound in seconds, and their seconds together."""

    counts: Mapping[float, int]
    seconds: float

    def plus(self, after: "Answers", before: "Answers") -> "Answers":
        """With those between two looks added."""
        counts = {
            bound: self.counts.get(bound, 0) + count - before.counts.get(bound, 0)
            for bound, count in sorted(after.counts.items())
        }
        return Answers(counts, self.seconds + after.seconds - before.seconds)

    @property
    def count(self) -> int:
        """All of them."""
        return self.counts[float("inf")]

    @property
    def numbers(self) -> tuple[float, float, float]:
        """Mean, p50 and p99 in milliseconds."""
        return 1000 * self.seconds / self.count, 1000 * self.quantile(0.5), 1000 * self.quantile(0.99)

    def quantile(self, share: float) -> float:
        """Seconds below which that share of the answers lies, read off the buckets."""
        wanted, low, below = share * self.count, 0.0, 0
        for bound, count in self.counts.items():
            if count >= wanted:
                high = low if bound == float("inf") else bound
                part = (wanted - below) / (count - below) if count > below else 1.0
                return low + (high - low) * part
            low, below = bound, count
        raise AssertionError("no bucket holds everything")


def answers(api: Api, name: str) -> Answers:
    """Those of one webhook so far."""
    metric = "apiserver_admission_webhook_admission_duration_seconds"
    counts: dict[float, int] = {}
    seconds = 0.0
    for part, labels, value in re.findall(rf"^{metric}_(bucket|sum){{([^}}]*)}} (\S+)$", api.get("/metrics"), re.M):
        if f'name="{name}"' not in labels:
            continue
        if part == "sum":
            seconds += float(value)
        elif bound := re.search(r'le="([^"]+)"', labels):
            counts[float(bound[1])] = counts.get(float(bound[1]), 0) + int(value)
    return Answers(counts, seconds)
