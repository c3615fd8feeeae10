"""The minimum that a user asks for: a number of replicas, or a percentage of them."""

import re

from fairlead.dataclass import dataclass

INT32_MAX = 2**31 - 1
_BLANKS = " \t\r\n"
# ASCII digits only: Python's own int() would also take signs, underscores and the digits of other scripts.
_TEXT = re.compile(r"([0-9]+)(%?)")


@dataclass(frozen=True, slots=True)
class Minimum:
    """`number` replicas, or `number` percent of the replicas."""

    number: int
    percent: bool = False

    def of(self, replicas: int) -> int:
        """The number of replicas meant, a part of a replica counting as a whole one; may exceed `replicas`."""
        return -(-replicas * self.number // 100) if self.percent else self.number


def parse_minimum(text: str) -> Minimum | None:
    """The minimum written as `"2"` or `"50%"`, blanks around it ignored; None where it is neither.

    A number lies in 0 … 2³¹ − 1, a percentage in 0 … 100.
    """
    match = _TEXT.fullmatch(text.strip(_BLANKS))
    digits = match[1].lstrip("0") if match else ""
    if match is None or len(digits) > 10:
        return None
    number, percent = int(digits or "0"), bool(match[2])
    if number > (100 if percent else INT32_MAX):
        return None
    return Minimum(number, percent)
