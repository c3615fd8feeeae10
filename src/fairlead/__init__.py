"""Fairlead places replicas evenly, fairly and stably, and explains every decision."""

__version__ = "0.2.0"
