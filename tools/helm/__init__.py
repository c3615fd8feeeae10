"""Helm, built from its Go modules and kept in the cache beside the control plane."""
