"""torch's choice of an attention kernel. The library has one way to compute attention, whose
results are those of any backend; the choice is checked and kept, and changes nothing else."""

import enum

from ..._on_demand import during as _during

_chosen = None


class SDPBackend(enum.IntEnum):
    """Kernels of `scaled_dot_product_attention` that torch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


def _cur_sdpa_kernel_backends(with_priority=False):
    """The backends allowed now."""
    return list(_chosen or SDPBackend.__members__.values())


def sdpa_kernel(backends, set_priority=False):
    """Allows only these backends inside the block."""
    backends = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not backends or not all(isinstance(b, SDPBackend) for b in backends):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances"
        )
    return _during(globals(), _chosen=backends)
