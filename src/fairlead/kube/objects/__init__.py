"""Typed shapes of API objects, with only the fields that Fairlead reads.

Decoding checks types and ignores unknown fields. Amounts stay as the server sent them (`Quantity`); times stay
RFC 3339 text. Structs are frozen; lists are tuples. Because unknown fields are dropped, never PUT one of these back:
patch, or read the raw object (`Resource.raw`) and replace that. Does not belong here: conversion to `fairlead.model`.
"""
