"""Curves of a training as one SVG file, without dependencies: panels side by side, each with its
own axis.

`write(path, title, panels)`; a panel is (heading, unit, {name: values per epoch}). Every line is
labelled where it ends, so that no legend has to be matched by colour.
"""

import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 460, 300, 56, 84, 72, 44
COLORS = "#0369a1", "#c2410c", "#4d7c0f", "#7e22ce"
STYLE = """text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #57534e }
.title { font-size: 16px; font-weight: 600; fill: #1c1917 }
.heading { font-size: 13px; fill: #1c1917 }
.grid { stroke: #e7e5e4 } .axis { stroke: #a8a29e }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round }
.label { font-weight: 600 }"""


def ticks(low, high, wanted=5):
    """Round numbers that cover low to high, or a range around them where they are one value."""
    if high - low < 1e-9 * max(abs(low), 1):
        low, high = low - 0.5, high + 0.5
    span = high - low
    power = 10 ** math.floor(math.log10(span / wanted))
    step = next(power * m for m in (1, 2, 5, 10) if power * m * wanted >= span)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 10) for i in range(first, last + 1)]


def text(x, y, content, kind="", anchor="start", more=""):
    place = f'x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"'
    return f"<text {place}{more}>{html.escape(content)}</text>"


def rule(y, across, kind):
    return f'<line x1="{LEFT}" x2="{LEFT + across}" y1="{y:.1f}" y2="{y:.1f}" class="{kind}"/>'


def spread(positions, lowest, gap=15):
    """Positions of labels, moved apart so that no two overlap and none is below `lowest`; their
    order stays."""
    order = sorted(range(len(positions)), key=positions.__getitem__)
    placed = list(positions)
    for before, after in zip(order, order[1:], strict=False):
        placed[after] = max(placed[after], placed[before] + gap)
    over = max(0, placed[order[-1]] - lowest)
    return [y - over for y in placed]


def panel(heading, unit, series, colors):
    """One chart of the size WIDTH by HEIGHT, as SVG elements."""
    values = [v for curve in series.values() for v in curve]
    marks = ticks(min(values), max(values))
    epochs = max(map(len, series.values()))
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(epoch):
        return LEFT + across * (epoch - 1) / max(epochs - 1, 1)

    def y(value):
        return TOP + down * (marks[-1] - value) / (marks[-1] - marks[0])

    parts = [text(LEFT, TOP - 14, heading, "heading")]
    for mark in marks:
        parts.append(rule(y(mark), across, "grid"))
        parts.append(text(LEFT - 8, y(mark) + 4, f"{mark:g}{unit}", anchor="end"))
    parts.append(rule(TOP + down, across, "axis"))
    for mark in sorted(
        {1, *(int(t) for t in ticks(1, epochs) if 1 < t < epochs and t == int(t)), epochs}
    ):
        parts.append(text(x(mark), TOP + down + 18, str(mark), anchor="middle"))
    parts.append(text(LEFT + across / 2, TOP + down + 36, "epoch", anchor="middle"))
    ends = spread([y(curve[-1]) for curve in series.values()], lowest=TOP + down - 6)
    for (name, curve), end in zip(series.items(), ends):
        color = colors[name]
        points = " ".join(f"{x(i + 1):.1f},{y(v):.1f}" for i, v in enumerate(curve))
        parts.append(f'<polyline points="{points}" class="curve" stroke="{color}"/>')
        parts.append(
            f'<circle cx="{x(len(curve)):.1f}" cy="{y(curve[-1]):.1f}" r="3" fill="{color}"/>'
        )
        parts.append(
            text(x(len(curve)) + 8, end + 4, name, "label", more=f' style="fill: {color}"')
        )
    return parts


def write(path, title, panels):
    """Writes the panels to an SVG file."""
    width = WIDTH * len(panels)
    names = dict.fromkeys(name for _, _, series in panels for name in series)
    colors = dict(zip(names, COLORS))  # a name has one colour in every panel
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{HEIGHT}" fill="#ffffff"/>',
        text(LEFT, 30, title, "title"),
    ]
    for i, chart in enumerate(panels):
        parts += [f'<g transform="translate({i * WIDTH} 0)">', *panel(*chart, colors), "</g>"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*parts, "</svg>"]) + "\n")
