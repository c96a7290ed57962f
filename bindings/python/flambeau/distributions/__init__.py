"""Probability distributions over tensors of parameters: samples, reparameterised samples,
log-probabilities, entropies and divergences."""
# ruff: noqa: F405

import importlib as _importlib
import sys as _sys

from .._on_demand import own as _own
from .transforms import *  # noqa: F403

_PARTS = (
    "bernoulli categorical constraint_registry constraints continuous_bernoulli counts "
    "distribution exp_family gamma independent kl lkj_cholesky location_scale "
    "lowrank_multivariate_normal mixture_same_family multivariate_normal positive powers relaxed "
    "transformed_distribution transforms von_mises wishart kl_mixed"
).split()
_modules = [_importlib.import_module("." + name, __name__) for name in _PARTS]

__all__ = (
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Distribution "
    "Exponential ExponentialFamily FisherSnedecor Gamma GeneralizedPareto Geometric Gumbel "
    "HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy LKJCholesky Laplace LogNormal "
    "LogisticNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal "
    "NegativeBinomial Normal OneHotCategorical OneHotCategoricalStraightThrough Pareto Poisson "
    "RelaxedBernoulli RelaxedOneHotCategorical StudentT TransformedDistribution Uniform VonMises "
    "Weibull Wishart biject_to constraints kl_divergence register_kl transform_to"
).split()
globals().update(_own(*_modules, only=__all__))
__all__ += transforms.__all__

# torch has a module per distribution; here they are other names of those that hold them.
_MODULES = {
    bernoulli: "geometric",
    categorical: "one_hot_categorical",
    counts: "binomial multinomial negative_binomial poisson",
    gamma: "beta chi2 dirichlet fishersnedecor studentT",
    location_scale: "cauchy gumbel laplace normal uniform",
    positive: "exponential half_cauchy half_normal log_normal logistic_normal",
    powers: "generalized_pareto inverse_gamma kumaraswamy pareto weibull",
    relaxed: "relaxed_bernoulli relaxed_categorical",
}
for _module, _names in _MODULES.items():
    for _name in _names.split():
        globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
