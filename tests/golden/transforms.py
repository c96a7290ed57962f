"""Transforms in float64: values, inverses, logarithms of Jacobians, shapes, sets, and the transforms
that constraints are given: what both PyTorch (make.py) and the tests compute."""

VECTORS = [[0.4, 1.2, 0.7], [1.9, 0.1, 0.3]]
SQUARE = [[0.4, 1.2, 0.7], [1.9, 0.1, 0.3], [0.2, 0.8, 1.1]]
WIDE = [[2.0], [3.0]]

# name: (function of torch.distributions and a maker of tensors, the value)
CASES = {
    "exp": (lambda D, t: D.ExpTransform(), VECTORS),
    "power": (lambda D, t: D.PowerTransform(t(2.0)), VECTORS),
    "power of a batch": (lambda D, t: D.PowerTransform(t(WIDE)), VECTORS),
    "sigmoid": (lambda D, t: D.SigmoidTransform(), VECTORS),
    "softplus": (lambda D, t: D.SoftplusTransform(), VECTORS),
    "tanh": (lambda D, t: D.TanhTransform(), VECTORS),
    "affine": (lambda D, t: D.AffineTransform(1.0, -2.0), VECTORS),
    "affine of vectors": (
        lambda D, t: D.AffineTransform(t([1.0, 2.0, 3.0]), t([2.0, -3.0, 4.0]), event_dim=1),
        VECTORS,
    ),
    "cdf": (lambda D, t: D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0))), VECTORS),
    "softmax": (lambda D, t: D.SoftmaxTransform(), VECTORS),
    "stick breaking": (lambda D, t: D.StickBreakingTransform(), VECTORS),
    "correlations": (lambda D, t: D.CorrCholeskyTransform(), VECTORS),
    "lower cholesky": (lambda D, t: D.LowerCholeskyTransform(), SQUARE),
    "positive definite": (lambda D, t: D.PositiveDefiniteTransform(), SQUARE),
    "reshape": (lambda D, t: D.ReshapeTransform((3,), (3, 1)), VECTORS),
    "independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), VECTORS),
    "identity": (lambda D, t: D.identity_transform, VECTORS),
    "chain": (
        lambda D, t: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.SigmoidTransform()]),
        VECTORS,
    ),
    "chain to vectors": (
        lambda D, t: D.ComposeTransform([D.AffineTransform(0.5, 2.0), D.StickBreakingTransform()]),
        VECTORS,
    ),
    "cat": (
        lambda D, t: D.CatTransform(
            [D.ExpTransform(), D.AffineTransform(1.0, 2.0)], dim=-1, lengths=[1, 2]
        ),
        VECTORS,
    ),
    "stack": (
        lambda D, t: D.StackTransform(
            [D.ExpTransform(), D.AffineTransform(1.0, 2.0), D.TanhTransform()], dim=-1
        ),
        VECTORS,
    ),
}
_SETS = {
    "real": lambda c, t: c.real,
    "positive": lambda c, t: c.positive,
    "greater_than": lambda c, t: c.greater_than(2.0),
    "greater_than_eq": lambda c, t: c.greater_than_eq(t(1.0)),
    "less_than": lambda c, t: c.less_than(-1.0),
    "unit_interval": lambda c, t: c.unit_interval,
    "interval": lambda c, t: c.interval(-1.0, 2.0),
    "half_open_interval": lambda c, t: c.half_open_interval(0.0, 1.5),
    "simplex": lambda c, t: c.simplex,
    "real_vector": lambda c, t: c.real_vector,
    "independent": lambda c, t: c.independent(c.positive, 1),
    "corr_cholesky": lambda c, t: c.corr_cholesky,
    "cat of sets": lambda c, t: c.cat([c.positive, c.unit_interval], -1, [1, 2]),
    "stack of sets": lambda c, t: c.stack([c.positive, c.real, c.unit_interval], -1),
}
for _registry in "biject_to", "transform_to":
    for _name, _set in _SETS.items():
        CASES[f"{_registry} {_name}"] = (
            lambda D, t, r=_registry, s=_set: getattr(D, r)(s(D.constraints, t)),
            VECTORS,
        )
SHAPES = [(), (3,), (2, 3), (3, 3), (6,), (5, 2, 3)]


def shapes(function):
    found = []
    for shape in SHAPES:
        try:
            found.append(list(function(shape)))
        except (ValueError, RuntimeError):
            found.append(None)
    return found


def fact(function):
    try:
        return function()
    except (NotImplementedError, ValueError):
        return None


def results(torch, name, device="cpu"):
    make, value = CASES[name]

    def tensor(v):
        return torch.tensor(v, dtype=torch.float64, device=device)

    transform = make(torch.distributions, tensor)
    x = tensor(value).requires_grad_()
    y = transform(x)
    back = transform.inv(y.detach())
    found = {
        "y": y.tolist(),
        "x": back.tolist(),
        "inside": transform.codomain.check(y).tolist(),
        "sign": fact(lambda: torch.as_tensor(transform.sign).tolist()),
        "bijective": transform.bijective,
        "dims": [transform.domain.event_dim, transform.codomain.event_dim],
        "forward": shapes(lambda s: transform.forward_shape(torch.Size(s))),
        "inverse": shapes(lambda s: transform.inverse_shape(torch.Size(s))),
        "repr": repr(transform),
    }
    try:
        log = transform.log_abs_det_jacobian(x, y)
    except NotImplementedError:
        return found
    (slope,) = torch.autograd.grad(log.sum() + y.sin().sum(), [x])
    inverse = transform.inv.log_abs_det_jacobian(y, x)
    return {**found, "log": log.tolist(), "inverse_log": inverse.tolist(), "slope": slope.tolist()}
