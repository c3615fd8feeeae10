"""A real Kubernetes control plane on loopback, for tests and for trying things out.

Here belong: building the binaries (`build`), running them (`plane`, `processes`, `guard`, `certificates`),
the fewest words of the API that a test needs to set a scene (`api`, `nodes`), and `up`, which is `make cluster`.
Nothing here imports `fairlead`: what is tested must not also be the measure.
"""
