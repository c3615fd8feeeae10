"""What every test shares: Hypothesis without deadlines, with fixed seeds, small by default."""

import os
from importlib.util import find_spec

from hypothesis import HealthCheck, settings

settings.register_profile(
    "small", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("proof", parent=settings.get_profile("small"), max_examples=2000)
settings.load_profile(os.environ.get("FAIRLEAD_HYPOTHESIS", "small"))

# The tests in a browser need Playwright, which only `make test-install` installs.
collect_ignore = [] if find_spec("playwright") else ["page"]
