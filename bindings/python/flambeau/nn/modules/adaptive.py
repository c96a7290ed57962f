"""Softmax over many classes in clusters (Grave et al., 2017, arXiv 1609.04309): frequent classes in
the head, which also chooses a cluster; rare ones behind smaller projections."""

from collections import namedtuple

from ..._gen.ops import TORCH as _TORCH
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets among many classes, and their mean as a loss."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in zip(cutoffs, [*cutoffs[1:], n_classes]))
        if not rising or cutoffs[0] <= 0 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            inner = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **kind),
                    Linear(inner, high - low, bias=False, **kind),
                )
            )

    def reset_parameters(self):
        """Draws the weights anew."""
        self.head.reset_parameters()
        for narrowing, widening in self.tail:
            narrowing.reset_parameters()
            widening.reset_parameters()

    def forward(self, input_, target_):
        batched = target_.dim() > 0
        self._check(input_, target_)
        input, target = (t if batched else t.unsqueeze(0) for t in (input_, target_))
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        # Each target's place in the head: itself, or its cluster.
        place, output = target, input.new_zeros(target.shape[0])
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            inside = (target >= low) & (target < high)
            place = place.masked_fill(inside, self.shortlist_size + i)
            rows = inside.nonzero().squeeze(1)
            if rows.numel():
                logits = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
                found = logits.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, found)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, place.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(input, target):
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {input.shape}"
            )

    def log_prob(self, input):
        """[N, n_classes]: log-probabilities of all classes."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            chosen = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + chosen)
        return _TORCH["cat"](parts, 1)

    def predict(self, input):
        """[N]: the likeliest class."""
        return self.log_prob(input).argmax(dim=1)
