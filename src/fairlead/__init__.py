"""Fairlead places replicas evenly, fairly and stably, and explains every decision."""

__version__ = "0.1.0"
