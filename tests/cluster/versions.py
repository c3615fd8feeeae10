"""Which Kubernetes the tests run on, and what of it only newer ones have."""

import os

import pytest
from tools.controlplane import another, build

VERSION = os.environ.get(another.VARIABLE) or build.versions()["kubernetes"]
MINOR = int(VERSION.split(".")[1])

newest = pytest.mark.skipif(
    build.versions()["kubernetes"] != VERSION, reason=f"Kubernetes {VERSION} lacks fields that newer ones have"
)
native_gangs = pytest.mark.skipif(
    MINOR < 36, reason=f"Kubernetes {VERSION} has no gangs of its own in the form of scheduling.k8s.io/v1alpha2"
)
