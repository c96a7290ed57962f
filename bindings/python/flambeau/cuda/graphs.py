"""`torch.cuda.graphs`: recorded launches are unsupported and say so; the names exist for packages
that mention them."""

from .. import _refused

_WHY = "flambeau records no CUDA graphs; run the step as it is"

CUDAGraph = _refused.kind("torch.cuda", "CUDAGraph", _WHY)
graph, graph_pool_handle, make_graphed_callables = (
    _refused.function("torch.cuda", name, _WHY)
    for name in ("graph", "graph_pool_handle", "make_graphed_callables")
)


def is_current_stream_capturing():
    """Whether launches are being recorded: never."""
    return False
