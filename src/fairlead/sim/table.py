"""A plain CSV text as columns, with polars where it is there; None where it is not, or the text is not plain."""

from importlib.util import find_spec

NOT_PLAIN = ('"', "\r", "\x1f")
"""Quotes and odd spaces: those who read line by line know what to do with them."""


def table(text: str) -> dict[str, list[str]] | None:
    """Columns by the names in the first line, cells without the spaces around them, empty lines left out.

    Plain is a text without quotes in which every line that is not empty has as many cells as the first.
    """
    lines = text.splitlines()
    if len(lines) < 2 or not lines[0].strip() or find_spec("polars") is None:
        return None
    # What Python takes for the end of a line and others do not would shift every number after it.
    if len(lines) != text.count("\n") + (not text.endswith("\n")) or any(mark in text for mark in NOT_PLAIN):
        return None
    commas = lines[0].count(",")
    names = [name.strip() for name in lines[0].split(",")]
    body = [line for line in lines[1:] if line.strip(", \t")]
    if not body or len(set(names)) != len(names) or any(line.count(",") != commas for line in body):
        return None
    import polars as pl

    frame = pl.read_csv(
        "\n".join(body).encode(),
        has_header=False,
        new_columns=names,
        infer_schema=False,
        quote_char=None,
    ).with_columns(pl.all().fill_null("").str.strip_chars())
    return {name: frame[name].to_list() for name in names}
