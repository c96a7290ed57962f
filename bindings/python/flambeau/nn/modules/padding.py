"""Padding modules: constant, zeros, reflection, replication and circular, in one to three
dimensions."""

from .. import functional as F
from .module import Module, stored
from .utils import _family


class _Pad(Module):
    _n = 1
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * (2 * self._n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    extra_repr = stored(plain="padding")


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    extra_repr = stored("padding", "value")


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    extra_repr = stored(plain="padding")


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(
                f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


for _base, _name, _how, _text in (
    (_ConstantPad, "ConstantPad", "constant", "Pads with a constant over {n}d."),
    (_ZeroPad, "ZeroPad", "constant", "Pads with zeros over {n}d."),
    (_Pad, "ReflectionPad", "reflect", "Pads with a mirror image over {n}d."),
    (_Pad, "ReplicationPad", "replicate", "Pads with the edge over {n}d."),
    (_CircularPad, "CircularPad", "circular", "Pads with the other end over {n}d."),
):
    _family(globals(), _base, _name, _text, _mode=lambda n, mode=_how: mode)
