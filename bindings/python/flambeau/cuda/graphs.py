"""`torch.cuda.graphs`: recorded launches are unsupported and say so; the names exist for packages
that mention them."""

from .. import _refused

_WHY = "flambeau records no CUDA graphs; run the step as it is"

_NAMES = "CUDAGraph graph graph_pool_handle make_graphed_callables"
globals().update(_refused.names("torch.cuda", _NAMES, _WHY))


def is_current_stream_capturing():
    """Whether launches are being recorded: never."""
    return False
