"""Probability distributions over tensors of parameters: samples, reparameterised samples,
log-probabilities, entropies and divergences."""

import sys as _sys

from . import bernoulli as _trials
from . import categorical as _classes
from . import constraints, counts, gamma, location_scale, positive
from .bernoulli import Bernoulli, Geometric
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .counts import Binomial, Multinomial, Poisson
from .distribution import Distribution
from .gamma import Beta, Chi2, Dirichlet, Gamma, StudentT
from .independent import Independent
from .kl import kl_divergence, register_kl
from .location_scale import Cauchy, Gumbel, Laplace, Normal
from .multivariate_normal import MultivariateNormal
from .positive import Exponential, HalfNormal, LogNormal
from .uniform import Uniform

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfNormal",
    "Independent",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MultivariateNormal",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Poisson",
    "StudentT",
    "Uniform",
    "constraints",
    "kl_divergence",
    "register_kl",
]

# torch has a module per distribution; here they are other names of those that hold them.
_MODULES = {
    "beta": gamma,
    "binomial": counts,
    "cauchy": location_scale,
    "chi2": gamma,
    "dirichlet": gamma,
    "exponential": positive,
    "geometric": _trials,
    "gumbel": location_scale,
    "half_normal": positive,
    "laplace": location_scale,
    "log_normal": positive,
    "multinomial": counts,
    "normal": location_scale,
    "one_hot_categorical": _classes,
    "poisson": counts,
    "studentT": gamma,
}
for _name, _module in _MODULES.items():
    globals()[_name] = _sys.modules[f"{__name__}.{_name}"] = _module
