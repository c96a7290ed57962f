"""Modules without weights: one row per class says which function it calls and which options it
holds.

A row is (class name, functional name, signature, what prints). Options become attributes, and
keyword arguments of the function."""

from ..._signed import kind, parameters
from .. import functional as F
from .module import Module, stored


def make(name, function, signature, shown=None, trained=False, module=__name__):
    names = parameters(signature)

    def begin(above, self, given):
        above()
        for option, value in given.items():
            setattr(self, option, value)

    def forward(self, input):
        passed = {n: getattr(self, n) for n in names}
        if trained:
            passed["training"] = self.training
        return getattr(F, function)(input, **passed)

    def plain(self, input):
        return getattr(F, function)(input)

    def extra_repr(self):
        told = [n for n in names if n != "inplace" or self.inplace]
        return stored(*told)(self)

    called = forward if names or trained else plain
    called.__name__, called.__qualname__ = "forward", f"{name}.forward"
    members = {
        "forward": called,
        "extra_repr": shown or extra_repr,
        "__module__": module,
        "__doc__": f"`torch.nn.functional.{function}` as a module.",
    }
    return kind(name, Module, signature, begin, **members)


def _dropout(self, p=0.5, inplace=False):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dim(self, dim=None):
    if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
        raise TypeError(f"dim must be an int or None, got {type(dim)}")


_switch = lambda self, inplace=False: None
_bare = lambda self: None
_neighbours = lambda self, size, alpha=1e-4, beta=0.75, k=1.0: None
_windows = lambda self, output_size, kernel_size, dilation=1, padding=0, stride=1: None
_DROPOUTS = {
    "Dropout1d": "dropout1d",
    "Dropout": "dropout",
    "Dropout2d": "dropout2d",
    "Dropout3d": "dropout3d",
    "AlphaDropout": "alpha_dropout",
    "FeatureAlphaDropout": "feature_alpha_dropout",
}
_ROWS = (
    ("ReLU", "relu", _switch),
    ("ReLU6", "relu6", _switch),
    ("LeakyReLU", "leaky_relu", lambda self, negative_slope=0.01, inplace=False: None),
    ("ELU", "elu", lambda self, alpha=1.0, inplace=False: None),
    ("SELU", "selu", _switch),
    ("CELU", "celu", lambda self, alpha=1.0, inplace=False: None),
    ("GELU", "gelu", lambda self, approximate="none": None),
    ("SiLU", "silu", _switch),
    ("Mish", "mish", _switch),
    ("Sigmoid", "sigmoid", _bare),
    ("LogSigmoid", "logsigmoid", _bare),
    ("Tanh", "tanh", _bare),
    ("Softplus", "softplus", lambda self, beta=1.0, threshold=20.0: None),
    ("Softsign", "softsign", _bare),
    ("Hardtanh", "hardtanh", lambda self, min_val=-1.0, max_val=1.0, inplace=False: None),
    ("Hardsigmoid", "hardsigmoid", _switch),
    ("Hardswish", "hardswish", _switch),
    ("Softmax", "softmax", _dim),
    ("LogSoftmax", "log_softmax", _dim),
    ("Softmin", "softmin", _dim),
    ("GLU", "glu", lambda self, dim=-1: None),
    *((name, function, _dropout) for name, function in _DROPOUTS.items()),
    ("PixelShuffle", "pixel_shuffle", lambda self, upscale_factor: None),
    ("PixelUnshuffle", "pixel_unshuffle", lambda self, downscale_factor: None),
    ("ChannelShuffle", "channel_shuffle", lambda self, groups: None),
    ("Tanhshrink", "tanhshrink", _bare),
    ("Hardshrink", "hardshrink", lambda self, lambd=0.5: None),
    ("Softshrink", "softshrink", lambda self, lambd=0.5: None),
    ("Threshold", "threshold", lambda self, threshold, value, inplace=False: None),
    ("RReLU", "rrelu", lambda self, lower=1.0 / 8, upper=1.0 / 3, inplace=False: None),
    ("LocalResponseNorm", "local_response_norm", _neighbours),
    # the older name, with another default
    ("CrossMapLRN2d", "local_response_norm", lambda self, size, alpha=1e-4, beta=0.75, k=1: None),
    ("Unfold", "unfold", lambda self, kernel_size, dilation=1, padding=0, stride=1: None),
    ("Fold", "fold", _windows),
)
_SHOWN = {  # of those that do not print their options by name
    **dict.fromkeys(_DROPOUTS, stored("p", "inplace")),
    **dict.fromkeys(["Hardsigmoid", "Hardswish"], stored()),
    **dict.fromkeys(["Hardshrink", "Softshrink"], stored(plain="lambd")),
    **dict.fromkeys(
        ["LocalResponseNorm", "CrossMapLRN2d"], stored("alpha", "beta", "k", plain="size")
    ),
    "GELU": lambda self: f"approximate={self.approximate!r}",
}

CLASSES = {
    row[0]: make(*row, _SHOWN.get(row[0]), trained=row[0] in {"RReLU", *_DROPOUTS}) for row in _ROWS
}
CLASSES["ReLU6"].min_val, CLASSES["ReLU6"].max_val = 0.0, 6.0
globals().update(CLASSES)
