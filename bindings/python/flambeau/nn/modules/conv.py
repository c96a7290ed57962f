"""Convolutions over one, two and three spatial dimensions, and their transposes.

The work is done by the functional form; a class only holds the weights and the geometry, as torch
names it."""

from .. import functional as F
from .. import init
from ..parameter import room
from .module import Module, unusual
from .utils import _family


def _tuple(value, n):
    return (value,) * n if isinstance(value, int) else tuple(value)


class _ConvNd(Module):
    _n, _name = 2, "conv2d"
    _transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1,
                 groups=1, bias=True, padding_mode="zeros", device=None, dtype=None,
                 output_padding=0):  # fmt: skip
        super().__init__()
        n = self._n
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in ("in_channels", in_channels), ("out_channels", out_channels):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups")
        if self._transposed and padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}, but got '
                f"padding_mode='{padding_mode}'"
            )
        modes = "zeros", "reflect", "replicate", "circular"
        if padding_mode not in modes:
            raise ValueError(
                f"padding_mode must be one of {set(modes)}, but got padding_mode='{padding_mode}'"
            )
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}"
            )
        if padding == "same" and any(s != 1 for s in _tuple(stride, n)):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = (
            _tuple(v, n) for v in (kernel_size, stride, dilation)
        )
        self.padding = padding if isinstance(padding, str) else _tuple(padding, n)
        self.transposed, self.output_padding = self._transposed, _tuple(output_padding, n)
        self.padding_mode = padding_mode
        rows, columns = (
            (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        )
        kind = {"device": device, "dtype": dtype}
        self.weight = room((rows, columns // groups, *self.kernel_size), **kind)
        self.register_parameter("bias", room(out_channels, bias, **kind))
        self.reset_parameters()

    def _function(self, *args):
        return getattr(F, self._name)(*args)

    def reset_parameters(self):
        init._affine_(self.weight, self.bias)

    def _pad(self, input):
        pads = []
        for p in reversed(self._sides()):
            pads += [p, p] if isinstance(p, int) else list(p)
        return F.pad(
            input, pads, mode="constant" if self.padding_mode == "zeros" else self.padding_mode
        )

    def _sides(self):
        if self.padding == "valid":
            return (0,) * self._n
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return tuple(t // 2 if t % 2 == 0 else (t // 2, t - t // 2) for t in totals)
        return self.padding

    def forward(self, input):
        padding = self._sides()
        if self.padding_mode != "zeros" or any(not isinstance(side, int) for side in padding):
            input, padding = self._pad(input), (0,) * self._n
        return self._function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )

    def extra_repr(self):
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        zeros, ones = (0,) * self._n, (1,) * self._n
        parts += unusual(self, padding=zeros, dilation=ones, output_padding=zeros, groups=1)
        if self.bias is None:
            parts.append("bias=False")
        parts += unusual(self, padding_mode="zeros")
        return ", ".join(parts)


class _ConvTranspose(_ConvNd):
    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0,
                 output_padding=0, groups=1, bias=True, dilation=1, padding_mode="zeros",
                 device=None, dtype=None):  # fmt: skip
        rest = (groups, bias, padding_mode, device, dtype, output_padding)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, *rest)

    def forward(self, input, output_size=None):
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        where = (self.stride, self.padding, extra, self.groups, self.dilation)
        return self._function(input, self.weight, self.bias, *where)

    def _extra(self, input, output_size):
        sizes = tuple(output_size)[-self._n :]
        least = [
            (i - 1) * s - 2 * p + d * (k - 1) + 1
            for i, s, p, d, k in zip(
                input.shape[-self._n :], self.stride, self.padding, self.dilation, self.kernel_size
            )
        ]
        if any(not m <= size < m + s for size, m, s in zip(sizes, least, self.stride)):
            raise ValueError(
                f"requested an output size of {sizes}, but valid sizes range from {least}"
            )
        return tuple(size - m for size, m in zip(sizes, least))


for _base, _name, _f, _text in (
    (_ConvNd, "Conv", "conv", "Convolution over [N, C, {shape}]."),
    (
        _ConvTranspose,
        "ConvTranspose",
        "conv_transpose",
        "Transposed convolution over [N, C, {shape}].",
    ),
):
    _family(globals(), _base, _name, _text, _name=lambda n, f=_f: f"{f}{n}d")
