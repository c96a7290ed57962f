"""A batch of sequences of several lengths, packed step by step.

It holds the first elements of all sequences, then the second of those that have one, and so on,
longest sequence first; `batch_sizes` counts them. Made by the functions of `nn.utils.rnn`."""

from collections import namedtuple

from ..._gen import ops as _ops
from ..._torch import arange

_Fields = namedtuple(
    "PackedSequence_", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"]
)


def invert_permutation(permutation):
    """The permutation that undoes one; None for None."""
    if permutation is None:
        return None
    places = arange(permutation.numel(), device=permutation.device)
    return _ops._empty_like(permutation).scatter_(0, permutation, places)


class PackedSequence(_Fields):
    """Data and batch sizes of a packed batch; made by `pack_padded_sequence` and its kin."""

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like "
                "pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _mapped(self, data):
        orders = self.sorted_indices, self.unsorted_indices
        moved = (None if t is None else t.to(data.device) for t in orders)
        return type(self)(data, self.batch_sizes, *moved)

    def to(self, *args, **kwargs):
        """The same with `data` moved or converted."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._mapped(data)

    def cuda(self, *args, **kwargs):
        return self._mapped(self.data.cuda(*args, **kwargs))

    def cpu(self):
        return self.to("cpu")

    def pin_memory(self):
        return self._mapped(self.data.pin_memory())

    is_cuda = property(lambda self: self.data.is_cuda)

    def is_pinned(self):
        return self.data.is_pinned()


def _cast(name):
    def cast(self):
        return self._mapped(getattr(self.data, name)())

    cast.__name__, cast.__qualname__ = name, f"PackedSequence.{name}"
    cast.__doc__ = f"The same with `data.{name}()`."
    return cast


for _name in "double float half long int short char byte".split():
    setattr(PackedSequence, _name, _cast(_name))
