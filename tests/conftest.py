"""What every test shares: Hypothesis without deadlines, in one of three profiles.

- small: the same examples in every run, so `make test` is green or red by the code alone;
- proof: random examples and more of them, for `make proof`; what fails comes with the line that repeats it;
- mutants: as small, but a failing example is not made smaller, for only the failure counts.
"""

import os
from importlib.util import find_spec

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "small", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "proof", parent=settings.get_profile("small"), derandomize=False, max_examples=1000, print_blob=True
)
settings.register_profile(
    "mutants", parent=settings.get_profile("small"), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
settings.load_profile(os.environ.get("FAIRLEAD_HYPOTHESIS", "small"))

# The tests in a browser need Playwright, which only `make test-install` installs.
collect_ignore = [] if find_spec("playwright") else ["page"]
