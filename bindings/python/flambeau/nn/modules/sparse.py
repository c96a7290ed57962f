"""Embedding and EmbeddingBag: tables of vectors looked up by index."""

from ..._torch import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module, unusual


def _sizes(embeddings):
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return embeddings.shape


class _Table(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx, weight, freeze, device, dtype):
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                word = "Padding_idx" if isinstance(self, Embedding) else "padding_idx"
                raise AssertionError(f"{word} must be within num_embeddings")
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = padding_idx
        if weight is None:
            fresh = empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            self.weight = Parameter(fresh, not freeze)
            self.reset_parameters()
            return
        if list(weight.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, not freeze)

    def reset_parameters(self):
        init._table_(self.weight, self.padding_idx)

    def _options(self, max_norm, norm_type, scale_grad_by_freq, sparse):
        if sparse:
            raise NotImplementedError(
                f"{type(self).__name__}: sparse gradients are not supported; sparse=False works"
            )
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse

    def _shown(self):
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        return [sizes, *unusual(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)]


class Embedding(_Table):
    """`weight[input]`, weight [num_embeddings, embedding_dim] from N(0, 1); row `padding_idx` stays
    zero."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None,
                 norm_type=2.0, scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False,
                 device=None, dtype=None):  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, _weight, _freeze, device, dtype
        )
        self._options(max_norm, norm_type, scale_grad_by_freq, sparse)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None,
                        norm_type=2.0, scale_grad_by_freq=False, sparse=False):  # fmt: skip
        rows, columns = _sizes(embeddings)
        options = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        return cls(rows, columns, *options, _weight=embeddings, _freeze=freeze)

    def forward(self, input):
        norm = (self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return F.embedding(input, self.weight, self.padding_idx, *norm, self.sparse)

    def extra_repr(self):
        sizes, *options = self._shown()
        return ", ".join([sizes, *unusual(self, padding_idx=None), *options])


class EmbeddingBag(_Table):
    """Sums, means or maxima of looked-up vectors, bag by bag."""

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, mode="mean", sparse=False, _weight=None,
                 include_last_offset=False, padding_idx=None, device=None, dtype=None):  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, False, device, dtype)
        self._options(max_norm, norm_type, scale_grad_by_freq, sparse)
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, mode="mean", sparse=False,
                        include_last_offset=False, padding_idx=None):  # fmt: skip
        rows, columns = _sizes(embeddings)
        options = (max_norm, norm_type, scale_grad_by_freq, mode, sparse)
        bag = cls(rows, columns, *options, embeddings, include_last_offset, padding_idx)
        bag.weight.requires_grad = not freeze
        return bag

    def forward(self, input, offsets=None, per_sample_weights=None):
        norm = (self.max_norm, self.norm_type, self.scale_grad_by_freq)
        how = (self.mode, self.sparse, per_sample_weights)
        ends = (self.include_last_offset, self.padding_idx)
        return F.embedding_bag(input, self.weight, offsets, *norm, *how, *ends)

    def extra_repr(self):
        padding = unusual(self, padding_idx=None)
        return ", ".join([*self._shown(), f"mode={self.mode!r}", *padding])
