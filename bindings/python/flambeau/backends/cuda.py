"""Switches of CUDA. There is one way to compute attention, so which kernels of torch's are allowed
is kept, and decides nothing."""

from .._gen import api
from .._on_demand import during as _during


def is_built():
    """Whether the library was built with CUDA; the reason is in `flambeau doctor` where it was
    not."""
    return "built" not in (api.cuda_unavailable_reason() or "")


class _Matmul:
    allow_tf32 = False
    fp32_precision = "none"
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
