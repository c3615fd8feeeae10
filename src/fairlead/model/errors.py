"""The exceptions of the pure packages. Not fitting is a value (a reason), never one of these."""


class FairleadError(Exception):
    """Base of every error that Fairlead raises on purpose."""

    exit_code = 2
    """What the command line ends with where nothing catches it."""


class InputError(FairleadError):
    """Something that came from outside cannot be used as it is.

    `path` is the place in the input (a JSON path such as `$.clusters[2].weight`), empty where the whole input
    is meant; `message` says what was found and what was expected, in one line.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.message = message

    def within(self, prefix: str) -> "InputError":
        """The same error seen from an enclosing document, `prefix` being the place of the inner one."""
        inner = self.path.removeprefix("$")
        return InputError(f"{prefix}{inner}", self.message)


class InvariantError(FairleadError):
    """A promise of ours does not hold: a bug in Fairlead, not in the input."""
