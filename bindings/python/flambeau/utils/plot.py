"""Charts as SVG files without dependencies, drawn by the engine.

plot = Plot("Handwritten digits")
plot.panel("Accuracy", x_label="epoch", unit=" %")
plot.line("held out", accuracies)
plot.write("curves.svg")
"""

import os

from .._gen import api

__all__ = ["Plot"]


def _numbers(values):
    if values is None:
        return None
    return [float(v) for v in (values.tolist() if hasattr(values, "tolist") else values)]


class Plot:
    """Panels side by side; each call of `panel` begins one. In a notebook it shows itself."""

    def __init__(self, title=None):
        self._plot = api.plot_new(title)

    def panel(self, heading, x_label=None, unit=None, log_y=False):
        """Begins a panel; `unit` follows every number of its y axis."""
        api.plot_panel(self._plot, heading, x_label, unit, log_y)
        return self

    def line(self, name, y, x=None):
        """Draws a curve; x is 1, 2, 3 and so on unless given."""
        return self._draw(api.plot_line, name, y, x)

    def points(self, name, y, x=None):
        """Draws points."""
        return self._draw(api.plot_points, name, y, x)

    def bars(self, name, y, x=None):
        """Draws bars from 0; x are their middles."""
        return self._draw(api.plot_bars, name, y, x)

    def _draw(self, draw, name, y, x):
        draw(self._plot, name, _numbers(y), _numbers(x))
        return self

    def svg(self):
        """The chart as text."""
        return api.plot_svg(self._plot)

    def write(self, path):
        """Writes the chart to a file."""
        api.plot_write(self._plot, os.fspath(path))

    def _repr_svg_(self):
        return self.svg()
