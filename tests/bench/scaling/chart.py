"""Curves over a logarithmic number of GPUs as one SVG: axes with units, each curve named where it
ends. The engine's own charts (`flambeau.utils.plot`) have no logarithmic x axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 560, 380  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 66, 128, 44, 50
COLOURS = ("#0b6e99", "#c4511d", "#3b7d3b", "#8a4fa3", "#9a7a00", "#b0305c", "#4b4b4b")
TEXT = 'font-family="sans-serif" font-size="12"'


@dataclass
class Panel:
    title: str
    x_label: str
    y_label: str
    x_range: tuple[float, float]
    logarithmic: bool = True  # y; x always is
    curves: list[tuple[str, list[float], list[float]]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)  # of y, with what they are


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


class _Axes:
    """Where values of a panel are in pixels."""

    def __init__(self, panel: Panel):
        ys = [y for _, _, at in panel.curves for y in at] + [y for y, _ in panel.marks]
        self.logarithmic = panel.logarithmic
        self.x_low, self.x_high = (math.log2(x) for x in panel.x_range)
        if panel.logarithmic:
            self.y_low, self.y_high = math.log10(min(ys)), math.log10(max(ys))
            spread = 0.04 * (self.y_high - self.y_low)
            self.y_low, self.y_high = self.y_low - spread, self.y_high + spread
        else:
            self.y_low, self.y_high = 0.0, 1.0

    def x(self, value: float) -> float:
        share = (math.log2(value) - self.x_low) / (self.x_high - self.x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        at = math.log10(value) if self.logarithmic else value
        share = (at - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def x_ticks(self) -> list[float]:
        low, high = math.ceil(self.x_low), math.floor(self.x_high)
        return [2.0**k for k in range(low, high + 1) if (high - k) % 2 == 0 or high - low < 6]

    def y_ticks(self) -> list[float]:
        if not self.logarithmic:
            return [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        decades = range(math.floor(self.y_low), math.ceil(self.y_high) + 1)
        steps = (1, 2, 5) if self.y_high - self.y_low < 3 else (1,)
        every = [m * 10.0**k for k in decades for m in steps]
        return [v for v in every if self.y_low <= math.log10(v) <= self.y_high]


def _grid(panel: Panel, axes: _Axes) -> list[str]:
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    out = [f'<text x="{left}" y="22" {TEXT} font-weight="bold">{escape(panel.title)}</text>']
    for value in axes.y_ticks():
        y = axes.y(value)
        out.append(f'<path d="M{left} {y:.1f}H{right}" stroke="#e4e4e4"/>')
        text = f"{value:.0%}" if not panel.logarithmic else _number(value)
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" {TEXT} text-anchor="end">{text}</text>')
    for value in axes.x_ticks():
        x = axes.x(value)
        out.append(f'<path d="M{x:.1f} {bottom}v5" stroke="#444"/>')
        out.append(
            f'<text x="{x:.1f}" y="{bottom + 19}" {TEXT} text-anchor="middle">'
            f"{_number(value)}</text>"
        )
    out.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="#444"/>')
    middle = (left + right) / 2
    x_label, y_label = escape(panel.x_label), escape(panel.y_label)
    out.append(f'<text x="{middle}" y="{HEIGHT - 12}" {TEXT} text-anchor="middle">{x_label}</text>')
    out.append(
        f'<text transform="translate(16 {(top + bottom) / 2}) rotate(-90)" {TEXT} '
        f'text-anchor="middle">{y_label}</text>'
    )
    return out


def _apart(places: list[float], least: float = 14.0) -> list[float]:
    """The same heights, moved so that names do not cover each other."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + least)
    over = max(0.0, max(moved, default=0.0) - (HEIGHT - BOTTOM))
    return [y - over for y in moved]


def _panel(panel: Panel, colours: dict[str, str]) -> str:
    axes = _Axes(panel)
    out = _grid(panel, axes)
    for value, what in panel.marks:
        y = axes.y(value)
        out.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#999" stroke-dasharray="5 4"/>'
            f'<text x="{WIDTH - RIGHT - 4}" y="{y - 5:.1f}" {TEXT} fill="#666" '
            f'text-anchor="end">{escape(what)}</text>'
        )
    names = _apart([axes.y(ys[-1]) for _, _, ys in panel.curves])
    for (name, xs, ys), at in zip(panel.curves, names):
        colour = colours[name]
        points = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in zip(xs, ys))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y, place = axes.x(xs[-1]), axes.y(ys[-1]), WIDTH - RIGHT + 10
        out.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
            f'<path d="M{x:.1f} {y:.1f}L{place - 3} {at:.1f}" stroke="{colour}" '
            f'stroke-width="0.7" stroke-dasharray="2 2"/>'
            f'<text x="{place}" y="{at + 4:.1f}" {TEXT} fill="{colour}">{escape(name)}</text>'
        )
    return "\n".join(out)


def svg(panels: list[Panel], columns: int = 2) -> str:
    """A name has one colour in all panels."""
    named = dict.fromkeys(name for panel in panels for name, _, _ in panel.curves)
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(named)}
    rows = math.ceil(len(panels) / columns)
    width, height = columns * WIDTH, rows * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, panel in enumerate(panels):
        x, y = i % columns * WIDTH, i // columns * HEIGHT
        parts.append(f'<g transform="translate({x} {y})">\n{_panel(panel, colours)}\n</g>')
    return "\n".join([*parts, "</svg>", ""])
