"""The collector rests while a decision is made, and works again afterwards, whatever happens."""

import gc

import pytest

from fairlead.engine.collector import held


def test_the_collector_rests_only_meanwhile() -> None:
    """One decision in another does not wake it, and an error does not leave it asleep."""
    gc.enable()  # a command that was tried before in this process may have ended without it
    seen = [gc.isenabled()]

    def decide() -> None:
        with held():
            with held():
                seen.append(gc.isenabled())
            seen.append(gc.isenabled())
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        decide()
    assert [*seen, gc.isenabled()] == [True, False, False, True]
