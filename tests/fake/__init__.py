"""An API server in memory behind the transport seam, for unit tests. It is no proof of what a real one does.

Belongs here: the behaviour that Fairlead relies on (versions, conflicts, watches, subresources) and ways to make it
fail on purpose. Does not belong here: validation, defaulting, access control, garbage collection.
"""

from tests.fake.api import FakeApi

__all__ = ["FakeApi"]
