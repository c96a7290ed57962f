"""cuDNN's switches. `deterministic` and `benchmark` are plain settings: results are repeatable
either way."""

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available():
    """Whether convolutions use cuDNN: no, they are flambeau's own on every device."""
    return False


def version():
    """The version of cuDNN in use: None."""
    return None


class flags:
    """Sets the switches for a `with` block."""

    def __init__(self, **switches):
        unknown = set(switches) - {"enabled", "benchmark", "deterministic", "allow_tf32"}
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument '{unknown.pop()}'")
        self._new = switches

    def __enter__(self):
        self._old = {name: globals()[name] for name in self._new}
        globals().update(self._new)

    def __exit__(self, *exc):
        globals().update(self._old)
