"""What every test shares: Hypothesis without deadlines, with fixed seeds, small by default."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "small", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("proof", parent=settings.get_profile("small"), max_examples=2000)
settings.load_profile(os.environ.get("FAIRLEAD_HYPOTHESIS", "small"))
