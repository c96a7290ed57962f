"""`torch.ao`: of it, the names of quantization that models mention."""

from .._on_demand import loader as _loader

__getattr__ = _loader(globals(), {}, "quantization")
