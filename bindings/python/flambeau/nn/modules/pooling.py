"""Pools as modules: maxima, averages, power averages, and the way back from maxima."""

from .. import functional as F
from .module import Module, stored
from .simple import make
from .utils import _family

# Pools stride by their window unless told otherwise, and show it so; AvgPool1d shows tuples.


def _max(
    self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False
):
    return {"stride": kernel_size if stride is None else stride}


def _average(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
             divisor_override=None):  # fmt: skip
    return {"stride": kernel_size if stride is None else stride}


def _average_line(
    self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
):
    sizes = {"kernel_size": kernel_size, "padding": padding}
    sizes["stride"] = kernel_size if stride is None else stride
    return {name: _sizes(size, 1) for name, size in sizes.items()}


_power = lambda self, norm_type, kernel_size, stride=None, ceil_mode=False: None
_adaptive = lambda self, output_size: None
_adaptive_max = lambda self, output_size, return_indices=False: None


def _sizes(value, n):
    return (value,) * n if isinstance(value, int) else value


def _rows(n):
    """(class, function, signature, what prints of it) of the pools over n dimensions."""
    window, size = ("kernel_size", "stride", "padding"), stored("output_size")
    average = _average_line if n == 1 else _average
    return (
        (f"MaxPool{n}d", f"max_pool{n}d", _max, stored(*window, "dilation", "ceil_mode")),
        (f"AvgPool{n}d", f"avg_pool{n}d", average, stored(*window)),
        (f"LPPool{n}d", f"lp_pool{n}d", _power),
        (f"AdaptiveAvgPool{n}d", f"adaptive_avg_pool{n}d", _adaptive),
        (f"AdaptiveMaxPool{n}d", f"adaptive_max_pool{n}d", _adaptive_max, size),
    )


CLASSES = {row[0]: make(*row, module=__name__) for n in (1, 2, 3) for row in _rows(n)}


class _MaxUnpool(Module):
    _n = 1

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.kernel_size, self.stride, self.padding = (
            tuple(_sizes(v, self._n)) for v in (kernel_size, stride, padding)
        )

    def forward(self, input, indices, output_size=None):
        unpool = getattr(F, f"max_unpool{self._n}d")
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    extra_repr = stored("kernel_size", "stride", "padding")


class _FractionalMaxPool(Module):
    _n = 2

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                 _random_samples=None):  # fmt: skip
        super().__init__()
        name = type(self).__name__

        def each(v):
            return v if v is None else tuple(v) if isinstance(v, (tuple, list)) else (v,) * self._n

        self.kernel_size, self.return_indices = each(kernel_size), return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size, self.output_ratio = each(output_size), each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        pool = getattr(F, f"fractional_max_pool{self._n}d")
        sizes = self.kernel_size, self.output_size, self.output_ratio
        return pool(input, *sizes, self.return_indices, _random_samples=self._random_samples)


_family(globals(), _MaxUnpool, "MaxUnpool", "Puts maxima back where they were, over {n}d.")
_family(
    globals(),
    _FractionalMaxPool,
    "FractionalMaxPool",
    "Greatest elements at drawn steps, over {n}d.",
    dims=(2, 3),
)
globals().update(CLASSES)
