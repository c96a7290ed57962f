"""torch's deprecated spellings: what they mean today, with torch's warnings.

Nothing here is on the path of a current call: the callers look first whether they were given an old
form. A warning stands at the line of the program that led to it, however deep the call went."""

import functools
import sys
import warnings

from .._library import fast

PACKAGE = __name__.partition(".")[0] + "."
_told = set()


def warn_once(text, kind=None):
    """A UserWarning, the first time only: of this text, or of its kind."""
    if (kind or text) not in _told or fast.flam_warn_always_enabled():
        _told.add(kind or text)
        warn(text)


def warn(text, kind=UserWarning):
    """A warning, as often as Python's filters let it through."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)


def reduction_of(size_average, reduce):
    """The pair of flags as today's word."""
    if reduce is False:
        found = "none"
    else:
        found = "sum" if size_average is False else "mean"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{found}' instead."
    )
    return found


def elementwise_mean():
    """The old word for a mean, as today's."""
    warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    return "mean"


def softmax_dim(name, ndim):
    """The dimension that torch chooses where none is given."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def numbers_first(function, given, factors, **named):
    """Calls `function` where its factors came as numbers before the tensors that they scale, as in
    `add(input, 2, other)` or `addmm(beta, input, alpha, mat1, mat2)`."""
    name = function.__name__
    kinds = ["Tensor" if hasattr(v, "_h") else "Number" for v in given]
    tensors = [v for v in given if hasattr(v, "_h")]
    numbers = [v for v in given if isinstance(v, (int, float))]
    n = len(given) - len(numbers)
    if n != len(tensors) or not 0 < len(numbers) <= len(factors) or n != _operands(function):
        raise TypeError(
            f"{name}() takes {_operands(function)} positional arguments but {len(given)} were given"
        )
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(kinds)})\nConsider using "
        f"one of the following signatures instead:\n\t{name}({', '.join(['Tensor'] * n)}, *, "
        f"{', '.join(f'Number {f}' for f in factors)})",
        kind="overload",
    )
    return function(*tensors, **{**named, **dict(zip(factors, numbers))})


def _operands(function):
    return function.__code__.co_argcount


def renamed(current, old, text, kind=FutureWarning):
    """A function under its older name."""

    @functools.wraps(current)
    def run(*args, **named):
        warn(text, kind)
        return current(*args, **named)

    run.__name__ = old
    return run


def moved(spelling, instead):
    """A FutureWarning at the line that used a spelling that is another one today."""
    warn(f"`{spelling}` is deprecated. Please use `{instead}` instead.", FutureWarning)
