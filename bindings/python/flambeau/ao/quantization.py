"""`torch.ao.quantization`: the markers that models contain do what they do in a model that is not
quantized, nothing; quantizing is unsupported and says so. A capital letter begins a class."""

from .. import _refused
from ..nn.modules.module import Module


class QuantStub(Module):
    """Marks where values would become quantized; passes them on."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Marks where values would become floating again; passes them on."""


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'torch.ao.quantization' has no attribute '{name}'")
    why = "flambeau has no quantized tensors; use the model in bfloat16 or float16"
    found = _refused.names("torch.ao.quantization", name, why)
    globals().update(found)
    return found[name]
