"""Every distribution's sampler beside its law, at parameters where samplers go wrong: shapes next
to 0, counts of millions, scales far from 1. Of many samples the share below each of the law's own
quantiles is what SciPy's distribution function says; a distribution without a row fails."""

import math

import numpy as np
import pytest
from scipy import stats

MANY, FEWER = 40_000, 2_000  # on emulated devices, whose threads take turns
LEVELS = [1e-3, 0.01, 0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 0.95, 0.99, 0.999]
# name: [(law, arguments, what of a sample has the law)]
ROWS = {}


def row(name, law, part=None, **arguments):
    ROWS.setdefault(name, []).append((law, arguments, part))


class Law:
    """A distribution function and its inverse, where SciPy has no such distribution."""

    def __init__(self, cdf, ppf):
        self.cdf, self.ppf = cdf, ppf


for _scale in 1e-6, 1.0, 1e6:
    row("Normal", stats.norm(3.0, _scale), loc=3.0, scale=_scale)
    row("Laplace", stats.laplace(0.5, _scale), loc=0.5, scale=_scale)
    row("Cauchy", stats.cauchy(0.5, _scale), loc=0.5, scale=_scale)
    row("Gumbel", stats.gumbel_r(0.5, _scale), loc=0.5, scale=_scale)
    row("HalfNormal", stats.halfnorm(scale=_scale), scale=_scale)
    row("HalfCauchy", stats.halfcauchy(scale=_scale), scale=_scale)
    row("Exponential", stats.expon(scale=_scale), rate=1 / _scale)
    row("Uniform", stats.uniform(-1.0, _scale), low=-1.0, high=-1.0 + _scale)
for _sigma in 1e-3, 1.0, 8.0:
    row("LogNormal", stats.lognorm(_sigma), loc=0.0, scale=_sigma)
for _a in 1e-3, 0.01, 0.2, 0.999, 1.0, 7.0, 1e5:
    row("Gamma", stats.gamma(_a, scale=0.5), concentration=_a, rate=2.0)
    row("Chi2", stats.chi2(_a), df=_a)
    row("InverseGamma", stats.invgamma(_a, scale=2.0), concentration=_a, rate=2.0)
for _a, _b in (1e-4, 1e-4), (0.01, 0.01), (0.01, 3.0), (5.0, 1e-3), (1.0, 1.0), (2e3, 5e4):
    row("Beta", stats.beta(_a, _b), concentration1=_a, concentration0=_b)
    row(
        "Dirichlet", stats.beta(_a, _b), lambda x: x[..., 0], concentration=[_a, _b / 4, 3 * _b / 4]
    )
for _df in 0.5, 1.0, 2.5, 1e4:
    row("StudentT", stats.t(_df), df=_df)
    row("FisherSnedecor", stats.f(_df, 0.7), df1=_df, df2=0.7)
for _a in 0.3, 1.0, 60.0:
    row("Pareto", stats.pareto(_a, scale=2.0), scale=2.0, alpha=_a)
    row("Weibull", stats.weibull_min(_a, scale=2.0), scale=2.0, concentration=_a)
for _c in -3.0, -1.0, 0.0, 1e-4, 0.3, 4.0:
    row("GeneralizedPareto", stats.genpareto(_c, 1.0, 2.0), loc=1.0, scale=2.0, concentration=_c)
for _a, _b in (0.05, 0.1), (1.0, 1.0), (30.0, 50.0):
    row(
        "Kumaraswamy",
        Law(
            lambda x, a=_a, b=_b: -np.expm1(b * np.log1p(-(x**a))),
            lambda q, a=_a, b=_b: (-np.expm1(np.log1p(-q) / b)) ** (1 / a),
        ),
        concentration1=_a,
        concentration0=_b,
    )


def tilted(p):
    """The continuous Bernoulli law: density in proportion to p^x (1 - p)^(1 - x)."""
    r = math.log(p) - math.log1p(-p)
    if r == 0:
        return stats.uniform()
    return Law(lambda x: np.expm1(r * x) / math.expm1(r), lambda q: np.log1p(q * math.expm1(r)) / r)


for _p in 1e-6, 0.2, 0.4995, 0.5, 0.999:
    row("ContinuousBernoulli", tilted(_p), probs=_p)
for _k in 1e-4, 0.5, 20.0, 1e4:
    row("VonMises", stats.vonmises(_k), loc=0.0, concentration=_k)


def relaxed(temperature, p):
    """The logistic law of the log-odds, divided by a temperature."""
    shift = math.log(p) - math.log1p(-p)
    law = stats.logistic(shift / temperature, 1 / temperature)
    return Law(lambda x: law.cdf(np.log(x) - np.log1p(-x)), lambda q: 1 / (1 + np.exp(-law.ppf(q))))


for _t, _p in (0.1, 0.3), (1.0, 0.99), (10.0, 0.01):
    row("RelaxedBernoulli", relaxed(_t, _p), temperature=_t, probs=_p)
    row(
        "RelaxedOneHotCategorical",
        relaxed(_t, _p),
        lambda x: x[..., 0],
        temperature=_t,
        probs=[_p, 1 - _p],
    )
for _scale in 0.01, 5.0:
    row(
        "LogisticNormal",
        stats.norm(0.3, _scale),
        lambda x: (x[..., 0] / x[..., 1]).log(),
        loc=[0.3],
        scale=[_scale],
    )
for _rate in 1e-3, 0.7, 9.99, 10.01, 300.0, 1e6:
    row("Poisson", stats.poisson(_rate), rate=_rate)
for _p in 1e-4, 0.3, 0.999:
    row("Bernoulli", stats.bernoulli(_p), probs=_p)
    row("Geometric", stats.geom(_p, -1), probs=_p)
    row("Categorical", stats.bernoulli(_p), probs=[1 - _p, _p])
    row("OneHotCategorical", stats.bernoulli(_p), lambda x: x[..., 1], probs=[1 - _p, _p])
    row(
        "OneHotCategoricalStraightThrough",
        stats.bernoulli(_p),
        lambda x: x[..., 1],
        probs=[1 - _p, _p],
    )
    row("Multinomial", stats.binom(9, _p), lambda x: x[..., 1], total_count=9, probs=[1 - _p, _p])
for _n, _p in (1, 0.5), (20, 1e-3), (39, 0.25), (41, 0.25), (1000, 0.999), (10**6, 0.4):
    row("Binomial", stats.binom(_n, _p), total_count=_n, probs=_p)
for _n, _p in (0.05, 0.99), (3.0, 0.5), (1e4, 0.01):
    row("NegativeBinomial", stats.nbinom(_n, 1 - _p), total_count=_n, probs=_p)
NEAR = [[1.0, 0.99999], [0.99999, 1.0]]
row(
    "MultivariateNormal",
    stats.norm(1.0, math.sqrt(2 - 2 * 0.99999)),
    lambda x: x[..., 0] - x[..., 1],
    loc=[3.0, 2.0],
    covariance_matrix=NEAR,
)
row(
    "LowRankMultivariateNormal",
    stats.norm(1.0, 1e-3 * math.sqrt(2)),
    lambda x: x[..., 0] - x[..., 1],
    loc=[3.0, 2.0],
    cov_factor=[[5.0], [5.0]],
    cov_diag=[1e-6, 1e-6],
)
SIDES = [[1.0, 0.9], [0.9, 1.0]]
for _df in 1.5, 2.5, 200.0:
    row(
        "Wishart",
        stats.chi2(_df, scale=1.0),
        lambda x: x[..., 0, 0],
        df=_df,
        covariance_matrix=SIDES,
    )
for _eta in 0.05, 1.0, 500.0:
    row(
        "LKJCholesky",
        stats.beta(_eta + 0.5, _eta + 0.5, -1, 2),
        lambda x: (x @ x.mT)[..., 2, 1],
        dim=3,
        concentration=_eta,
    )

SHARES = {"Beta", "Dirichlet", "Kumaraswamy", "RelaxedBernoulli", "RelaxedOneHotCategorical"}
BASES = {"Distribution", "ExponentialFamily"}
OF_OTHERS = {"Independent", "MixtureSameFamily", "TransformedDistribution"}
CASES = [(name, i, dtype) for name in ROWS for i in range(len(ROWS[name])) for dtype in (32, 64)]


def test_every_distribution_has_a_row(torch):
    found = {
        name
        for name in torch.distributions.__all__
        if isinstance(kind := getattr(torch.distributions, name), type)
        and issubclass(kind, torch.distributions.Distribution)
    }
    assert found - BASES - OF_OTHERS == set(ROWS)


@pytest.fixture(scope="module")
def count(request):
    return FEWER if request.config.getoption("--device") == "standin" else MANY


@pytest.mark.filterwarnings("ignore:Low df values")
@pytest.mark.parametrize("name, i, bits", CASES)
def test_samples_have_their_law(torch, device, count, name, i, bits):
    law, arguments, part = ROWS[name][i]
    dtype = {32: torch.float32, 64: torch.float64}[bits]
    given = {
        key: value if isinstance(value, int) else torch.tensor(value, dtype=dtype, device=device)
        for key, value in arguments.items()
    }
    torch.manual_seed(1000 + i)
    made = getattr(torch.distributions, name)(**given)
    x = made.sample((count,))
    assert x.dtype in (dtype, torch.int64) and not x.isnan().any()
    assert made.support.check(x).all()
    x = (x if part is None else part(x)).double().cpu().numpy()
    # Shares next to the ends of a dtype's numbers are where the dtype puts them.
    limits = torch.finfo(dtype)
    with np.errstate(all="ignore"):
        cuts = law.ppf(np.array(LEVELS))
        own = cuts.astype(f"f{bits // 8}").astype("f8")
    known = np.isfinite(own) & (np.abs(own) > 4 * limits.tiny) & (own != 0)
    if name in SHARES:
        known &= own < 1 - 2 * limits.eps
    discrete = isinstance(law, stats._distn_infrastructure.rv_discrete_frozen)
    for cut in np.unique(own[known]) if not discrete else np.unique(cuts):
        want, found = float(law.cdf(cut)), float((x <= cut).mean())
        # Rounding to the dtype moves samples across a cut by half a place of it.
        near = max(abs(cut), 1e-300) * (0 if discrete else 4 * limits.eps)
        slack = float(law.cdf(cut + near) - law.cdf(cut - near))
        spread = math.sqrt(max(want * (1 - want), 1 / count) / count)
        assert abs(found - want) < 5 * spread + slack, (cut, want, found)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_exponential_draw_is_never_zero(torch, dtype):
    """Of which programs take logarithms. One in 2**24 would be."""
    torch.manual_seed(0)
    drawn = torch.empty(2**26, dtype=getattr(torch, dtype), device="cpu").exponential_()
    assert drawn.min() > 0
