"""Pools as modules: maxima, averages, power averages, and the way back from maxima."""

from .. import functional as F
from .module import Module
from .simple import NEEDED, make, stored

_POOL = {"kernel_size": NEEDED, "stride": None, "padding": 0}
_MAX = {**_POOL, "dilation": 1, "return_indices": False, "ceil_mode": False}
_POWER = {"norm_type": NEEDED, "kernel_size": NEEDED, "stride": None, "ceil_mode": False}


def _rows(n):
    average = {**_POOL, "ceil_mode": False, "count_include_pad": True}
    if n > 1:
        average["divisor_override"] = None
    size = {"output_size": NEEDED}
    return (
        (
            f"MaxPool{n}d",
            f"max_pool{n}d",
            _MAX,
            stored("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
        ),
        (f"AvgPool{n}d", f"avg_pool{n}d", average, stored("kernel_size", "stride", "padding")),
        (
            f"LPPool{n}d",
            f"lp_pool{n}d",
            _POWER,
            stored("norm_type", "kernel_size", "stride", "ceil_mode"),
        ),
        (f"AdaptiveAvgPool{n}d", f"adaptive_avg_pool{n}d", size, stored("output_size")),
        (
            f"AdaptiveMaxPool{n}d",
            f"adaptive_max_pool{n}d",
            {**size, "return_indices": False},
            stored("output_size"),
        ),
    )


CLASSES = {row[0]: make(*row, module=__name__) for n in (1, 2, 3) for row in _rows(n)}


def _default_stride(cls, as_tuple):
    """Pools stride by their window unless told otherwise, and show it so; AvgPool1d shows
    tuples."""
    plain = cls.__init__

    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size
        for name in ("kernel_size", "stride", "padding") if as_tuple else ():
            value = getattr(self, name)
            setattr(self, name, (value,) if isinstance(value, int) else value)

    cls.__init__ = __init__


for _name, _class in CLASSES.items():
    if _name.startswith(("MaxPool", "AvgPool")):
        _default_stride(_class, _name == "AvgPool1d")


class _MaxUnpool(Module):
    _n = 1

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()

        def each(v):
            return (v,) * self._n if isinstance(v, int) else tuple(v)

        self.kernel_size, self.padding = each(kernel_size), each(padding)
        self.stride = self.kernel_size if stride is None else each(stride)

    def forward(self, input, indices, output_size=None):
        unpool = getattr(F, f"max_unpool{self._n}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


for _n in (1, 2, 3):
    CLASSES[f"MaxUnpool{_n}d"] = type(
        f"MaxUnpool{_n}d",
        (_MaxUnpool,),
        {"_n": _n, "__module__": __name__, "__doc__": "Puts maxima back where they were."},
    )
globals().update(CLASSES)
