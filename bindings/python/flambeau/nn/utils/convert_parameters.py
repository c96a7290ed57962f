"""Parameters as one vector, and back."""

from ..._tensor import Tensor
from ..._torch import cat


def parameters_to_vector(parameters):
    """All parameters in one 1-d tensor."""
    parameters = list(parameters)
    _check_devices(parameters)
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Lets consecutive pieces of a vector become the parameters' data."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    _check_devices(parameters)
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view_as(p).data
        at += p.numel()


def _check_devices(parameters):
    if len({p.device for p in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )
