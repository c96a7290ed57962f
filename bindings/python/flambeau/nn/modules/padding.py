"""Padding modules: constant, zeros, reflection, replication and circular, in one to three
dimensions."""

from .. import functional as F
from .module import Module


class _Pad(Module):
    _n = 1
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * (2 * self._n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise ValueError(
                f"expected {self._n + 1}D or {self._n + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


def _family(base, name, mode, text):
    made = {}
    for n in (1, 2, 3):
        full = f"{name}{n}d"
        made[full] = type(
            full,
            (base,),
            {"_n": n, "_mode": mode, "__module__": __name__, "__doc__": f"{text} over {n}d."},
        )
    return made


CLASSES = {
    **_family(_ConstantPad, "ConstantPad", "constant", "Pads with a constant"),
    **_family(_ZeroPad, "ZeroPad", "constant", "Pads with zeros"),
    **_family(_Pad, "ReflectionPad", "reflect", "Pads with a mirror image"),
    **_family(_Pad, "ReplicationPad", "replicate", "Pads with the edge"),
    **_family(_CircularPad, "CircularPad", "circular", "Pads with the other end"),
}
globals().update(CLASSES)
