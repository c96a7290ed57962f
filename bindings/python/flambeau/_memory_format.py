"""Orders of a tensor's elements in memory: contiguous, or with the channels last."""

import math

from ._call import _fast
from ._gen import ops
from ._types import channels_last, channels_last_3d, preserve_format

_NHWC = {4: ((0, 2, 3, 1), (0, 3, 1, 2)), 5: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3))}


def _channels(tensor, memory_format):
    """The two orders of dimensions of a format with the channels last; None of other formats."""
    if memory_format not in (channels_last, channels_last_3d):
        return None
    n = 4 if memory_format is channels_last else 5
    if tensor.dim() != n:
        raise RuntimeError(f"required rank {n} tensor to use {str(memory_format)[6:]} format")
    return _NHWC[n]


def contiguous(self, memory_format=None):
    """The tensor itself where its elements lie one after the other in this order, else a copy."""
    orders = _channels(self, memory_format)
    if is_contiguous(self, memory_format):
        return self
    if orders is None:
        return ops._contiguous(self)
    return self.permute(orders[0]).contiguous().permute(orders[1])


def resize_(self, *size, memory_format=None):
    """Gives a tensor another shape, in place, and an order of its elements where one is named."""
    ops.TENSOR["resize_"](self, *size)
    if memory_format is preserve_format:
        raise RuntimeError(f"Unsupported memory format {memory_format}")
    return self if memory_format is None else _rearranged(self, memory_format)


def _rearranged(tensor, memory_format):
    """Dense memory taken for that of another order; what lies in it moves."""
    orders = _channels(tensor, memory_format) or (range(tensor.dim()),) * 2
    return ops.TENSOR["as_strided_"](tensor, tensor.shape, _strides(tensor, orders))


def _strides(tensor, orders):
    inner = [tensor.shape[d] for d in orders[0]]
    strides = [math.prod(inner[i + 1 :]) for i in range(len(inner))]
    return tuple(strides[d] for d in orders[1])


def laid_out(made, memory_format):
    """What was just made of one value, or of random ones, in another order; no copy."""
    if memory_format is preserve_format:
        return made
    return _rearranged(made, memory_format)


def formatted(tensor, memory_format):
    """The tensor in the order asked for; one that is to keep its order, as it is."""
    if memory_format in (None, preserve_format):
        return tensor
    found = contiguous(tensor, memory_format)
    orders = _channels(tensor, memory_format)
    if orders is None or found.stride() == _strides(found, orders):
        return found
    # Dense in several orders: the steps say which one is meant, as convolutions read them.
    return _rearranged(ops._clone(found) if found is tensor else found, memory_format)


def clone(input, *, memory_format=None):
    """A copy with its own memory; laid out as the operand, or in the order asked for."""
    return formatted(ops._clone(input), memory_format)


def is_contiguous(self, memory_format=None):
    """Whether the elements lie one after the other in this order."""
    if memory_format in (channels_last, channels_last_3d):
        n = 4 if memory_format is channels_last else 5
        if self.dim() != n:
            return False
        self = self.permute(_NHWC[n][0])
    return bool(_fast.flam_tensor_is_contiguous(self._h))
