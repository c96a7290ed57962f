"""How tensors print: options kept in one C struct; the text itself is made by the library."""

import math

from ._call import _blocking, _raise, _text, ffi

# in the order in which the library takes them
_options = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": -1}
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
_NEVER_SUMMARISE = 2**63 - 1


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """Sets how tensors print; `profile` is "default", "short" or "full", the others override it."""
    names = "precision", "threshold", "edgeitems", "linewidth"
    values = dict(zip(names, _PROFILES[profile] if profile else ()))
    given = dict(zip(names, (precision, threshold, edgeitems, linewidth)))
    values.update((name, value) for name, value in given.items() if value is not None)
    for name, value in values.items():
        _options[name] = _NEVER_SUMMARISE if value == math.inf else int(value)
    if profile is not None or sci_mode is not None:
        _options["sci_mode"] = -1 if sci_mode is None else int(bool(sci_mode))


def text(tensor):
    """What `repr(tensor)` says."""
    out = ffi.new("const char **")
    if _blocking.flam_tensor_format(tensor._h, *_options.values(), 0, out):
        _raise()
    found = _text(out[0])
    return found if type(tensor) in PLAIN else _renamed(found, tensor)


PLAIN = set()  # classes that print as "tensor(...)"; the others by their names


def _renamed(found, tensor):
    name = type(tensor).__name__
    is_parameter = getattr(tensor, "_is_param", False)
    opening = f"Parameter({name}(" if is_parameter else f"{name}("
    lines = found[len("tensor(") :].split("\n")
    more = " " * (len(opening) - len("tensor("))
    less = max(len("tensor(") - len(opening), 0)
    lines[1:] = [(more + line)[less if line.startswith(" " * less) else 0 :] for line in lines[1:]]
    return opening + "\n".join(lines) + (")" if is_parameter else "")
