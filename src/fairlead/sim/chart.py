"""Line charts as SVG, drawn with nothing but text: one chart a measure, one line a policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 28
COLOURS = 6
"""How many line colours the page's style has; further lines begin again, with dashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One policy's samples."""

    name: str
    values: Sequence[float]


def chart(title: str, hours: Sequence[float], lines: Sequence[Line], *, end: float, most: float | None = None) -> str:
    """The chart up to the hour `end`; `most` is the top of the scale, else the highest value."""
    top = most if most is not None else max((max(line.values, default=0.0) for line in lines), default=0.0)
    top = top if top > 0 else 1.0
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg">',
        *_grid(top, end),
        *(_path(line, place, hours, top, end) for place, line in enumerate(lines)),
        "</svg>",
    ]
    return "\n".join(parts)


def _grid(top: float, end: float) -> list[str]:
    """Five lines across with their values, and the hours below."""
    parts = []
    for step in range(5):
        y = _y(top * step / 4, top)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(top * step / 4)}</text>')
    for step in range(7):
        x = _x(end * step / 6, end)
        anchor = "middle" if step < 6 else "end"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{_number(end * step / 6)} h</text>')
    return parts


def _path(line: Line, place: int, hours: Sequence[float], top: float, end: float) -> str:
    """Steps, because nothing changes between two instants."""
    points: list[str] = []
    for hour, value in zip(hours, line.values, strict=False):
        x, y = _x(hour, end), _y(min(value, top), top)
        points.append(f"H{x:.1f}V{y:.1f}" if points else f"M{x:.1f} {y:.1f}")
    dashes = " dashed" if place >= COLOURS else ""
    return (
        f'<path class="line c{place % COLOURS}{dashes}" d="{"".join(points)}"><title>{escape(line.name)}</title></path>'
    )


def _x(hour: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * hour / end


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _number(value: float) -> str:
    """As few digits as tell it apart from its neighbours."""
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.2f}".rstrip("0").rstrip(".")
