"""Distributions: samples have the stated mean and variance, densities integrate to one and are the
derivative of the cdf, entropies and divergences agree with sums over the density."""

import math

import pytest


@pytest.fixture
def D(torch):
    return torch.distributions


CONTINUOUS = {
    "Normal": (lambda D, t: D.Normal(t(0.5), t(1.5)), (-12, 12)),
    "Laplace": (lambda D, t: D.Laplace(t(0.5), t(0.7)), (-15, 15)),
    "Gumbel": (lambda D, t: D.Gumbel(t(0.5), t(0.7)), (-6, 20)),
    "Cauchy": (lambda D, t: D.Cauchy(t(0.0), t(0.5)), (-3000, 3000)),
    "Exponential": (lambda D, t: D.Exponential(t(2.0)), (0, 15)),
    "HalfNormal": (lambda D, t: D.HalfNormal(t(1.5)), (0, 12)),
    "LogNormal": (lambda D, t: D.LogNormal(t(0.1), t(0.4)), (1e-6, 25)),
    "Uniform": (lambda D, t: D.Uniform(t(-1.0), t(2.0)), (-1, 2 - 1e-9)),
}


def made(torch, D, name, device):
    return CONTINUOUS[name][0](
        D, lambda v: torch.tensor(v, dtype=torch.float64, device=device, requires_grad=True)
    )


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_cdf_and_entropy_agree(torch, D, name, device):
    d, (low, high) = made(torch, D, name, device), CONTINUOUS[name][1]
    x = torch.linspace(low, high, 200001, dtype=torch.float64, device=device)
    with torch.no_grad():
        log_p = d.log_prob(x)
        p = log_p.exp()
        step = (high - low) / 200000
        mass = (p.sum() - (p[0] + p[-1]) / 2) * step
        assert abs(mass.item() - 1) < 1e-3
        cdf = d.cdf(x)
        middle = (p[1:] + p[:-1]) / 2 * step
        assert ((cdf[1:] - cdf[:-1]) - middle).abs().max().item() < 1e-3 * step**0.5
        if name != "Cauchy":
            entropy = -(torch.where(p > 0, p * log_p, 0.0)).sum() * step
            assert abs(entropy.item() - d.entropy().item()) < 1e-2


@pytest.mark.parametrize("name", CONTINUOUS)
def test_samples(torch, D, name, device):
    torch.manual_seed(0)
    d = made(torch, D, name, device)
    x = d.sample((40000,))
    assert not x.requires_grad and x.shape == (40000,) and d.support.check(x).all()
    below = (x[:, None] < x[:9]).double().mean(0)
    assert (below - d.cdf(x[:9])).abs().max().item() < 0.02
    if name != "Cauchy":
        assert abs(x.mean().item() - d.mean.item()) < 0.05
        assert abs(x.var().item() - d.variance.item()) < 0.1 * d.variance.item() + 0.02
    assert d.rsample().requires_grad
    d.rsample((5,)).sum().backward()
    again = d.expand((3, 2))
    assert again.batch_shape == (3, 2) and again.sample((4,)).shape == (4, 3, 2)


def test_normal(torch, D):
    d = D.Normal(0.0, 1.0)
    assert repr(d) == "Normal(loc: 0.0, scale: 1.0)" and d.batch_shape == () and d.event_shape == ()
    assert repr(D.Normal(torch.zeros(2), 1.0)) == (
        "Normal(loc: torch.Size([2]), scale: torch.Size([2]))"
    )
    assert abs(d.log_prob(torch.tensor(1.0)).item() + 0.5 + 0.5 * math.log(2 * math.pi)) < 1e-6
    with pytest.raises(ValueError, match="constraint GreaterThan\\(lower_bound=0.0\\), but found"):
        D.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="within the support \\(Real\\(\\)\\)"):
        d.log_prob(torch.tensor(float("nan")))
    with pytest.raises(ValueError, match="must be a Tensor"):
        d.log_prob(1.0)
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1
    with pytest.raises(NotImplementedError):
        D.Bernoulli(0.5).rsample()


def test_categorical(torch, D, device):
    torch.manual_seed(1)
    weights = torch.tensor([[1.0, 3.0], [2.0, 2.0]], device=device, requires_grad=True)
    d = D.Categorical(weights)
    assert d.probs.tolist() == [[0.25, 0.75], [0.5, 0.5]] and d.batch_shape == (2,)
    x = d.sample((4000,))
    assert x.shape == (4000, 2) and x.dtype is torch.int64
    assert abs(x[:, 0].double().mean().item() - 0.75) < 0.03
    d.log_prob(torch.tensor([1, 0], device=device)).sum().backward()
    assert weights.grad[0].tolist() == pytest.approx([-0.25, 1 / 12])
    assert d.entropy()[1].item() == pytest.approx(math.log(2), abs=1e-6)
    assert D.Categorical(logits=torch.tensor([0.0, 1.0])).probs.sum().item() == pytest.approx(1)
    assert d.enumerate_support().tolist() == [[0, 0], [1, 1]] and d.mode.tolist()[0] == 1
    assert d.expand((3, 2)).sample().shape == (3, 2)
    assert repr(d) == "Categorical(probs: torch.Size([2, 2]))"
    with pytest.raises(ValueError, match="Either `probs` or `logits`"):
        D.Categorical()
    with pytest.raises(ValueError, match="IntegerInterval\\(lower_bound=0, upper_bound=1\\)"):
        d.log_prob(torch.tensor([2, 0], device=device))
    with pytest.raises(ValueError, match="constraint Simplex"):
        D.Categorical(torch.tensor([0.2, -0.8]))


def test_one_hot(torch, D, device):
    torch.manual_seed(2)
    probs = torch.tensor([0.2, 0.8], device=device, requires_grad=True)
    d = D.OneHotCategoricalStraightThrough(probs)
    x = d.rsample((5,))
    assert x.shape == (5, 2) and torch.allclose(x.sum(-1), torch.ones(5, device=device))
    x[:, 0].sum().backward()
    assert probs.grad is not None
    hot = torch.tensor([0.0, 1.0], device=device)
    assert d.log_prob(hot).item() == pytest.approx(math.log(0.8), abs=1e-5)
    assert d.enumerate_support().tolist() == [[1, 0], [0, 1]] and d.mode.tolist() == [0, 1]


def test_trials(torch, D, device):
    torch.manual_seed(3)
    d = D.Bernoulli(torch.tensor([0.3], device=device))
    assert abs(d.sample((4000,)).mean().item() - 0.3) < 0.03
    one = torch.ones(1, device=device)
    assert d.log_prob(one).item() == pytest.approx(math.log(0.3), abs=1e-5)
    assert D.Bernoulli(logits=d.logits).probs.item() == pytest.approx(0.3)
    with pytest.raises(ValueError, match="Boolean"):
        d.log_prob(one / 2)
    with pytest.raises(ValueError, match="Interval\\(lower_bound=0.0, upper_bound=1.0\\)"):
        D.Bernoulli(1.3)
    g = D.Geometric(torch.tensor(0.3, device=device))
    assert abs(g.sample((4000,)).mean().item() - g.mean.item()) < 0.2
    k = torch.arange(200.0, device=device)
    assert g.log_prob(k).exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_independent(torch, D, device):
    d = D.Independent(D.Normal(torch.zeros(2, 3, device=device), 1.0), 1)
    assert d.batch_shape == (2,) and d.event_shape == (3,)
    assert d.log_prob(torch.zeros(2, 3, device=device)).shape == (2,)
    assert repr(d).startswith("Independent(Normal(loc: torch.Size([2, 3])")
    assert d.expand((4, 2)).sample().shape == (4, 2, 3)
    with pytest.raises(ValueError, match="Expected reinterpreted_batch_ndims"):
        D.Independent(D.Normal(0.0, 1.0), 1)


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Exponential", "HalfNormal", "LogNormal"])
def test_divergence_is_the_integral(torch, D, name, device):
    p, (low, high) = made(torch, D, name, device), CONTINUOUS[name][1]
    q = type(p)(*(getattr(p, n).detach() * 1.3 for n in p.arg_constraints))
    x = torch.linspace(max(low, -12) + 1e-9, high, 200001, dtype=torch.float64, device=device)
    with torch.no_grad():
        log_p = p.log_prob(x)
        terms = log_p.exp() * (log_p - q.log_prob(x))
        integral = terms.sum().item() * (x[1] - x[0]).item()
    assert D.kl_divergence(p, q).item() == pytest.approx(integral, abs=2e-3)


def test_divergences_of_discrete_ones(torch, D):
    p, q = D.Categorical(torch.tensor([0.2, 0.8])), D.Categorical(torch.tensor([0.5, 0.5]))
    wanted = 0.2 * math.log(0.4) + 0.8 * math.log(1.6)
    assert D.kl_divergence(p, q).item() == pytest.approx(wanted, abs=1e-6)
    assert D.kl_divergence(D.Bernoulli(0.8), D.Bernoulli(0.5)).item() == pytest.approx(
        wanted, abs=1e-6
    )
    inside, outside = D.Uniform(0.0, 1.0), D.Uniform(0.5, 2.0)
    assert D.kl_divergence(inside, outside).item() == math.inf
    nest = D.Independent(D.Normal(torch.zeros(3), 1.0), 1)
    assert D.kl_divergence(nest, nest).item() == 0
    with pytest.raises(NotImplementedError, match="p type Normal and q type Categorical"):
        D.kl_divergence(D.Normal(0.0, 1.0), p)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("diagonal", [-3, -1, 0, 1, 2])
def test_triangles_as_rows_and_back(torch, n, diagonal):
    from flambeau.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

    if not -n <= diagonal < n:
        return
    whole = torch.arange(1.0, 2 * n * n + 1).reshape(2, n, n)
    row = tril_matrix_to_vec(whole, diagonal)
    if row.shape[-1] or n == -diagonal:
        assert torch.equal(vec_to_tril_matrix(row, diagonal), whole.tril(diagonal))


def test_one_hot_values_beside_impossible_ones(torch):
    logits = torch.tensor([-math.inf, 0.0], requires_grad=True)
    law = torch.distributions.OneHotCategorical(logits=logits)
    values = torch.eye(2)
    assert law.log_prob(values).tolist() == [-math.inf, 0]
    law.log_prob(values[1]).backward()
    assert logits.grad.isfinite().all()
    spread = torch.distributions.OneHotCategorical(torch.ones(3, 1, 2))
    assert spread.log_prob(values).shape == (3, 2)
    assert torch.allclose(spread.log_prob(values), torch.tensor(0.5).log())


def test_degrees_of_freedom_may_be_whole(torch):
    whole = torch.distributions.Wishart(torch.tensor(3), torch.eye(2))
    assert whole.sample((4,)).shape == (4, 2, 2) and whole.sample().dtype is torch.float32


def test_one_hot_classes_are_classes_too(torch):
    one_hot = torch.distributions.OneHotCategorical(torch.tensor([0.2, 0.5, 0.3]))
    assert one_hot._categorical.mode == 1
    torch.testing.assert_close(one_hot._categorical.probs, one_hot.probs)


def test_a_geometric_success_can_happen(torch, D):
    for probs in (0.0, torch.tensor([0.5, 0.0])):
        with pytest.raises(ValueError, match="to be positive"):
            D.Geometric(probs)
        D.Geometric(probs, validate_args=False)
    assert D.Geometric(1.0).sample() == 0


def test_exponential_samples_are_scaled_draws(torch, D):
    rate = torch.tensor([0.5, 2.0, 8.0], requires_grad=True)
    torch.manual_seed(3)
    drawn = torch.empty(3).exponential_()
    torch.manual_seed(3)
    sample = D.Exponential(rate).rsample()
    sample.sum().backward()
    assert sample.equal(drawn / rate) and torch.allclose(rate.grad, -drawn / rate.detach() ** 2)


def test_what_a_kind_does_not_declare_is_not_checked(torch, D):
    class Undeclared(D.Distribution):
        def _log_prob(self, value):
            return value

    with pytest.warns(UserWarning, match="does not define `arg_constraints`. Please set"):
        made = Undeclared()
    with pytest.warns(UserWarning, match="does not define `support` to enable sample validation"):
        made.log_prob(torch.tensor(1.0))
    Undeclared(validate_args=False).log_prob(torch.tensor(1.0))
    assert repr(made) == "Undeclared()"
