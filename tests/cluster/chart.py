"""Line charts as SVG, drawn with nothing but text: one chart a measure, one line a policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 28
STEPS_H = (1 / 60, 5 / 60, 1 / 6, 1 / 4, 1 / 2, 1, 2, 3, 4, 6, 12, 24, 48, 168)
MOST_STEPS = 6
"""Hours between two marks of the time axis, and how many there may be."""
COLOURS = 6
"""How many line colours the style has; further lines begin again, with dashes."""

STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5b6b7b; --ground: #fbfbf9; --grid: #dfe3e6;
  --c0: #0b6fb8; --c1: #d1581a; --c2: #26804a; --c3: #8a44b5; --c4: #a8842c; --c5: #b32d5e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ecf1; --soft: #9aa9b8; --ground: #14191f; --grid: #2d3640;
  --c0: #5db2f2; --c1: #f2935c; --c2: #67c98d; --c3: #c490ea; --c4: #dcbb66; --c5: #f07ba6; } }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 0; }
p { color: var(--soft); margin: 0 0 .5rem; }
table { border-collapse: collapse; margin: 1.5rem 0; } th, td { padding: .3rem 1rem .3rem 0; text-align: right; }
th:first-child { text-align: left; font-weight: normal; color: var(--soft); }
tr { border-bottom: 1px solid var(--grid); }
svg { width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--soft); } .grid { stroke: var(--grid); }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One policy's samples."""

    name: str
    values: Sequence[float]


def chart(title: str, hours: Sequence[float], lines: Sequence[Line], *, end: float, most: float | None = None) -> str:
    """The chart up to the hour `end`; `most` is the top of the scale, else the next multiple of four is."""
    highest = max((max(line.values, default=0.0) for line in lines), default=0.0)
    top = most if most is not None else max(4.0 * ceil(highest / 4), 4.0)
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
    apart = next((step for step in STEPS_H if end / step <= MOST_STEPS), end / MOST_STEPS)
    for step in range(int(end / apart + 1e-9) + 1):
        x = _x(apart * step, end)
        anchor = "end" if x > WIDTH - RIGHT - 16 else "middle"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="{anchor}">{_time(apart * step, apart)}</text>')
    return parts


def _time(hour: float, apart: float) -> str:
    return f"{_number(hour)} h" if apart >= 1 else f"{round(hour * 60)} min"


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
