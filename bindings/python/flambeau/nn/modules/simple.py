"""Modules without weights: one row per class says which function it calls and which options it
holds.

A row is (class name, functional name, options, how they print). Options become attributes, in the
order in which PyTorch's constructor takes them, and keyword arguments of the function."""

from .. import functional as F
from .module import Module

_NEEDED = object()


def _stored(*names):
    """An extra_repr that prints these options by name."""
    return lambda self: ", ".join(f"{n}={getattr(self, n)}" for n in names)


def _inplace(self):
    return "inplace=True" if self.inplace else ""


def _and_inplace(*names):
    shown = _stored(*names)
    return lambda self: shown(self) + (", inplace=True" if self.inplace else "")


def _softmax_dim(self):
    return f"dim={self.dim}"


def _make(name, function, options, shown, trained=False):
    names = tuple(options)
    required = [n for n, d in options.items() if d is _NEEDED]

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        if len(args) > len(names):
            raise TypeError(
                f"{name}.__init__() takes at most {len(names)} arguments ({len(args)} given)"
            )
        given = {**dict(zip(names, args)), **kwargs}
        for n in given:
            if n not in options:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{n}'")
        for n in required:
            if n not in given:
                raise TypeError(f"{name}.__init__() missing 1 required positional argument: '{n}'")
        for n, default in options.items():
            setattr(self, n, given.get(n, default))

    def forward(self, input):
        passed = {n: getattr(self, n) for n in names}
        if trained:
            passed["training"] = self.training
        return getattr(F, function)(input, **passed)

    def plain(self, input):
        return getattr(F, function)(input)

    return type(
        name,
        (Module,),
        {
            "__init__": __init__,
            "forward": forward if names or trained else plain,
            "__module__": __name__,
            "__doc__": f"`torch.nn.functional.{function}` as a module.",
            **({"extra_repr": shown} if shown else {}),
        },
    )


_POOL = {"kernel_size": _NEEDED, "stride": None, "padding": 0}


_ROWS = (
    ("ReLU", "relu", {"inplace": False}, _inplace),
    ("ReLU6", "relu6", {"inplace": False}, _inplace),
    (
        "LeakyReLU",
        "leaky_relu",
        {"negative_slope": 0.01, "inplace": False},
        _and_inplace("negative_slope"),
    ),
    ("ELU", "elu", {"alpha": 1.0, "inplace": False}, _and_inplace("alpha")),
    ("SELU", "selu", {"inplace": False}, _inplace),
    ("CELU", "celu", {"alpha": 1.0, "inplace": False}, _and_inplace("alpha")),
    ("GELU", "gelu", {"approximate": "none"}, lambda self: f"approximate={self.approximate!r}"),
    ("SiLU", "silu", {"inplace": False}, _inplace),
    ("Mish", "mish", {"inplace": False}, _inplace),
    ("Sigmoid", "sigmoid", {}, None),
    ("LogSigmoid", "logsigmoid", {}, None),
    ("Tanh", "tanh", {}, None),
    ("Softplus", "softplus", {"beta": 1.0, "threshold": 20.0}, _stored("beta", "threshold")),
    ("Softsign", "softsign", {}, None),
    (
        "Hardtanh",
        "hardtanh",
        {"min_val": -1.0, "max_val": 1.0, "inplace": False},
        _and_inplace("min_val", "max_val"),
    ),
    ("Hardsigmoid", "hardsigmoid", {"inplace": False}, None),
    ("Hardswish", "hardswish", {"inplace": False}, None),
    ("Softmax", "softmax", {"dim": None}, _softmax_dim),
    ("LogSoftmax", "log_softmax", {"dim": None}, _softmax_dim),
    ("Softmin", "softmin", {"dim": None}, _softmax_dim),
    ("GLU", "glu", {"dim": -1}, _softmax_dim),
    ("Dropout1d", "dropout1d", {"p": 0.5, "inplace": False}, _stored("p", "inplace"), True),
    ("Dropout", "dropout", {"p": 0.5, "inplace": False}, _stored("p", "inplace"), True),
    ("Dropout2d", "dropout2d", {"p": 0.5, "inplace": False}, _stored("p", "inplace"), True),
    ("Dropout3d", "dropout3d", {"p": 0.5, "inplace": False}, _stored("p", "inplace"), True),
    (
        "MaxPool1d",
        "max_pool1d",
        {**_POOL, "dilation": 1, "return_indices": False, "ceil_mode": False},
        _stored("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    ),
    (
        "MaxPool2d",
        "max_pool2d",
        {**_POOL, "dilation": 1, "return_indices": False, "ceil_mode": False},
        _stored("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    ),
    (
        "AvgPool1d",
        "avg_pool1d",
        {**_POOL, "ceil_mode": False, "count_include_pad": True},
        _stored("kernel_size", "stride", "padding"),
    ),
    (
        "AvgPool2d",
        "avg_pool2d",
        {**_POOL, "ceil_mode": False, "count_include_pad": True, "divisor_override": None},
        _stored("kernel_size", "stride", "padding"),
    ),
    ("AdaptiveAvgPool1d", "adaptive_avg_pool1d", {"output_size": _NEEDED}, _stored("output_size")),
    ("AdaptiveAvgPool2d", "adaptive_avg_pool2d", {"output_size": _NEEDED}, _stored("output_size")),
    ("AdaptiveMaxPool1d", "adaptive_max_pool1d", {"output_size": _NEEDED}, _stored("output_size")),
    ("AdaptiveMaxPool2d", "adaptive_max_pool2d", {"output_size": _NEEDED}, _stored("output_size")),
    ("PixelShuffle", "pixel_shuffle", {"upscale_factor": _NEEDED}, _stored("upscale_factor")),
)

CLASSES = {row[0]: _make(*row) for row in _ROWS}
globals().update(CLASSES)


def _default_stride(cls):
    """Pools stride by their window unless told otherwise, and show it so."""
    plain = cls.__init__

    def __init__(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size

    cls.__init__ = __init__


for _name in ("MaxPool1d", "MaxPool2d", "AvgPool1d", "AvgPool2d"):
    _default_stride(CLASSES[_name])
