"""How tensors are pickled for another process: cpu memory as a shared segment, the rest by
value."""

from multiprocessing import reduction

from .._tensor import Tensor
from .._types import BY_CODE
from ..nn.parameter import Buffer, Parameter
from .shared import Segment, segment_of, share


def register():
    """Teaches the standard library's pickler for processes about tensors."""
    for kind in Tensor, Parameter, Buffer:
        reduction.ForkingPickler.register(kind, _reduce)


def _reduce(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    if not tensor.is_cpu or tensor.numel() == 0:
        return tensor.__reduce_ex__(reduction.pickle.HIGHEST_PROTOCOL)
    share(tensor)
    segment = segment_of(tensor)
    about = tensor.dtype._code, tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    memory = reduction.DupFd(segment.fd), segment.nbytes, about
    more = getattr(tensor, "persistent", None)
    return _rebuild, (type(tensor), *memory, tensor.requires_grad, more)


def _rebuild(kind, sent, nbytes, about, requires_grad, persistent):
    code, *place = about
    made = Segment(nbytes, sent.detach()).tensor(BY_CODE[code], *place)
    if kind is Parameter:
        return Parameter(made, requires_grad)
    if kind is Buffer:
        return Buffer(made, persistent=persistent)
    return made.requires_grad_(requires_grad)
