"""The pieces that pictures are put together from. Text that is not `Html` is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

BLUE, GREEN, ORANGE, RED, GREY = "#4e79a7", "#59a14f", "#f28e2b", "#e15759", "#9aa0a6"
LINES = (BLUE, ORANGE, GREEN, RED, "#b07aa1", "#76b7b2", "#edc948", "#9c755f")
"""Colours that can be told apart on light and on dark ground."""
BAR_WIDTH, BAR_HEIGHT = 240, 12
MOST_AMOUNT = 10
"""Characters of an amount."""
CHART_WIDTH, CHART_HEIGHT, CHART_EDGE = 640, 180, 34


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html(value: object) -> Html:
    """The value as HTML; what is not HTML already is escaped."""
    return value if isinstance(value, Html) else Html(escape(str(value)))


def joined(parts: Iterable[object]) -> Html:
    """The parts one after another, in an element of their own."""
    return Html(f'<div class="fairlead">{"".join(map(html, parts))}</div>')


def paragraph(text: object) -> Html:
    """A line of text."""
    return Html(f"<p>{html(text)}</p>")


def preformatted(text: str) -> Html:
    """Text with its line breaks."""
    return Html(f'<pre class="fairlead">{html(text)}</pre>')


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Html:
    """A table; numbers and short texts that begin with a digit (amounts) stand right."""
    head = "".join(f"<th>{html(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    caption = f'<caption style="text-align:left"><b>{html(title)}</b></caption>' if title else ""
    return Html(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _cell(value: object) -> str:
    text = "" if isinstance(value, Html) else str(value)
    right = text[:1].isdigit() and len(text) <= MOST_AMOUNT
    return f'<td style="text-align:{"right" if right else "left"}">{html(value)}</td>'


def bar(parts: Sequence[tuple[float, str]], said: str) -> Html:
    """Lengths between 0 and 1 side by side, each with its colour; `said` is what the bar says."""
    drawn, start = [], 0.0
    for length, colour in parts:
        width = max(0.0, min(length, 1 - start)) * BAR_WIDTH
        if width:
            drawn.append(
                f'<rect x="{start * BAR_WIDTH:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="{colour}"/>'
            )
        start += width / BAR_WIDTH
    return Html(
        f'<svg role="img" aria-label="{html(said)}" width="{BAR_WIDTH}" height="{BAR_HEIGHT}">'
        f"<title>{html(said)}</title>"
        f'<rect width="{BAR_WIDTH}" height="{BAR_HEIGHT}" fill="{GREY}" opacity="0.2"/>{"".join(drawn)}</svg>'
    )


def chart(title: str, times: Mapping[str, Sequence[float]], values: Mapping[str, Sequence[float]]) -> Html:
    """Lines over time from 0 to their highest value, with a legend."""
    last = max([each[-1] for each in times.values() if len(each)], default=0) or 1
    highest = max([max(each) for each in values.values() if len(each)], default=0) or 1
    drawn, legend = [], []
    for number, name in enumerate(values):
        colour = LINES[number % len(LINES)]
        # A value holds until the next one: lines go in steps.
        points: list[str] = []
        y = 0.0
        for at, value in zip(times[name], values[name], strict=True):
            x = CHART_EDGE + at / last * (CHART_WIDTH - CHART_EDGE)
            points += [f"{x:.1f},{y:.1f}"] if points else []
            y = 4 + (1 - value / highest) * (CHART_HEIGHT - 8)
            points.append(f"{x:.1f},{y:.1f}")
        drawn.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        legend.append(f'<span style="color:{colour}">━</span> {html(name)}')
    scale = "".join(
        f'<text x="0" y="{y}" font-size="10" fill="currentColor">{highest * part:.3g}</text>'
        for y, part in ((12, 1.0), (CHART_HEIGHT - 2, 0.0))
    )
    return Html(
        f"<p><b>{html(title)}</b> {' &nbsp; '.join(legend)}</p>"
        f'<svg role="img" aria-label="{html(title)}" viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}" '
        f'style="max-width:{CHART_WIDTH}px;width:100%">{scale}{"".join(drawn)}</svg>'
    )
