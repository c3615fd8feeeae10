"""msgspec's errors in our words: the path of a mistake and a sentence, for everything that decodes."""

from fairlead.model.errors import InputError


def mistake(error: Exception, place: str = "") -> InputError:
    """The error as bad input; `place` says what was read, and the path inside it (`spec.replicas`) comes after it."""
    message, path = words(error)
    inner = path.removeprefix("$").removeprefix(".")
    return InputError(": ".join(filter(None, (place, inner))), message)


def words(error: Exception) -> tuple[str, str]:
    """The sentence without msgspec's quotes, and the JSON path, which is `$` for the whole."""
    if isinstance(error, RecursionError):
        return "nested too deeply", "$"
    message, _, path = str(error).partition(" - at `")
    message = message.replace("`", "")
    return message[:1].lower() + message[1:], path.rstrip("`") or "$"
