"""A scenario and its policies, read: from files as `fairlead simulate` takes them, or from mappings."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairlead.api.plain import PathLike, plain
from fairlead.engine.plan_settings import PlanSettings
from fairlead.kube.manifests.view import viewed
from fairlead.model.errors import InputError
from fairlead.model.snapshot import Site
from fairlead.sim.durations import milliseconds
from fairlead.sim.events import Arrival, Timeline
from fairlead.sim.policy import STRATEGIES, SimPolicy, named, policy_of
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story
from fairlead.sim.trace import read_trace
from fairlead.text.documents import documents

Scenario = PathLike | Mapping[str, Any]
Tell = Callable[[str], None]

DEFAULT_POLICIES = ("auto",)


def _silent(words: str) -> None:
    """Notes beside the answer go nowhere."""


def story_of(
    source: Scenario,
    settings: PlanSettings,
    *,
    trace: PathLike = "",
    seed: int | None = None,
    until: str = "",
    read: Callable[[str], bytes],
    tell: Tell = _silent,
) -> Timeline:
    """The scenario, ready to run. `read` gives the bytes of a file; `tell` is given what is worth a line of its own.

    Files that the scenario names are beside it; those of a mapping are beside the working directory.
    """
    if isinstance(source, Mapping):
        value, place, beside = plain(source, "scenario"), "scenario", Path()
    else:
        value, place = _document(str(source), read)
        beside = Path(source).parent if source != "-" else Path()
    until_ms = milliseconds(until, "--until") if until else None
    try:
        written = scenario_of(value)
    except InputError as error:
        raise error.within(place) from None
    arrivals = [
        *(_trace(str(beside / written.trace), read, tell) if written.trace else []),
        *(_trace(str(trace), read, tell) if trace else []),
    ]
    manifests = tuple(str(beside / each) for each in written.manifests)
    site = _site(manifests, settings, tell) if manifests else None
    try:
        return story(written, site=site, trace=arrivals, seed=seed, until_ms=until_ms, choice=settings.tiers)
    except InputError as error:
        raise (error.within(place) if error.path.startswith("$") else error) from None


def policies_of(given: Sequence[Scenario], read: Callable[[str], bytes]) -> list[SimPolicy]:
    """The policies by name, file or mapping, each once."""
    result: list[SimPolicy] = []
    for each in given or DEFAULT_POLICIES:
        policy = _policy(each, read)
        if any(policy.name == other.name for other in result):
            raise InputError("--policy", f"{policy.name!r} is there twice; expected distinct names")
        result.append(policy)
    return result


def _policy(given: Scenario, read: Callable[[str], bytes]) -> SimPolicy:
    if isinstance(given, Mapping):
        value, place, name = plain(given, "policy"), "policy", "policy"
    else:
        known = named(str(given))
        if known is not None:
            return known
        if not os.path.exists(given):  # which says no, and does not raise, where a name cannot be one
            raise InputError("--policy", f"{str(given)!r} is neither a file nor one of {', '.join(STRATEGIES)}")
        (value, place), name = _document(str(given), read), Path(given).stem
    try:
        return policy_of(value, name)
    except InputError as error:
        raise error.within(place) from None


def _document(source: str, read: Callable[[str], bytes]) -> tuple[Any, str]:
    """The one document of a file, and its place for errors."""
    found = list(documents(read(source), source))
    for each in found:
        if isinstance(each, InputError):
            raise each
    if len(found) != 1:
        raise InputError(source, f"{len(found)} documents; expected one")
    document = found[0]
    assert not isinstance(document, InputError)  # raised above
    return document.value, document.place


def _trace(source: str, read: Callable[[str], bytes], tell: Tell) -> list[Arrival]:
    arrivals, errors = read_trace(read(source), source)
    for error in errors:
        tell(str(error))
    if errors:
        raise InputError(source, f"{len(errors)} lines of the trace cannot be used; nothing was simulated")
    return arrivals


def _site(sources: Sequence[str], settings: PlanSettings, tell: Tell) -> Site:
    found, view = viewed(sources, warn=tell, settings=settings)
    for error in found.errors:
        tell(str(error))
    if found.errors:
        mistakes = "1 mistake" if len(found.errors) == 1 else f"{len(found.errors)} mistakes"
        raise InputError("", f"{mistakes} in the manifests; nothing was simulated")
    if len(view.sites) != 1 or view.divided:
        names = ", ".join(site.name for site in view.sites)
        raise InputError(
            "$.manifests",
            f"a fleet (clusters {names}; {len(view.divided)} divided workloads) is not simulated; "
            "expected one cluster, with the replicas that fairlead plan gives it",
        )
    if view.sites[0].volumes:
        tell(f"{len(view.sites[0].volumes)} Longhorn volumes are left out: disks are not simulated")
    return view.sites[0]
