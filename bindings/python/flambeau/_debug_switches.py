"""Switches of the whole program: determinism and anomaly detection by their older
names."""

from ._gen import api

_MODES = ("default", "warn", "error")


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Makes every operation give the same bits in every run; indexed writes on a GPU slow down.
    No operation refuses or warns, as `put_` and `max_unpool2d` do in torch."""
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            position = " (position 1)" if name == "mode" else ""
            raise TypeError(
                f"_set_deterministic_algorithms(): argument '{name}'{position} must be bool, not "
                f"{type(value).__name__}"
            )
    api.set_deterministic_enabled(mode)
    api.set_deterministic_warn_only_enabled(warn_only)


def set_deterministic_debug_mode(debug_mode):
    """`use_deterministic_algorithms` by a word or a number: "default" or 0 for no, "warn" or 1 for
    a warning, "error" or 2 for an error."""
    mode = _MODES.index(debug_mode) if debug_mode in _MODES else debug_mode
    if not isinstance(mode, int) or not 0 <= mode < len(_MODES):
        if not isinstance(debug_mode, (int, str)):
            raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
        wanted = "0, 1, or 2" if isinstance(mode, int) else "one of `default`, `warn`, `error`"
        raise RuntimeError(f"invalid value of debug_mode, expected {wanted}, but got {debug_mode}")
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2: see `set_deterministic_debug_mode`."""
    if not api.deterministic_enabled():
        return 0
    return 1 if api.deterministic_warn_only_enabled() else 2


def set_anomaly_enabled(mode, check_nan=True):
    """`autograd.set_detect_anomaly` without its context manager."""
    api.set_detect_anomaly_enabled(bool(mode and check_nan))


def is_anomaly_enabled():
    """Whether backward passes look for NaN."""
    return api.detect_anomaly_enabled()


is_anomaly_check_nan_enabled = is_anomaly_enabled
