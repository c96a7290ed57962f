"""Output of ranks, several of which write to one console. A launcher's interpreters are unbuffered,
and such a one writes a line and its end one after the other, with other ranks' in between."""

import sys


def keep_whole():
    """From here on this process writes a line when it is complete, or flushed: as on a terminal."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "write_through", False):
            stream.reconfigure(line_buffering=True, write_through=False)
