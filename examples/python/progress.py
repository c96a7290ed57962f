"""A progress bar for a terminal: done, rate, loss, time left, device memory, on one line that is
drawn in place.

Where the output is no terminal nothing is drawn, and only the lines given to `say` appear. A value
that costs a wait for the device (the loss) is asked for only when the line is drawn, ten times a
second.
"""

import os
import shutil
import sys
import time


def duration(seconds):
    """Seconds as 1:05 or 2:03:04."""
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def size(n):
    """Bytes as 1.4 MiB."""
    for unit in "B", "KiB", "MiB", "GiB":
        if n < 1024 or unit == "GiB":
            return f"{n:.1f} {unit}" if unit != "B" else f"{n} B"
        n /= 1024


class Progress:
    """`with Progress(total) as bar: bar.advance(n, facts)`; `facts` returns names and values."""

    def __init__(self, total, out=None, every=0.1):
        self.total, self.out, self.every = total, out or sys.stdout, every
        self.live = self.out.isatty() and os.environ.get("TERM") != "dumb"
        self.color = self.live and "NO_COLOR" not in os.environ
        unicode = (self.out.encoding or "").lower().startswith("utf")
        self.full, self.empty = ("━", "━" if self.color else "╌") if unicode else ("#", "-")
        self.done, self.begun, self.drawn = 0, time.monotonic(), 0.0

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._erase()

    def advance(self, n, facts, *args):
        """Counts n more; draws the line if it is time to, with what `facts(*args)` says."""
        self.done += n
        now = time.monotonic()
        if self.live and (now - self.drawn >= self.every or self.done >= self.total):
            self.drawn = now
            self._draw(now - self.begun, facts(*args))

    def say(self, text):
        """A line that stays, above the bar."""
        self._erase()
        print(text, file=self.out, flush=True)

    def rate(self):
        """How many per second so far."""
        return self.done / max(time.monotonic() - self.begun, 1e-9)

    def paint(self, code, text):
        """Text in a colour, where there are colours."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def _draw(self, elapsed, values):
        left = (self.total - self.done) * elapsed / self.done
        facts = [
            f"{100 * self.done // self.total:3d} %",
            f"{self.done / max(elapsed, 1e-9):,.0f}/s",
            *(f"{name} {value}" for name, value in values.items()),
            f"{duration(left)} left",
        ]
        text = "  ".join(facts)
        width = max(8, min(32, shutil.get_terminal_size().columns - len(text) - 4))
        full = width * self.done // self.total
        bar = self.paint("33", self.full * full) + self.paint("90", self.empty * (width - full))
        self.out.write(f"\r\x1b[2K{bar}  {text}")
        self.out.flush()

    def _erase(self):
        if self.live:
            self.out.write("\r\x1b[2K")
            self.out.flush()
