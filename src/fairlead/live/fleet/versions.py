"""Two states of a binding: whether they are one, and which is the later."""

from fairlead.kube.objects.karmada import ResourceBinding


def same(one: ResourceBinding, other: ResourceBinding) -> bool:
    """Whether both are one version of one object."""
    mine, theirs = one.metadata, other.metadata
    return (mine.uid, mine.resource_version) == (theirs.uid, theirs.resource_version)


def newer(one: ResourceBinding, other: ResourceBinding) -> bool:
    """Whether the first is a later version of the same object; versions that are no numbers are not compared."""
    mine, theirs = one.metadata.resource_version, other.metadata.resource_version
    if one.metadata.uid != other.metadata.uid or not (mine.isdigit() and theirs.isdigit()):
        return False
    return int(mine) > int(theirs)
