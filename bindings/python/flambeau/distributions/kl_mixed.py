"""Kullback-Leibler divergences between distributions of two kinds, and between normal vectors.

KL(p || q) = -H(p) - E_p log q: what log q needs of p is its mean and variance, the mean of its
logarithm, or that of an exponential."""

import math

from .. import _torch as torch
from .bernoulli import Bernoulli
from .continuous_bernoulli import ContinuousBernoulli
from .counts import Binomial, Poisson
from .gamma import Beta, Gamma
from .kl import register_kl
from .location_scale import EULER, Gumbel, Laplace, Normal, Uniform
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, _solved
from .positive import Exponential
from .powers import Pareto


def _x_log_x(x):
    return torch.xlogy(x, x)


_MEAN_LOG = {
    Beta: lambda p: torch.digamma(p.concentration1) - torch.digamma(p._total),
    Exponential: lambda p: -EULER - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1,
}

# The mean of exp(-x / s).
_MEAN_EXP = {
    Exponential: lambda p, s: p.rate / (p.rate + 1 / s),
    Gamma: lambda p, s: (1 + 1 / (p.rate * s)) ** -p.concentration,
    Normal: lambda p, s: (-p.loc / s + 0.5 * (p.scale / s) ** 2).exp(),
    Uniform: lambda p, s: s * ((-p.low / s).exp() - (-p.high / s).exp()) / (p.high - p.low),
}


def _of(table, p):
    return next(function for kind, function in table.items() if isinstance(p, kind))


def _for_each(kinds, other):
    """Decorates the divergence of several kinds from another."""

    def keep(function):
        for kind in kinds:
            register_kl(kind, other)(function)
        return function

    return keep


def _inside(p, low, high, found):
    """Infinite where p, which is uniform, reaches beyond the values of q."""
    if isinstance(p, Uniform):
        return torch.where((p.low < low) | (p.high > high), math.inf, found)
    return found


def _infinite(p, q):
    return torch.full(p._batch_shape, math.inf, dtype=p.mean.dtype, device=p.mean.device)


for _p, _qs in {
    Beta: [Pareto],
    ContinuousBernoulli: [Pareto],
    Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gumbel: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Laplace: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Normal: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Pareto: [Beta, ContinuousBernoulli, Uniform],
    Poisson: [Bernoulli, Binomial],
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_infinite)


@_for_each(
    [Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform], Normal
)
def _from_normal(p, q):
    spread = (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)
    return spread + q.scale.log() + 0.5 * math.log(2 * math.pi) - p.entropy()


@_for_each([Beta, ContinuousBernoulli, Gamma, Pareto, Uniform], Exponential)
def _from_exponential(p, q):
    return _inside(p, 0, math.inf, q.rate * p.mean - q.rate.log() - p.entropy())


@_for_each([Beta, Exponential, Pareto, Uniform], Gamma)
def _from_gamma(p, q):
    a = q.concentration
    constant = torch.lgamma(a) - a * q.rate.log() - p.entropy()
    found = constant - (a - 1) * _of(_MEAN_LOG, p)(p) + q.rate * p.mean
    return _inside(p, 0, math.inf, found)


@_for_each([Exponential, Gamma, Normal, Uniform], Gumbel)
def _from_gumbel(p, q):
    tail = (q.loc / q.scale).exp() * _of(_MEAN_EXP, p)(p, q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + tail - p.entropy()


@_for_each([Beta, Uniform], ContinuousBernoulli)
def _from_continuous_bernoulli(p, q):
    log_q = p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()
    found = -p.entropy() - log_q
    if isinstance(p, Uniform):  # the ends count as outside, as they do in PyTorch
        return torch.where((p.high >= 1) | (p.low <= 0), math.inf, found)
    return found


@_for_each([Beta, ContinuousBernoulli], Uniform)
def _to_uniform(p, q):
    outside = (q.low > 0) | (q.high < 1)
    if isinstance(p, ContinuousBernoulli):  # as above
        outside = (q.low >= 0) | (q.high <= 1)
    return torch.where(outside, math.inf, (q.high - q.low).log() - p.entropy())


@register_kl(Uniform, Beta)
def _uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    logs = (a - 1) * _MEAN_LOG[Uniform](p) + (b - 1) * _MEAN_LOG[Uniform](mirrored)
    constant = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    return _inside(p, 0, 1, constant - logs - p.entropy())


@register_kl(Uniform, Pareto)
def _uniform_pareto(p, q):
    log_q = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _MEAN_LOG[Uniform](p)
    return _inside(p, q.scale, math.inf, -log_q - p.entropy())


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    distance = p.loc - q.loc
    z = distance / p.scale
    tail = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z**2).exp()
    mean = tail + distance * torch.erf(math.sqrt(0.5) * z)  # of |x - q.loc|
    return mean / q.scale + (2 * q.scale).log() - p.entropy()


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p, q):
    return q.rate - p.probs * q.rate.log() - p.entropy()


def _log_det(d):
    if isinstance(d, LowRankMultivariateNormal):
        return d._log_det()
    return 2 * d._half_log_det()


def _roots(d):
    """Matrices whose squares sum to the covariance."""
    if isinstance(d, LowRankMultivariateNormal):
        return [d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag.sqrt().diag_embed()]
    return [d._unbroadcasted_scale_tril]


def _squares(matrix):
    return matrix.pow(2).sum((-2, -1))


def _against(q):
    """The trace of q's precision times the square of a matrix, and the squared distance of a
    vector."""
    if isinstance(q, LowRankMultivariateNormal):
        weights, taken = q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1), q._reduced()
        return lambda m: _squares(m * weights) - _squares(taken @ m), q._squared_distance
    tril, solve = q._unbroadcasted_scale_tril, torch.linalg.solve_triangular
    trace = lambda m: _squares(solve(tril, m, upper=False))
    return trace, lambda x: _solved(tril, x).pow(2).sum(-1)


@_for_each([MultivariateNormal, LowRankMultivariateNormal], MultivariateNormal)
@_for_each([MultivariateNormal, LowRankMultivariateNormal], LowRankMultivariateNormal)
def _normal_vectors(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes "
            "cannot be computed"
        )
    trace, squared_distance = _against(q)
    spread = sum(trace(root) for root in _roots(p)) + squared_distance(q.loc - p.loc)
    return 0.5 * (_log_det(q) - _log_det(p) + spread - p.event_shape[0])
