"""Distributions made of gamma variables, counts, and normal vectors, against SciPy."""

import flambeau as torch
import numpy as np
import pytest
from scipy import stats

D = torch.distributions


def f64(*values):
    return torch.tensor(values if len(values) > 1 else values[0], dtype=torch.float64)


CASES = {
    "Gamma": (lambda: D.Gamma(f64(2.5), f64(1.5)), stats.gamma(2.5, scale=1 / 1.5), [0.1, 1, 4]),
    "Gamma below 1": (lambda: D.Gamma(f64(0.3), f64(2.0)), stats.gamma(0.3, scale=0.5), [0.1, 2]),
    "Chi2": (lambda: D.Chi2(f64(3.0)), stats.chi2(3), [0.1, 1, 4]),
    "Beta": (lambda: D.Beta(f64(2.0), f64(3.0)), stats.beta(2, 3), [0.1, 0.5, 0.9]),
    "StudentT": (lambda: D.StudentT(f64(5.0), f64(1.0), f64(2.0)), stats.t(5, 1, 2), [0.1, 3]),
    "Poisson": (lambda: D.Poisson(f64(4.0)), stats.poisson(4), [0, 3, 9]),
    "Binomial": (lambda: D.Binomial(10, f64(0.3)), stats.binom(10, 0.3), [0, 3, 10]),
    "Binomial of logits": (
        lambda: D.Binomial(40, logits=f64(0.5)),
        stats.binom(40, 1 / (1 + np.exp(-0.5))),
        [0, 20, 40],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_variable(name):
    make, law, points = CASES[name]
    d = make()
    torch.manual_seed(1)
    log_prob = d.log_prob(torch.tensor(points, dtype=torch.float64)).numpy()
    want = law.logpmf(points) if hasattr(law, "pmf") else law.logpdf(points)
    np.testing.assert_allclose(log_prob, want, rtol=1e-9)
    assert d.mean.item() == pytest.approx(law.mean())
    assert d.variance.item() == pytest.approx(law.var())
    if name != "Poisson":
        assert d.entropy().item() == pytest.approx(law.entropy())
    drawn = d.sample((20000,)).numpy()
    assert abs(drawn.mean() - law.mean()) < 5 * law.std() / np.sqrt(20000)
    assert drawn.var() == pytest.approx(law.var(), rel=0.15)
    many = d.expand((3, 2))
    assert many.batch_shape == (3, 2) and many.sample((4,)).shape == (4, 3, 2)
    with pytest.raises(ValueError, match="Expected value argument|must be a Tensor"):
        d.log_prob(f64(float("nan")))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 2.5, 10.0, 100.0, 3000.0, 5000.0])
def test_gamma_follows_its_concentration(alpha):
    torch.manual_seed(2)
    a = torch.full((500,), alpha, dtype=torch.float64, requires_grad=True)
    x = torch._standard_gamma(a)
    (slope,) = torch.autograd.grad(x.sum(), a)
    values, step = x.detach().numpy(), 1e-4 * alpha
    below, above = stats.gamma.cdf(values, alpha), stats.gamma.sf(values, alpha)
    sides = [
        np.where(below < 0.5, stats.gamma.ppf(below, alpha + s), stats.gamma.isf(above, alpha + s))
        for s in (step, -step)
    ]
    want = (sides[0] - sides[1]) / (2 * step)
    seen = values > 1e-200
    np.testing.assert_allclose(slope.numpy()[seen], want[seen], rtol=1e-4, atol=1e-6)


def test_shares_and_counts_of_several():
    torch.manual_seed(3)
    d, law = D.Dirichlet(f64(1.5, 0.5, 3.0)), stats.dirichlet([1.5, 0.5, 3.0])
    assert d.log_prob(f64(0.2, 0.3, 0.5)).item() == pytest.approx(law.logpdf([0.2, 0.3, 0.5]))
    assert d.entropy().item() == pytest.approx(law.entropy())
    np.testing.assert_allclose(d.variance.numpy(), law.var())
    drawn = d.rsample((20000,))
    np.testing.assert_allclose(drawn.sum(-1).numpy(), 1)
    np.testing.assert_allclose(drawn.numpy().mean(0), law.mean(), atol=0.01)
    m, law = D.Multinomial(6, f64(0.2, 0.3, 0.5)), stats.multinomial(6, [0.2, 0.3, 0.5])
    assert m.log_prob(f64(1.0, 2.0, 3.0)).item() == pytest.approx(law.logpmf([1, 2, 3]))
    assert m.entropy().item() == pytest.approx(law.entropy())
    counts = m.sample((20000,)).numpy()
    assert (counts.sum(-1) == 6).all()
    np.testing.assert_allclose(counts.mean(0), [1.2, 1.8, 3.0], atol=0.05)
    assert D.multinomial.Multinomial is D.Multinomial and D.binomial.Binomial is D.Binomial


def test_normal_vectors():
    torch.manual_seed(4)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    law, loc = stats.multivariate_normal([1, 2], covariance), f64(1.0, 2.0)
    for matrix in (
        {"covariance_matrix": covariance},
        {"precision_matrix": np.linalg.inv(covariance)},
        {"scale_tril": np.linalg.cholesky(covariance)},
    ):
        d = D.MultivariateNormal(loc, **{k: torch.from_numpy(v) for k, v in matrix.items()})
        assert d.log_prob(f64(0.0, 1.0)).item() == pytest.approx(law.logpdf([0, 1]))
        assert d.entropy().item() == pytest.approx(law.entropy())
        np.testing.assert_allclose(d.covariance_matrix.numpy(), covariance)
        np.testing.assert_allclose(np.cov(d.sample((20000,)).numpy().T), covariance, atol=0.08)
        assert d.expand((3,)).rsample((5,)).shape == (5, 3, 2)
    many = D.MultivariateNormal(torch.zeros(4, 2), torch.eye(2))
    assert many.batch_shape == (4,) and many.log_prob(torch.zeros(7, 4, 2)).shape == (7, 4)
    with pytest.raises(ValueError, match="PositiveDefinite"):
        D.MultivariateNormal(loc, -torch.eye(2, dtype=torch.float64))
    with pytest.raises(ValueError, match="Exactly one"):
        D.MultivariateNormal(loc)


@pytest.mark.parametrize(
    "p,q",
    [
        (D.Gamma(2.0, 3.0), D.Gamma(1.5, 2.0)),
        (D.Beta(2.0, 3.0), D.Beta(1.5, 1.2)),
        (D.Poisson(4.0), D.Poisson(6.0)),
        (D.Binomial(10, torch.tensor(0.3)), D.Binomial(10, torch.tensor(0.6))),
        (
            D.MultivariateNormal(torch.zeros(2), torch.eye(2)),
            D.MultivariateNormal(torch.ones(2), 2 * torch.eye(2)),
        ),
        (
            D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])),
            D.Dirichlet(torch.tensor([2.0, 2.0, 2.0])),
        ),
    ],
    ids=lambda d: type(d).__name__,
)
def test_divergence_is_the_mean_of_differences(p, q):
    torch.manual_seed(5)
    x = p.sample((100_000,))
    terms = p.log_prob(x) - q.log_prob(x)
    assert D.kl_divergence(p, q).item() == pytest.approx(terms.mean().item(), rel=0.05)
    assert D.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-5)
