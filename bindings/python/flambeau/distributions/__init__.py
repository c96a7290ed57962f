"""Probability distributions over tensors of parameters: samples, reparameterised samples,
log-probabilities, entropies and divergences."""

import sys as _sys

from . import (
    bernoulli,
    categorical,
    constraints,
    continuous_bernoulli,
    counts,
    exp_family,
    fisher_snedecor,
    gamma,
    kl,
    location_scale,
    positive,
    powers,
    relaxed,
    transforms,
)
from .bernoulli import Bernoulli, Geometric
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .constraint_registry import biject_to, transform_to
from .continuous_bernoulli import ContinuousBernoulli
from .counts import Binomial, Multinomial, NegativeBinomial, Poisson
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .fisher_snedecor import FisherSnedecor
from .gamma import Beta, Chi2, Dirichlet, Gamma, StudentT
from .generalized_pareto import GeneralizedPareto
from .independent import Independent
from .kl import kl_divergence, register_kl
from .lkj_cholesky import LKJCholesky
from .location_scale import Cauchy, Gumbel, Laplace, Normal
from .logistic_normal import LogisticNormal
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .mixture_same_family import MixtureSameFamily
from .multivariate_normal import MultivariateNormal
from .positive import Exponential, HalfCauchy, HalfNormal, LogNormal
from .powers import InverseGamma, Kumaraswamy, Pareto, Weibull
from .relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F403
from .uniform import Uniform
from .von_mises import VonMises
from .wishart import Wishart

from . import kl_mixed as _pairs  # isort: skip  # every distribution is there by now

__all__ = (
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Distribution "
    "Exponential ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel "
    "HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy LKJCholesky Laplace LogNormal "
    "LogisticNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal "
    "NegativeBinomial Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson "
    "RelaxedBernoulli RelaxedOneHotCategorical StudentT TransformedDistribution Uniform VonMises "
    "Weibull Wishart biject_to constraints kl_divergence register_kl transform_to"
).split()
__all__ += transforms.__all__

# torch has a module per distribution; here they are other names of those that hold them.
_MODULES = {
    bernoulli: "geometric",
    categorical: "one_hot_categorical",
    counts: "binomial multinomial negative_binomial poisson",
    fisher_snedecor: "fishersnedecor",
    gamma: "beta chi2 dirichlet studentT",
    location_scale: "cauchy gumbel laplace normal",
    positive: "exponential half_cauchy half_normal log_normal",
    powers: "inverse_gamma kumaraswamy pareto weibull",
    relaxed: "relaxed_bernoulli relaxed_categorical",
}
for _module, _names in _MODULES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
