"""The older place of `torch.func.functional_call`."""

from ..._deprecated import warn

__all__ = ["functional_call"]


def functional_call(module, parameters_and_buffers, *args, **named):
    """`torch.func.functional_call` by its older name. Deprecated."""
    warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
    )
    from ...func import functional_call as call  # only here: it brings vmap and its trees along

    return call(module, parameters_and_buffers, *args, **named)
