"""Modules without weights: one row per class says which function it calls and which options it
holds.

A row is (class name, functional name, options, how they print). Options become attributes, in the
order in which PyTorch's constructor takes them, and keyword arguments of the function."""

from .. import functional as F
from .module import Module

NEEDED = object()


def stored(*names):
    """An extra_repr that prints these options by name."""
    return lambda self: ", ".join(f"{n}={getattr(self, n)}" for n in names)


def _inplace(self):
    return "inplace=True" if self.inplace else ""


def _and_inplace(*names):
    shown = stored(*names)
    return lambda self: shown(self) + (", inplace=True" if self.inplace else "")


def _softmax_dim(self):
    return f"dim={self.dim}"


def make(name, function, options, shown, trained=False, module=__name__):
    names = tuple(options)
    required = [n for n, d in options.items() if d is NEEDED]

    def __init__(self, *args, **kwargs):
        super(made, self).__init__()
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
        if trained and not 0.0 <= self.__dict__.get("p", 0.0) <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input):
        passed = {n: getattr(self, n) for n in names}
        if trained:
            passed["training"] = self.training
        return getattr(F, function)(input, **passed)

    def plain(self, input):
        return getattr(F, function)(input)

    made = type(
        name,
        (Module,),
        {
            "__init__": __init__,
            "forward": forward if names or trained else plain,
            "__module__": module,
            "__doc__": f"`torch.nn.functional.{function}` as a module.",
            **({"extra_repr": shown} if shown else {}),
        },
    )
    return made


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
    ("Softplus", "softplus", {"beta": 1.0, "threshold": 20.0}, stored("beta", "threshold")),
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
    ("Dropout1d", "dropout1d", {"p": 0.5, "inplace": False}, stored("p", "inplace"), True),
    ("Dropout", "dropout", {"p": 0.5, "inplace": False}, stored("p", "inplace"), True),
    ("Dropout2d", "dropout2d", {"p": 0.5, "inplace": False}, stored("p", "inplace"), True),
    ("Dropout3d", "dropout3d", {"p": 0.5, "inplace": False}, stored("p", "inplace"), True),
    ("PixelShuffle", "pixel_shuffle", {"upscale_factor": NEEDED}, stored("upscale_factor")),
    ("PixelUnshuffle", "pixel_unshuffle", {"downscale_factor": NEEDED}, stored("downscale_factor")),
    ("ChannelShuffle", "channel_shuffle", {"groups": NEEDED}, stored("groups")),
    ("Tanhshrink", "tanhshrink", {}, None),
    ("Hardshrink", "hardshrink", {"lambd": 0.5}, lambda self: f"{self.lambd}"),
    ("Softshrink", "softshrink", {"lambd": 0.5}, lambda self: f"{self.lambd}"),
    (
        "Threshold",
        "threshold",
        {"threshold": NEEDED, "value": NEEDED, "inplace": False},
        _and_inplace("threshold", "value"),
    ),
    (
        "RReLU",
        "rrelu",
        {"lower": 1.0 / 8, "upper": 1.0 / 3, "inplace": False},
        _and_inplace("lower", "upper"),
        True,
    ),
    ("AlphaDropout", "alpha_dropout", {"p": 0.5, "inplace": False}, stored("p", "inplace"), True),
    (
        "FeatureAlphaDropout",
        "feature_alpha_dropout",
        {"p": 0.5, "inplace": False},
        stored("p", "inplace"),
        True,
    ),
    (
        "LocalResponseNorm",
        "local_response_norm",
        {"size": NEEDED, "alpha": 1e-4, "beta": 0.75, "k": 1.0},
        lambda self: f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}",
    ),
    (
        "Unfold",
        "unfold",
        {"kernel_size": NEEDED, "dilation": 1, "padding": 0, "stride": 1},
        stored("kernel_size", "dilation", "padding", "stride"),
    ),
    (
        "Fold",
        "fold",
        {"output_size": NEEDED, "kernel_size": NEEDED, "dilation": 1, "padding": 0, "stride": 1},
        stored("output_size", "kernel_size", "dilation", "padding", "stride"),
    ),
)

CLASSES = {row[0]: make(*row) for row in _ROWS}
CLASSES["ReLU6"].min_val, CLASSES["ReLU6"].max_val = 0.0, 6.0
CLASSES["CrossMapLRN2d"] = make(  # the older name, with another default
    "CrossMapLRN2d",
    "local_response_norm",
    {"size": NEEDED, "alpha": 1e-4, "beta": 0.75, "k": 1},
    CLASSES["LocalResponseNorm"].extra_repr,
)
globals().update(CLASSES)
