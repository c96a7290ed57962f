"""Kullback-Leibler divergences, looked up by the kinds of the two distributions, and those of two
of one kind; those of two kinds are in `kl_mixed`."""

import math

from .. import _torch as torch
from .bernoulli import Bernoulli, Geometric
from .categorical import Categorical, OneHotCategorical
from .continuous_bernoulli import ContinuousBernoulli
from .counts import Binomial, Poisson
from .distribution import sum_rightmost
from .exp_family import ExponentialFamily
from .gamma import Beta, Dirichlet, Gamma
from .independent import Independent
from .location_scale import EULER, Cauchy, Gumbel, Laplace, Normal, Uniform
from .positive import Exponential, HalfNormal
from .powers import Pareto
from .transformed_distribution import TransformedDistribution

_found = {}


def register_kl(type_p, type_q):
    """Decorates the function that computes KL(p || q) for two kinds of distributions."""
    for kind in (type_p, type_q):
        if not isinstance(kind, type):  # packages register bases of their own beside ours
            raise TypeError(f"Expected a Distribution subclass but got {kind}")

    def kept(function):
        _found[type_p, type_q] = function
        return function

    return kept


def kl_divergence(p, q):
    """The expectation under p of log p - log q, per element of the batch."""
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in _found:
                return _found[kind_p, kind_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    # What is the same function of both does not change the divergence.
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    given, found, slopes = p._normalizer_and_slopes()
    others = q._natural_params
    terms = [
        sum_rightmost((theirs - mine) * slope, mine.dim() - found.dim())
        for mine, theirs, slope in zip(given, others, slopes)
    ]
    return q._log_normalizer(*others) - found - sum(terms)


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    distance = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return distance.log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (torch.lgamma(1 + ratio) - distance).exp()
    return -ratio.log() + distance + ratio * EULER + tail - (1 + EULER)


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, math.inf, found)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    other = q._cont_bern_log_norm() + torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + own - other


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    success = p.probs * (p.probs / q.probs).log()
    failure = (1 - p.probs) * ((1 - p.probs) / (1 - q.probs)).log()
    success = torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, success))
    failure = torch.where(p.probs == 1, 0.0, torch.where(q.probs == 1, math.inf, failure))
    return success + failure


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = torch.where(q.probs == 0, math.inf, terms)
    return torch.where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p, q)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count")
    success = p.probs * (p.logits - q.logits)
    found = p.total_count * (success + torch.log1p(-p.probs) - torch.log1p(-q.probs))
    return torch.where(p.total_count > q.total_count, math.inf, found)


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + a * (q.rate / p.rate - 1)
    return rates + torch.lgamma(b) - torch.lgamma(a) + (a - b) * torch.digamma(a)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    constant = torch.lgamma(total) - torch.lgamma(b.sum(-1))
    terms = torch.lgamma(b) - torch.lgamma(a)
    slopes = (a - b) * (torch.digamma(a) - torch.digamma(total).unsqueeze(-1))
    return constant + (terms + slopes).sum(-1)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet(), q._dirichlet())
