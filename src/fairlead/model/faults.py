"""What went wrong with one object or one group, in words for a person."""

import traceback

from fairlead.model.errors import InputError


def fault(error: BaseException) -> str:
    """What an object did to the code that read it: its own mistake in its own words, else the defect and its place."""
    if isinstance(error, InputError):
        return str(error)
    return f"a defect of Fairlead, not of this object: {place_of(error)}"


def place_of(error: BaseException) -> str:
    """What was raised and where: `OverflowError at one.py:41: too large`; of a group of failures, the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    way = way_to(error)
    return f"{type(error).__name__} at {way[-1] if way else 'an unknown place'}: {error}"


def way_to(error: BaseException) -> list[str]:
    """The calls that led to what was raised, the innermost last: `decide.py:80`, `batch.py:33`."""
    return [f"{each.filename.rpartition('/')[2]}:{each.lineno}" for each in traceback.extract_tb(error.__traceback__)]
