"""Adapters of foreign kinds, one file each: an object as the pods, gangs and queues that its controller makes of it.

An adapter is a function from a manifest to an `Adapted`; a new kind is one file, its line in `ADAPTERS` and its tests.
Nothing here decides, and what an adapter does not map it says (docs/decisions/0267).
"""
