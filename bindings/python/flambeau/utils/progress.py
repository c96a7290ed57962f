"""A progress bar for training: done, rate, values such as the loss, device memory, time left. The
engine counts, times and draws; `examples/python/digits.py` uses it.

    with Progress(len(data) * epochs, unit="images", device=device) as bar:
        for images, labels in loader:
            loss = step(images, labels)
            bar.advance(len(images), loss=loss)

A value may be a number, a tensor or a function: it is asked for only when a drawing is due, so that
no step waits for the device."""

import json
import os
import sys

from .._call import ffi
from .._callbacks import guarded, table, value_of
from .._gen import api

__all__ = ["Progress"]

_STYLES = {"auto": "automatic", "bar": "bar", "plain": "plain"}


def _is_first():
    """Whether this process has rank 0: by its group, or before there is one by its launcher."""
    from ..distributed import _group

    job = _group._groups.world
    return job._rank == 0 if job else os.environ.get("RANK") in (None, "", "0")


def _number(value):
    if callable(value):
        value = value()
    return float(value.item() if hasattr(value, "item") else value)


@guarded("flam_py_progress_callback_show")
def _show(user, event, text, state):
    show = value_of(user)
    show(ffi.string(event).decode(), ffi.string(text).decode(), json.loads(ffi.string(state)))


class Progress:
    """Counts up to `total` (0: not known) and shows it until the `with` block ends.

    - `out`: a file to write lines to, one with a file descriptor; None writes nothing. Default:
      standard output, of several processes on rank 0 only.
    - `style`: "bar", "plain" lines, or "auto": a bar on a terminal.
    - `jsonl`: a path; gets one JSON object per line.
    - `callback`: called as `callback(event, text, state)` with "progress", "message" or "end", the
      line as text, and a dictionary.
    - `device`: whose memory is shown.
    - `interval`: seconds between drawings; default: 0.1 for a bar, 10 for lines, 1 for JSON."""

    def __init__(self, total=0, unit=None, *, out=..., style="auto", jsonl=None, callback=None,
                 device=None, interval=0.0):  # fmt: skip
        if style not in _STYLES:
            raise ValueError(f"style {style!r}: one of {', '.join(map(repr, _STYLES))}")
        self._progress = api.progress_new(total, unit)
        self.total, self._out = total, None
        if out is ...:
            out = sys.stdout if _is_first() else None
        if out is not None:
            self._add_text(out, _STYLES[style], interval)
        if jsonl is not None:
            api.progress_to_jsonl(self._progress, os.fspath(jsonl), interval)
        if callback is not None:
            self._add_callback(callback, interval)
        if device is not None:
            api.progress_watch(self._progress, device)

    def _add_text(self, out, style, interval):
        try:
            descriptor = out.fileno()
        except (AttributeError, OSError, ValueError):  # a notebook's or a test's stand-in
            return self._add_callback(_printer(out), interval or 10)
        self._out = out
        return api.progress_to_text(self._progress, descriptor, style, interval)

    def _add_callback(self, callback, interval):
        made = table("flam_progress_callback", callback, show=_show)
        api.progress_to_callback(self._progress, made, interval)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.finish()

    def advance(self, n=1, **values):
        """Counts n more, and draws where that is due, with these values."""
        if api.progress_advance(self._progress, n):
            for name, value in values.items():
                api.progress_set(self._progress, name, _number(value))
            self._flush()
            api.progress_draw(self._progress)

    update = advance

    def set(self, **values):
        """Values to show from the next drawing on."""
        for name, value in values.items():
            api.progress_set(self._progress, name, _number(value))

    def say(self, text):
        """A line that stays, above the bar."""
        self._flush()
        api.progress_say(self._progress, text)

    def finish(self):
        """Stops the time and removes the bar."""
        self._flush()
        api.progress_finish(self._progress)

    def _flush(self):  # what Python has buffered comes before what the engine writes
        if self._out is not None:
            self._out.flush()

    @property
    def done(self):
        """How many so far."""
        return api.progress_done(self._progress)

    @property
    def elapsed(self):
        """Seconds so far."""
        return api.progress_elapsed(self._progress)

    @property
    def rate(self):
        """How many per second."""
        return self.done / max(self.elapsed, 1e-9)

    def __str__(self):
        return api.progress_line(self._progress, 80, False, True)


def _printer(out):
    def show(event, text, state):
        if event != "end":
            print(text, file=out, flush=True)

    return show
