"""Samples of distributions: their share below fixed values is what the distribution function or the
stored density says, those that follow their parameters have the right gradients, and a program's
own kinds of distributions and transforms work as the library's."""

import math
import warnings

import numpy as np
import pytest
from scipy import special, stats

from tests.golden import distributions as golden

N = 20000


@pytest.fixture
def D(torch):
    return torch.distributions


@pytest.fixture
def f64(torch, device):
    return lambda v, **kw: torch.tensor(v, dtype=torch.float64, device=device, **kw)


@pytest.mark.parametrize("name", golden.CASES)
def test_samples_have_the_stated_moments(torch, device, name):
    torch.manual_seed(0)
    with golden.doubles(torch):
        d, parameters = golden.made(torch, name, device)
        x = d.sample((N,))
        assert x.shape == (N, *d.batch_shape, *d.event_shape) and not x.requires_grad
        assert d.support.check(x).all()
        if d.has_rsample:
            drawn = d.rsample((3,))
            assert drawn.requires_grad
            slopes = torch.autograd.grad(drawn.sum(), list(parameters.values()), allow_unused=True)
            assert any(s is not None and s.isfinite().all() for s in slopes)
        many = d.expand((4, *d.batch_shape))
        assert type(many) is type(d) and many.batch_shape == (4, *d.batch_shape)
        assert many.sample((5,)).shape == (5, 4, *d.batch_shape, *d.event_shape)
        once = d.sample()
        assert torch.allclose(many.log_prob(once), d.log_prob(once).expand(4, *d.batch_shape))
        mean, spread = golden.values(lambda: d.mean), golden.values(lambda: d.stddev)
    if mean is None or spread is None or name.startswith("VonMises"):
        return
    mean, spread = np.array(mean), np.array(spread)
    known = np.isfinite(mean) & np.isfinite(spread)
    error = np.abs(x.mean(0).cpu().numpy() - mean)
    assert (error[known] <= 6 * spread[known] / math.sqrt(N)).all()


QUANTILES = [name for name in golden.CASES if golden.CASES[name][0] not in golden.NO_CDF]


@pytest.mark.parametrize("name", QUANTILES)
def test_samples_follow_the_distribution_function(torch, device, name):
    torch.manual_seed(1)
    with golden.doubles(torch), torch.no_grad():
        d, _ = golden.made(torch, name, device)
        points = torch.tensor(golden.CASES[name][2], dtype=torch.float64, device=device)
        points = points.unsqueeze(-1).expand(-1, *d.batch_shape)
        below = (d.sample((N, 1)) <= points).double().mean(0)
        assert (below - d.cdf(points)).abs().max().item() < 4 * 0.5 / math.sqrt(N)


def test_von_mises(D, torch, f64):
    torch.manual_seed(2)
    d = D.VonMises(f64([0.5, -3.0]), f64([2.0, 50.0]))
    x = d.sample((N,))
    assert ((x >= -math.pi) & (x < math.pi)).all()
    ratio = special.ive(1, [2.0, 50.0]) / special.ive(0, [2.0, 50.0])
    assert d.variance.tolist() == pytest.approx((1 - ratio).tolist(), rel=1e-12)
    law = stats.vonmises([2.0, 50.0], [0.5, -3.0])
    assert d.log_prob(d.loc + 0.3).tolist() == pytest.approx(law.logpdf([0.8, -2.7]), rel=1e-12)
    away = (x - d.loc).cos().mean(0)  # I1 / I0, and the variance is what is missing to 1
    assert (away - (1 - d.variance)).abs().max().item() < 0.02
    grid = torch.linspace(-math.pi, math.pi, 4001, dtype=torch.float64)
    mass = d.log_prob(grid.to(x.device).unsqueeze(-1)).exp()[:-1].mean(0) * 2 * math.pi
    assert (mass - 1).abs().max().item() < 1e-5


def test_correlation_factors(D, torch, f64):
    torch.manual_seed(3)
    d = D.LKJCholesky(4, f64(2.0))
    x = d.sample((N,))
    for i, j in (1, 0), (2, 0), (3, 1), (3, 2):
        # Every correlation is a Beta(3, 3) variable stretched to (-1, 1): 2 + (4 - 2) / 2 = 3.
        found = (x @ x.mT)[:, i, j]
        assert found.mean().abs().item() < 0.02
        assert found.var().item() == pytest.approx(1 / 7, rel=0.05)


def test_wishart_samples_have_the_stated_variance(D, torch, f64):
    torch.manual_seed(4)
    d = D.Wishart(f64(6.0), f64(golden.COVARIANCE))
    x = d.rsample((N,))
    assert torch.allclose(x.var(0), d.variance, rtol=0.1, atol=0.3)
    with pytest.warns(UserWarning, match="Low df values"):
        D.Wishart(f64(2.5), f64(golden.COVARIANCE))
    with pytest.raises(ValueError, match="greater than ndim - 1"):
        D.Wishart(f64(1.5), f64(golden.COVARIANCE))


def test_mixture(D, torch, f64):
    torch.manual_seed(5)
    weights, loc = f64([0.3, 0.7], requires_grad=True), f64([-2.0, 1.0], requires_grad=True)
    d = D.MixtureSameFamily(D.Categorical(weights), D.Normal(loc, f64([0.5, 1.0])))
    x = d.sample((N,))
    assert x.mean().item() == pytest.approx(0.3 * -2 + 0.7, abs=0.05) and d.batch_shape == ()
    assert d.mean.item() == pytest.approx(0.1)
    assert x.var().item() == pytest.approx(d.variance.item(), rel=0.05)
    at = f64([-2.0, 0.0, 3.0])
    below = (x[:, None] <= at).double().mean(0)
    assert (below - d.cdf(at)).abs().max().item() < 0.02
    assert torch.autograd.gradcheck(
        lambda w, m: D.MixtureSameFamily(D.Categorical(w), D.Normal(m, 1.0)).log_prob(at),
        (weights, loc),
    )
    vectors = D.MixtureSameFamily(
        D.Categorical(torch.ones(3, device=at.device)),
        D.Independent(D.Normal(f64(np.arange(24.0).reshape(4, 3, 2).tolist()), 1.0), 1),
    )
    assert vectors.batch_shape == (4,) and vectors.event_shape == (2,)
    assert vectors.sample((5,)).shape == (5, 4, 2) and vectors.mean.shape == (4, 2)
    assert vectors.log_prob(vectors.sample((5,))).shape == (5, 4)
    assert vectors.expand((3, 4)).sample().shape == (3, 4, 2)
    with pytest.raises(ValueError, match="does not equal"):
        D.MixtureSameFamily(D.Categorical(f64([0.5, 0.5])), D.Normal(torch.zeros(3), 1.0))
    with pytest.raises(ValueError, match="needs to be an instance"):
        D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(3), 1.0))


CHECKED = ["Weibull", "Pareto", "Kumaraswamy", "GeneralizedPareto", "ContinuousBernoulli"]


@pytest.mark.parametrize("kind", [*CHECKED, "RelaxedBernoulli", "LogisticNormal", "Gumbel"])
def test_samples_follow_their_parameters(D, torch, kind):
    """For a fixed state of the generator a sample is a function of the parameters."""
    name = [n for n in golden.CASES if n.startswith(kind)][-1]
    with golden.doubles(torch):
        _, tensors = golden.made(torch, name)

        def drawn(*values):
            torch.manual_seed(6)
            return getattr(D, kind)(**dict(zip(tensors, values))).rsample((3,))

        assert torch.autograd.gradcheck(drawn, tuple(tensors.values()))


class Plain:
    """A program's kind of a distribution, without a constructor or with one of its own."""

    def of(self, base, own):
        def __init__(self, *args, **named):
            base.__init__(self, *args, **named)

        return type(f"My{base.__name__}", (base,), {"__init__": __init__} if own else {})


@pytest.mark.parametrize("name", golden.CASES)
def test_expanding_keeps_the_class_or_says_why_not(torch, name):
    kind, parameters, _ = golden.CASES[name]
    base = getattr(torch.distributions, kind)
    with golden.doubles(torch):
        _, tensors = golden.made(torch, name)
        mine = Plain().of(base, False)(**{**parameters, **tensors})
        assert type(mine.expand((2, *mine.batch_shape))) is type(mine)
        mine = Plain().of(base, True)(**{**parameters, **tensors})
        with pytest.raises(NotImplementedError, match="must also define a custom .expand"):
            mine.expand((2, *mine.batch_shape))


def test_independent_parts_keep_their_class(D, torch):
    mine = Plain().of(D.Independent, False)(D.Normal(torch.zeros(2, 3), 1.0), 1)
    more = mine.expand((4, 2))
    assert type(more) is type(mine) and more.reinterpreted_batch_ndims == 1
    assert more.batch_shape == (4, 2) and more.event_shape == (3,)
    assert more.log_prob(torch.zeros(3)).shape == (4, 2)


@pytest.mark.parametrize("name", golden.CASES)
def test_values_of_a_wrong_shape_or_kind_are_value_errors(torch, name):
    with golden.doubles(torch):
        d, tensors = golden.made(torch, name)
        d = d.expand((3, *d.batch_shape))
        shape = [*d.batch_shape, *d.event_shape]
        if not name.startswith(("Gamma", "Chi2")):  # which take numbers, as torch's do
            with pytest.raises(ValueError, match="must be a Tensor"):
                d.log_prob(0.5)
        with pytest.raises(ValueError, match="not broadcastable|right-most size"):
            d.log_prob(torch.ones([5, *shape[1:]]))
        if d.event_shape:
            with pytest.raises(ValueError, match="right-most size"):
                d.log_prob(torch.ones([*shape[:-1], 7]))
        kind, parameters, _ = golden.CASES[name]
        for key, value in tensors.items():
            if value.dim() == 1 and not d.event_shape and kind != "Chi2":  # it halves it
                with pytest.raises(ValueError):
                    getattr(torch.distributions, kind)(**{**parameters, **tensors, key: "a"})


SHARES = [[1e-4, 1e-4], [0.01, 3.0], [0.5, 0.7], [5.0, 1e-3], [2e3, 5e4]]


@pytest.mark.parametrize("pair", SHARES)
def test_shares_follow_their_concentrations(torch, f64, pair):
    """The mean of a share's derivative is the derivative of its mean; logarithms have no limit."""
    torch.manual_seed(7)
    a = f64([pair] * N, requires_grad=True)
    x = torch.distributions.Dirichlet(a).rsample()
    assert ((x > 0) & (x < 1)).all() and torch.allclose(x.sum(-1), torch.ones_like(x[:, 0]))
    (found,) = torch.autograd.grad(x[:, 0].sum(), a)
    total = sum(pair)
    want = f64([pair[1] / total**2, -pair[0] / total**2])
    # Of the smallest concentrations few samples lie between the ends, and have all of the slope.
    error = (found.mean(0) - want).abs() / (found.std(0) / math.sqrt(N))
    assert found.isfinite().all() and (error < 6).all()


@pytest.mark.parametrize("pair", [[0.01, 0.01], [0.1, 30.0], [1.0, 1.0], [40.0, 0.3], [3e3, 5e3]])
def test_a_share_moves_at_fixed_probability(torch, f64, pair):
    """Sample by sample, as the quantile of a beta variable does; others give way in proportion."""
    stats = pytest.importorskip("scipy.stats")
    torch.manual_seed(7)
    a = f64([[*pair, 2.0]] * 40, requires_grad=True)
    x = torch.distributions.Dirichlet(a).rsample()
    (found,) = torch.autograd.grad(x[:, 0].sum(), a, retain_graph=True)
    (other,) = torch.autograd.grad(x[:, 2].sum(), a)
    found, other, x = found.cpu(), other.cpu(), x.detach().cpu()
    share, rest, step = x[:, 0].numpy(), pair[1] + 2.0, 1e-5 * pair[0]
    above, below = (stats.beta.cdf(share, pair[0] + h, rest) for h in (step, -step))
    moved = -(above - below) / (2 * step) / stats.beta.pdf(share, pair[0], rest)
    inner = (share > 1e-6) & (share < 1 - 1e-6)
    assert found[inner, 0].numpy() == pytest.approx(moved[inner], rel=1e-3)
    gives_way = -moved * x[:, 2].numpy() / (1 - share)
    assert other[inner, 0].numpy() == pytest.approx(gives_way[inner], rel=1e-3)


def test_one_share_is_all_there_is(torch):
    a = torch.tensor([[2.0]], requires_grad=True)
    torch.distributions.Dirichlet(a).rsample().sum().backward()
    assert a.grad.item() == 0


def test_low_rank_is_the_full_normal(D, torch, f64):
    loc, w, diagonal = (
        f64([1.0, 2.0, 3.0]),
        f64([[1.0, 0.2], [0.3, -0.5], [-1.0, 0.7]]),
        f64([0.5] * 3),
    )
    low = D.LowRankMultivariateNormal(loc, w, diagonal)
    full = D.MultivariateNormal(loc, low.covariance_matrix)
    x = f64(golden.VECTORS)
    assert torch.allclose(low.log_prob(x), full.log_prob(x))
    assert torch.allclose(low.precision_matrix, full.precision_matrix)
    assert torch.allclose(low.scale_tril, full.scale_tril)
    assert torch.allclose(low.entropy(), full.entropy())
    for p, q in (low, full), (full, low), (low, low):
        assert D.kl_divergence(p, q).item() == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="cov_factor must be a batch of matrices"):
        D.LowRankMultivariateNormal(loc, w.T, diagonal)


def test_a_kind_of_normal_vectors_may_keep_its_factor_elsewhere(D, torch, f64):
    class Lazy(D.MultivariateNormal):
        def __init__(self, loc, covariance):
            self.loc, self.covariance = loc, covariance
            D.Distribution.__init__(self, loc.shape[:-1], loc.shape[-1:], validate_args=False)

        @property
        def _unbroadcasted_scale_tril(self):
            return torch.linalg.cholesky(self.covariance)

    loc, covariance = f64([1.0, 2.0, 3.0]), f64(golden.COVARIANCE)
    lazy, plain = Lazy(loc, covariance), D.MultivariateNormal(loc, covariance)
    assert lazy.entropy() == plain.entropy() and lazy.log_prob(2 * loc) == plain.log_prob(2 * loc)
    assert D.kl_divergence(lazy, plain).item() == pytest.approx(0, abs=1e-12)


def test_transforms_of_a_program(D, torch, f64):
    class Cube(D.Transform):
        domain = codomain = D.constraints.real
        bijective, sign = True, 1

        def _call(self, x):
            return x**3

        def _inverse(self, y):
            return y.sign() * y.abs() ** (1 / 3)

        def log_abs_det_jacobian(self, x, y):
            return (3 * x**2).log()

    d = D.TransformedDistribution(
        D.Normal(f64(0.0), f64(1.0)), [Cube(), D.AffineTransform(1.0, -2.0)]
    )
    y = f64(17.0)  # 1 - 2 * (-2)^3
    want = D.Normal(f64(0.0), f64(1.0)).log_prob(f64(-2.0)).item() - math.log(12) - math.log(2)
    assert d.log_prob(y).item() == pytest.approx(want)
    below = 1 - D.Normal(0.0, 1.0).cdf(torch.tensor(-2.0)).item()  # the second one falls
    assert d.cdf(y).item() == pytest.approx(below, abs=1e-6)
    assert d.icdf(d.cdf(y)).item() == pytest.approx(17, rel=1e-6)
    assert d.expand((3,)).sample((2,)).shape == (2, 3) and d.has_rsample
    assert Cube().inv.inv(f64(2.0)).item() == 8 and Cube().with_cache()._cache_size == 1
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        Cube(cache_size=2)
    with pytest.raises(ValueError, match="must be a Transform or a list"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), [1])
    with pytest.raises(ValueError, match="size at least 1"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())


def test_a_cache_returns_the_value_itself(D, f64):
    for transform in (
        D.TanhTransform(cache_size=1),
        D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)], cache_size=1),
        D.ExpTransform().with_cache(),
    ):
        x = f64([30.0, -1.0], requires_grad=True)
        assert transform.inv(transform(x)) is x
    plain = D.TanhTransform()
    assert plain.inv(plain(x)) is not x


def test_a_transform_may_be_a_module(D, torch):
    class Scale(D.Transform, torch.nn.Module):
        domain = codomain = D.constraints.real
        bijective = True

        def __init__(self, cache_size=0):
            super().__init__(cache_size=cache_size)
            self.log_scale = torch.nn.Parameter(torch.tensor(0.5))

        __hash__ = torch.nn.Module.__hash__

        def _call(self, x):
            return x * self.log_scale.exp()

        def _inverse(self, y):
            return y / self.log_scale.exp()

        def log_abs_det_jacobian(self, x, y):
            return self.log_scale.expand(x.shape)

    scale = Scale()
    d = D.TransformedDistribution(D.Normal(0.0, 1.0), scale)
    d.log_prob(torch.tensor(2.0)).backward()
    assert [name for name, _ in scale.named_parameters()] == ["log_scale"]
    # the derivative of -(2 / e^s)^2 / 2 - s
    assert scale.log_scale.grad.item() == pytest.approx(4 * math.exp(-1) - 1)
    again = scale.with_cache()
    x = torch.ones(2)
    assert again.inv(again(x)) is x and again.log_scale is scale.log_scale


def test_divergences_of_a_program(D, torch):
    class Base:
        pass

    class Point(D.Distribution, Base):
        def __init__(self, at):
            self.at = at
            super().__init__(at.shape)

    @D.register_kl(Base, D.Normal)
    def _point(p, q):
        return -q.log_prob(p.at)

    found = D.kl_divergence(Point(torch.tensor(0.0)), D.Normal(0.0, 1.0))
    assert found.item() == pytest.approx(0.5 * math.log(2 * math.pi))
    with pytest.raises(TypeError, match="Expected a Distribution subclass"):
        D.register_kl(1, D.Normal)


def test_constraints_of_a_program(D, torch):
    constraints = D.constraints

    class Shifted(D.Distribution):
        arg_constraints = {"low": constraints.real}

        def __init__(self, low, validate_args=None):
            self.low = low
            super().__init__(low.shape, (), validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.greater_than(self.low)

        def log_prob(self, value):
            self._validate_sample(value)
            return self.low - value

        def expand(self, batch_shape, _instance=None):
            made = self._get_checked_instance(Shifted, _instance)
            made.low = self.low.expand(batch_shape)
            super(Shifted, made).__init__(batch_shape, (), validate_args=False)
            return made

    assert Shifted.support.event_dim == 0 and constraints.is_dependent(Shifted.support)
    d = Shifted(torch.tensor(1.0))
    assert repr(d.support) == "GreaterThan(lower_bound=1.0)" and d.expand((2,)).low.shape == (2,)
    with pytest.raises(ValueError, match="within the support"):
        d.log_prob(torch.tensor(0.5))
    with pytest.raises(NotImplementedError, match="cannot be determined statically"):
        constraints.dependent.event_dim  # noqa: B018
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(constraints.boolean)
    with pytest.raises(TypeError, match="Expected constraint"):
        D.biject_to.register(1, lambda constraint: constraint)


def test_families_without_a_formula_of_their_own(D, torch, f64):
    """Entropy and divergence follow from the log-normalizer alone."""

    class Decay(D.ExponentialFamily):
        _mean_carrier_measure = 0

        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        _natural_params = property(lambda self: (-self.rate,))

        def _log_normalizer(self, x):
            return -torch.log(-x)

    rates = f64([0.5, 2.0]), f64([1.5, 1.0])
    (p, q), (own_p, own_q) = map(D.Exponential, rates), map(Decay, rates)
    assert torch.allclose(own_p.entropy(), p.entropy())
    assert torch.allclose(D.kl_divergence(own_p, own_q), D.kl_divergence(p, q))
    with pytest.raises(NotImplementedError, match="different exponential families"):
        D.kl_divergence(own_p, D.Poisson(rates[0]))


def test_divergences_are_means_of_differences(D, torch, f64):
    torch.manual_seed(7)
    pairs = [
        (D.Gumbel(f64(0.2), f64(0.6)), D.Normal(f64(0.5), f64(1.0))),
        (D.Gamma(f64(2.0), f64(1.5)), D.Gumbel(f64(0.5), f64(1.0))),
        (D.Uniform(f64(0.2), f64(0.9)), D.Beta(f64(2.0), f64(1.5))),
        (D.Pareto(f64(1.0), f64(4.0)), D.Gamma(f64(2.0), f64(1.0))),
        (D.Normal(f64(0.3), f64(0.8)), D.Laplace(f64(0.0), f64(1.0))),
        (D.Cauchy(f64(0.0), f64(1.0)), D.Cauchy(f64(0.5), f64(2.0))),
    ]
    for p, q in pairs:
        x = p.sample((100_000,))
        terms = p.log_prob(x) - q.log_prob(x)
        want = terms.mean().item()
        assert D.kl_divergence(p, q).item() == pytest.approx(want, abs=0.02), (p, q)
    assert D.kl_divergence(D.LogNormal(0.0, 1.0), D.LogNormal(0.0, 1.0)).item() == 0
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.LogNormal(0.0, 1.0), D.HalfCauchy(1.0))


def test_modules_have_their_names_in_torch(D):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from flambeau.distributions.half_cauchy import HalfCauchy
        from flambeau.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        from flambeau.distributions.transforms import SigmoidTransform
    assert HalfCauchy is D.HalfCauchy and SigmoidTransform is D.SigmoidTransform
    assert D.RelaxedBernoulli(D.Normal(0.0, 1.0).scale, 0.5).base_dist.__class__ is (
        LogitRelaxedBernoulli
    )
