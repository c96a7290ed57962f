"""Linear and Embedding of which each rank has a part, and norms of which it has a part of the
input: what a rank computes with its part, and what the gradients of the others add to its own.

A tensor that all ranks have and each uses for its part of the work gets a part of its gradient on
each: it passes through `summed`, whose backward adds them up."""

from ...._torch import where
from ....nn import functional as F
from ....nn.modules.linear import Linear
from ....nn.modules.sparse import Embedding
from .._dtensor import DTensor
from .._plan import Shared


def summed(value, mesh):
    """The tensor itself; its gradient is the sum of all ranks'."""
    if value is None or not value.requires_grad:
        return value
    return Shared.apply(value, [mesh.get_group()])


def local(value):
    return value._local_tensor if isinstance(value, DTensor) else value


def by_columns(module, x, mesh):
    """This rank's columns of the output, given the whole input."""
    if isinstance(module, Linear):
        return F.linear(summed(x, mesh), local(module.weight), local(module.bias))
    return F.embedding(x, local(module.weight), module.padding_idx)


def by_rows(module, x, mesh):
    """This rank's term of the output; without the bias, which is added once."""
    weight = local(module.weight)
    if isinstance(module, Linear):
        return F.linear(x, weight)
    first, rows = module.weight._layout.local()[1][0], weight.shape[0]
    own = (x >= first) & (x < first + rows)
    padding = module.padding_idx
    padding = None if padding is None or not 0 <= padding - first < rows else padding - first
    if not rows:  # more ranks than rows
        return (weight.sum() + weight.new_zeros(*x.shape, weight.shape[1])) * 0
    found = F.embedding(where(own, x - first, x.new_zeros(())), weight, padding)
    return where(own.unsqueeze(-1), found, found.new_zeros(()))


def check(module, style):
    """Refuses what is no layer of these."""
    if not isinstance(module, (Linear, Embedding)):
        raise NotImplementedError(
            f"{style} currently only support nn.Linear and nn.Embedding, got "
            f"{type(module).__name__}; it is unsupported"
        )
    if isinstance(module, Embedding) and (
        module.max_norm is not None or module.scale_grad_by_freq or module.sparse
    ):
        raise NotImplementedError(
            f"{style}: an Embedding with max_norm, scale_grad_by_freq or sparse is unsupported"
        )
