"""Switches of CUDA. There is one way to compute attention, so which kernels of torch's are allowed
is kept, and decides nothing."""

from .._functions import get_float32_matmul_precision, set_float32_matmul_precision
from .._gen import api
from .._on_demand import during as _during


def is_built():
    """Whether the library was built with CUDA; the reason is in `flambeau doctor` where it was
    not."""
    return "built" not in (api.cuda_unavailable_reason() or "")


_before_tf32 = "none"  # or "ieee": what `fp32_precision` says where it is not "tf32"


def _precision(_):
    return _before_tf32 if get_float32_matmul_precision() == "highest" else "tf32"


def _set_precision(_, value):
    global _before_tf32
    if value not in ("none", "ieee", "tf32"):
        raise RuntimeError(f"fp32_precision is one of 'ieee', 'tf32' and 'none', not {value!r}")
    _before_tf32 = _before_tf32 if value == "tf32" else value
    set_float32_matmul_precision("high" if value == "tf32" else "highest")


class _Matmul:
    fp32_precision = property(_precision, _set_precision)
    allow_tf32 = property(
        lambda self: self.fp32_precision == "tf32",
        lambda self, on: _set_precision(self, "tf32" if on else "ieee"),
    )
    allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()
_attention = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn", "fused"), True)


def _switch(kind):
    def enable(enabled):
        _attention[kind] = bool(enabled)

    def is_enabled():
        return _attention[kind]

    enable.__doc__ = f"Allows or forbids torch's {kind} attention."
    is_enabled.__doc__ = f"Whether torch's {kind} attention is allowed."
    return enable, is_enabled


enable_flash_sdp, flash_sdp_enabled = _switch("flash")
enable_mem_efficient_sdp, mem_efficient_sdp_enabled = _switch("mem_efficient")
enable_math_sdp, math_sdp_enabled = _switch("math")
enable_cudnn_sdp, cudnn_sdp_enabled = _switch("cudnn")


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Allows these kinds inside the block; `torch.nn.attention.sdpa_kernel` is the newer name."""
    chosen = {"flash": enable_flash, "math": enable_math, "mem_efficient": enable_mem_efficient}
    return _during(_attention, **chosen, cudnn=enable_cudnn)
