"""Distributions in float64: moments, densities with their gradients, quantiles, and divergences from
every other one over numbers: what both PyTorch (make.py) and the tests compute."""

import contextlib

REAL, POSITIVE, SHARE, COUNT = [-1.3, 0.2, 2.5], [0.1, 0.9, 3.2], [0.05, 0.4, 0.93], [0.0, 1.0, 4.0]
COVARIANCE = [[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 1.0]]
TRIANGLE = [[1.5, 0.0, 0.0], [0.3, 1.2, 0.0], [-0.4, 0.2, 0.8]]
CORRELATION = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [-0.48, 0.6, 0.64]]
VECTORS = [[0.1, -0.2, 0.4], [1.5, 2.0, -3.0]]
SHARES = [[0.2, 0.3, 0.5], [0.05, 0.9, 0.05]]

# name: (kind, parameters, values at which densities are taken)
CASES = {}


def case(kind, points, **parameters):
    CASES[f"{kind} of {', '.join(parameters)}"] = (kind, parameters, points)


for _kind in "Normal", "Laplace", "Cauchy", "Gumbel":
    case(_kind, REAL, loc=[0.3, -1.0], scale=[0.7, 2.0])
case("LogNormal", POSITIVE, loc=[0.3, -1.0], scale=[0.7, 0.5])
case("StudentT", REAL, df=[1.5, 5.0], loc=[0.3, 1.0], scale=[1.0, 2.0])
case("Uniform", [0.2, 0.55, 0.65], low=[0.1, -1.0], high=[0.7, 2.0])
case("HalfNormal", POSITIVE, scale=[0.7, 2.0])
case("HalfCauchy", POSITIVE, scale=[0.7, 2.0])
case("Exponential", POSITIVE, rate=[0.7, 2.0])
case("Gamma", POSITIVE, concentration=[0.7, 3.0], rate=[0.5, 2.0])
case("Chi2", POSITIVE, df=[0.7, 3.0])
case("InverseGamma", POSITIVE, concentration=[1.5, 3.0], rate=[2.0, 0.5])
case("FisherSnedecor", POSITIVE, df1=[1.5, 7.0], df2=[3.0, 9.0])
case("Pareto", [2.1, 2.5, 7.0], scale=[1.0, 2.0], alpha=[1.5, 3.0])
case(
    "GeneralizedPareto",
    [0.4, 0.7, 1.2],
    loc=[0.3, -1.0],
    scale=[0.7, 2.0],
    concentration=[0.0, 0.3],
)
case(
    "GeneralizedPareto",
    [0.4, 0.7, 1.2],
    concentration=[-1.0, -0.5],
    loc=[0.3, 0.0],
    scale=[1.0, 1.0],
)
case("Weibull", POSITIVE, scale=[1.0, 2.0], concentration=[1.5, 3.0])
case("Beta", SHARE, concentration1=[0.7, 3.0], concentration0=[0.5, 2.0])
case("Kumaraswamy", SHARE, concentration1=[1.5, 3.0], concentration0=[2.0, 0.5])
case("ContinuousBernoulli", SHARE, probs=[0.3, 0.5004])
case("ContinuousBernoulli", SHARE, logits=[0.3, -2.0])
case("VonMises", REAL, loc=[0.3, -1.0], concentration=[0.7, 20.0])
case("Poisson", COUNT, rate=[0.7, 5.0])
case("Geometric", COUNT, probs=[0.3, 0.6])
case("Bernoulli", [0.0, 1.0, 1.0], probs=[0.3, 0.6])
case("Binomial", COUNT, total_count=5, probs=[0.3, 0.6])
case("NegativeBinomial", COUNT, total_count=[3.0, 0.0], probs=[0.3, 0.6])
case("NegativeBinomial", COUNT, total_count=4, logits=[0.3, -0.6])
case("RelaxedBernoulli", SHARE, temperature=0.7, probs=[0.3, 0.8])
case("RelaxedBernoulli", SHARE, temperature=1.5, logits=[0.3, -0.8])
case("RelaxedOneHotCategorical", SHARES, temperature=0.7, probs=SHARES)
case("LogisticNormal", SHARES, loc=[0.3, -0.2], scale=[1.0, 0.5])
case("Dirichlet", SHARES, concentration=[0.7, 3.0, 1.2])
case("LKJCholesky", [CORRELATION], dim=3, concentration=[1.5, 0.5])
case("Wishart", [COVARIANCE], df=5.5, covariance_matrix=COVARIANCE)
case("Wishart", [COVARIANCE], df=3.5, precision_matrix=COVARIANCE)
case("MultivariateNormal", VECTORS, loc=[1.0, 2.0, 3.0], covariance_matrix=COVARIANCE)
case("MultivariateNormal", VECTORS, loc=[1.0, 0.0, 3.0], scale_tril=TRIANGLE)
case(
    "LowRankMultivariateNormal",
    VECTORS,
    loc=[1.0, 2.0, 3.0],
    cov_factor=[[1.0, 0.2], [0.3, -0.5], [-1.0, 0.7]],
    cov_diag=[0.5, 1.0, 2.0],
)

# PyTorch's formula for this mode is NaN everywhere.
LEFT_OUT = {("Kumaraswamy", "mode")}

NO_CDF = {
    *("StudentT", "FisherSnedecor", "Beta", "VonMises"),
    *("Poisson", "Geometric", "Bernoulli", "Binomial", "NegativeBinomial", "RelaxedBernoulli"),
    *("RelaxedOneHotCategorical", "LogisticNormal", "Dirichlet", "LKJCholesky", "Wishart"),
    *("MultivariateNormal", "LowRankMultivariateNormal"),
}


@contextlib.contextmanager
def doubles(torch):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def made(torch, name, device="cpu"):
    """The distribution, and its parameters that are tensors."""
    kind, parameters, _ = CASES[name]
    tensors = {
        key: torch.tensor(value, dtype=torch.float64, device=device, requires_grad=True)
        for key, value in parameters.items()
        if isinstance(value, (list, float))
    }
    return getattr(torch.distributions, kind)(**{**parameters, **tensors}), tensors


def values(function):
    """What a function returns as lists; None where it says that it has no answer."""
    try:
        return function().detach().cpu().tolist()
    except NotImplementedError:
        return None


def divergences(torch, name, device):
    p, _ = made(torch, name, device)
    found = {}
    for other in CASES:
        q, _ = made(torch, other, device)
        if p.event_shape == q.event_shape and p.batch_shape == q.batch_shape:
            found[other] = values(lambda q=q: torch.distributions.kl_divergence(p, q))
    return {other: value for other, value in found.items() if value is not None}


def results(torch, name, device="cpu"):
    kind, _, points = CASES[name]
    with doubles(torch):
        d, tensors = made(torch, name, device)
        x = torch.tensor(points, dtype=torch.float64, device=device)
        if not d.event_shape:
            x = x.unsqueeze(-1).expand(-1, *d.batch_shape)
        found = {
            part: values(lambda part=part: getattr(d, part))
            for part in ("mean", "variance", "mode", "stddev")
        }
        log_prob = d.log_prob(x)
        slopes = torch.autograd.grad(log_prob.sum(), list(tensors.values()))
        probabilities = torch.tensor(SHARE, dtype=torch.float64, device=device).unsqueeze(-1)
        found |= {
            "entropy": values(d.entropy),
            "log_prob": log_prob.tolist(),
            "slopes": {key: slope.tolist() for key, slope in zip(tensors, slopes)},
            "cdf": values(lambda: d.cdf(x)),
            "icdf": values(lambda: d.icdf(probabilities)),
            "shapes": [list(d.batch_shape), list(d.event_shape)],
            "has_rsample": d.has_rsample,
            "kl": divergences(torch, name, device),
        }
        return {part: value for part, value in found.items() if (kind, part) not in LEFT_OUT}
