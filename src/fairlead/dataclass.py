"""Data classes as those of the standard library, defined in about half the time (docs/decisions/0460).

The standard library compiles a text for every method of every class, whenever a process starts; of all that a command
imports, that took longest. Here only the constructor and the guard of frozen classes are compiled. Equality, hash and
representation are the same for all classes but for the names of the fields.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from operator import attrgetter
    from reprlib import recursive_repr

    def dataclass(*, frozen=False, slots=False, kw_only=False, eq=True):
        """As `dataclasses.dataclass`; what a class says itself stays as it says it."""

        def define(cls):
            said = vars(cls)
            # A class that says only what is equal has None for its hash, which Python puts there.
            hashes = "__hash__" in said and not (said["__hash__"] is None and "__eq__" in said)
            made = dataclasses.dataclass(frozen=frozen, slots=slots, kw_only=kw_only, eq=False, repr=False)(cls)
            fields = dataclasses.fields(made)
            if "__repr__" not in said:
                made.__repr__ = _repr([field.name for field in fields if field.repr])
            if eq and "__eq__" not in said:
                made.__eq__ = _eq(_values([field.name for field in fields if field.compare]))
            if eq and not hashes:
                names = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
                made.__hash__ = _hash(_values(names)) if frozen else None
            return made

        return define

    def _values(names):
        """A function from an object to the tuple of these attributes."""
        if len(names) > 1:
            return attrgetter(*names)
        return lambda self: tuple(getattr(self, name) for name in names)

    def _repr(names):
        @recursive_repr()
        def represented(self):
            parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{type(self).__qualname__}({parts})"

        return represented

    def _eq(values):
        def equal(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return equal

    def _hash(values):
        def hashed(self):
            return hash(values(self))

        return hashed
