"""LKJCholesky: random correlation matrices, as their lower Cholesky factors.

Source: Lewandowski, Kurowicka and Joe 2009, Generating random correlation matrices based on vines
and extended onion method, section 3."""

import math

from .. import _torch as torch
from . import constraints
from .distribution import Distribution, broadcast
from .gamma import Beta


class LKJCholesky(Distribution):
    """Factors of `dim` x `dim` correlation matrices with a density proportional to
    det ** (concentration - 1)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _own, _kept = ("concentration",), ("dim",)

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast(concentration)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    def _lengths(self):
        """The distribution of the squared length of each row but for its last element."""
        a = self.concentration.unsqueeze(-1)
        free = torch.arange(self.dim, dtype=a.dtype, device=a.device).clamp(min=1) / 2
        beta = Beta(free, a + 0.5 * (self.dim - 1) - free, validate_args=False)
        return beta.expand((*self._batch_shape, self.dim))

    def _drawn(self, sample_shape):
        squares = self._lengths().sample(sample_shape).unsqueeze(-1)
        normal = self._noise(torch.randn, sample_shape, squares).tril(-1)
        tiny = torch.finfo(squares.dtype).tiny
        # The first row has no direction: it is a zero vector and a 1.
        norms = torch.linalg.norm(normal, dim=-1, keepdim=True).clamp(min=tiny)
        rows = squares.sqrt() * normal / norms
        return rows + (1 - (rows**2).sum(-1)).clamp(min=tiny).sqrt().diag_embed()

    def _log_prob(self, value):
        a, n = self.concentration, self.dim
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        rows = torch.arange(n - 2, -1, -1, dtype=a.dtype, device=a.device)
        found = ((2 * (a - 1).unsqueeze(-1) + rows) * diagonal.log()).sum(-1)
        whole = a + 0.5 * (n - 1)
        volume = torch.special.multigammaln(whole - 0.5, n - 1) - torch.lgamma(whole) * (n - 1)
        return found - (0.5 * (n - 1) * math.log(math.pi) + volume)
