"""torch.signal.windows: the library's windows, symmetric where nothing else is asked for.

The formulas are the library's; here are torch's names and options, its two dtypes, its errors."""

from inspect import Parameter, Signature

from .._functions import get_default_dtype
from .._gen import api
from .._types import strided


def _nuttall(M, **options):
    return api.general_cosine_window(M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), **options)


def _general_cosine(M, a, **options):
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    factors = [float(factor) for factor in a]
    if not factors:
        raise ValueError("Coefficients cannot be empty")
    return api.general_cosine_window(M, factors, **options)


def _kaiser(M, beta, **options):
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return api.kaiser_window(M, beta=beta, **options)


def _general_hamming(M, alpha, **options):
    return api.hamming_window(M, alpha=alpha, beta=1 - alpha, **options)


# Who makes each of them, and the options that it has beside those of all.
_WINDOWS = {
    "bartlett": (api.bartlett_window, {}),
    "blackman": (api.blackman_window, {}),
    "cosine": (api.cosine_window, {}),
    "exponential": (api.exponential_window, {"center": None, "tau": 1.0}),
    "gaussian": (api.gaussian_window, {"std": 1.0}),
    "general_cosine": (_general_cosine, {"a": Parameter.empty}),
    "general_hamming": (_general_hamming, {"alpha": 0.54}),
    "hamming": (api.hamming_window, {}),
    "hann": (api.hann_window, {}),
    "kaiser": (_kaiser, {"beta": 12.0}),
    "nuttall": (_nuttall, {}),
}
_OF_ALL = dict(sym=True, dtype=None, layout=strided, device=None, requires_grad=False)


def _check(name, M, dtype, layout):
    if M.__class__ is not int:
        raise TypeError(f"{name}(): argument 'M' must be int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype._name not in ("float32", "float64"):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")


def _window(name, made_by, own):
    keywords = [
        Parameter(k, Parameter.KEYWORD_ONLY, default=v) for k, v in {**own, **_OF_ALL}.items()
    ]
    signature = Signature([Parameter("M", Parameter.POSITIONAL_OR_KEYWORD), *keywords])

    def window(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        M, sym, layout = (given.arguments.pop(key) for key in ("M", "sym", "layout"))
        given.arguments["dtype"] = given.arguments["dtype"] or get_default_dtype()
        _check(name, M, given.arguments["dtype"], layout)
        return made_by(M, periodic=not sym, **given.arguments)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = made_by.__doc__ or f"The {name} window of `M` samples."
    window.__signature__ = signature
    return window


__all__ = list(_WINDOWS)
globals().update({name: _window(name, *row) for name, row in _WINDOWS.items()})
