"""Random numbers: the law they follow, what a seed fixes, and what depends on nothing else."""

import flambeau
import numpy as np
from scipy import special, stats

from tests.harness import laws
from tests.harness.gen import api
from tests.harness.table import FLOATS, INTS, op, positive, x

MANY = 20_000
SIZES = [dict(size=(MANY,)), dict(size=(2, 3)), dict(size=()), dict(size=(0, 3))]
MADE = dict(creates=True, grad=False, elementwise=False)
NEGATIVE = [((), dict(size=(2, -1)), "negative")]
CHANGED = dict(elementwise=False, second=False)
LINE = [x(MANY // 4, 4), x(2, 3), x(), x(0, 3)]


def continuous(law, low=-np.inf, below=np.inf):
    """Values of a SciPy law, none below `low`, none at `below` or above."""

    def check(values, *_, size=None, **__):
        assert size is None or values.shape == size
        assert ((values >= low) & (values < below)).all()
        laws.follows(values, law.cdf)

    return check


def uniform(values, *_, **__):
    continuous(stats.uniform, 0, 1)(values)


def normal(values, *_, **__):
    continuous(stats.norm)(values)


op(
    "rand",
    law=continuous(stats.uniform, 0, 1),
    options=SIZES,
    required=True,
    refuses=NEGATIVE,
    **MADE,
)
op("randn", law=continuous(stats.norm), options=SIZES, required=True, refuses=NEGATIVE, **MADE)
op(
    "rand_like",
    law=uniform,
    samples=LINE,
    grad=False,
    elementwise=False,
    bad={"int64": "int64|i64"},
)
op(
    "randn_like",
    law=normal,
    samples=LINE,
    grad=False,
    elementwise=False,
    bad={"int64": "int64|i64"},
)


def whole(values, low, high, size):
    assert values.shape == size
    laws.counted(values - low, [1 / (high - low)] * (high - low))


op(
    "randint",
    law=whole,
    call=flambeau.randint,
    options=[dict(o, low=3, high=10) for o in SIZES] + [dict(low=0, high=1, size=(5,))],
    required=True,
    dtypes=INTS + FLOATS,
    refuses=[((), dict(low=3, high=3, size=(2,)), "from|low|high")],
    **MADE,
)


def permutation(values, n):
    assert np.array_equal(np.sort(values), np.arange(n))
    if n > 100:  # far from the order it started in
        laws.independent((values + 0.5) / n - 0.5, 1 / 12)
        assert (values == np.arange(n)).sum() < 10


op(
    "randperm",
    law=permutation,
    options=[dict(n=2000), dict(n=1), dict(n=0)],
    required=True,
    dtypes=("int64", "int32", "float32", "float64"),
    refuses=[((), dict(n=-1), "non-negative|negative")],
    **MADE,
)


def between(values, _, from_=0, to=1):
    continuous(stats.uniform(from_, to - from_), from_, max(to, from_ + 1e-9))(values)


def by_place(f, a, from_=0, to=1, **more):
    return f(a, from_, to, **more)


op(
    "uniform_",
    law=between,
    samples=LINE,
    options=[dict(from_=-2, to=3)],
    arrange=by_place,
    refuses=[(x(2), dict(from_=1, to=0), "from|range")],
    bad={"int64": "int64|i64"},
    **CHANGED,
)
op(
    "normal_",
    law=lambda values, _, mean=0, std=1: laws.follows(values, stats.norm(mean, std).cdf),
    samples=LINE,
    options=[dict(mean=3, std=0.5)],
    refuses=[(x(2), dict(std=-1), "std")],
    bad={"int64": "int64|i64"},
    **CHANGED,
)
op(
    "exponential_",
    law=lambda values, _, lambd=1: continuous(stats.expon(scale=1 / lambd), 0)(values),
    samples=LINE,
    options=[dict(lambd=2.5)],
    refuses=[(x(2), dict(lambd=0), "lambd"), (x(2), dict(lambd=-1), "lambd")],
    bad={"int64": "int64|i64|floating"},
    **CHANGED,
)
op(
    "cauchy_",
    law=lambda values, _, median=0, sigma=1: continuous(stats.cauchy(median, sigma))(values),
    samples=LINE,
    options=[dict(median=2.5, sigma=0.5)],
    refuses=[(x(2), dict(sigma=0), "sigma > 0")],
    bad={"int64": "int64|i64|floating"},
    dtypes=("float32", "float64"),
    **CHANGED,
)
op(
    "log_normal_",
    law=lambda values, _, mean=1, std=2: continuous(stats.lognorm(std, scale=np.exp(mean)), 0)(
        values
    ),
    samples=LINE,
    options=[dict(mean=0.5, std=0.25)],
    ulp=16,  # exp makes of an ULP of a large exponent as many as that is
    refuses=[(x(2), dict(std=0), "std > 0")],
    bad={"int64": "int64|i64|floating"},
    dtypes=("float32", "float64"),
    **CHANGED,
)
op(
    "geometric_",
    law=lambda values, _, p: laws.counted(
        np.minimum(values, 6) - 1, [p * (1 - p) ** k for k in range(5)] + [(1 - p) ** 5]
    ),
    samples=LINE,
    options=[dict(p=0.3), dict(p=0.75)],
    required=True,
    dtypes=FLOATS + INTS,
    refuses=[(x(2), dict(p=1.5), "in \\(0, 1\\)"), (x(2), dict(p=0.0), "in \\(0, 1\\)")],
    **CHANGED,
)
op(
    "random_",
    law=lambda values, _, from_, to: laws.counted(
        values - from_, [1 / (to - from_)] * (to - from_)
    ),
    call=lambda a, **o: a.random_(o.pop("from_"), o.pop("to"), **o),
    samples=LINE,
    options=[dict(from_=2, to=9)],
    required=True,
    dtypes=FLOATS + INTS,
    refuses=[(x(2), dict(from_=1, to=1), "from")],
    **CHANGED,
)
op(
    "bernoulli_",
    law=lambda values, _, p=0.5: laws.counted(values, [1 - p, p]),
    samples=LINE,
    options=[dict(p=0.3), dict(p=0), dict(p=1)],
    dtypes=FLOATS + INTS + ("bool",),
    refuses=[(x(2), dict(p=1.5), "p to be|between|from 0 to 1|p ")],
    **CHANGED,
)


def each_at_its_odds(values, p):
    assert np.isin(values, (0, 1)).all() and values.shape == p.shape
    spread = np.sqrt((p * (1 - p)).sum())
    assert abs((values - p).sum()) <= 5 * spread
    assert (values[p == 0] == 0).all() and (values[p == 1] == 1).all()


ODDS = x(MANY, low=0.0, high=1.0)
op(
    "bernoulli",
    law=each_at_its_odds,
    samples=[
        ODDS,
        x(4, values=(0.0, 1.0), grad=False),
        x(low=0.2, high=0.8),
        x(0, 3, low=0.0, high=1.0),
    ],
    bad={"int64": "int64|i64|floating"},
    elementwise=False,
    second=False,
)


def standardised(values, mean, std):
    laws.follows((values - mean) / std, stats.norm.cdf)


op(
    "normal",
    law=standardised,
    call=api.normal,
    samples=[(positive(MANY), positive(MANY)), (x(4, 1), positive(3)), (x(0), positive(0))],
    elementwise=False,
    grad=False,
    refuses=[((x(3), positive(4)), {}, "size|broadcast|match")],
    refuses_values=[((x(3), x(3, low=-2.0, high=-1.0)), {}, "std >= 0")],
)


def drawn(values, weights, num_samples, replacement=False):
    rows = weights.reshape(-1, weights.shape[-1])
    assert values.shape == (*weights.shape[:-1], num_samples)
    for found, w in zip(values.reshape(len(rows), -1), rows):
        assert (w[found] > 0).all()
        if replacement:
            laws.counted(found, w / w.sum())
        else:
            assert len(np.unique(found)) == num_samples


WEIGHTS = x(5, values=(1.0, 0.0, 3.0, 2.0, 4.0))
op(
    "multinomial",
    law=drawn,
    samples=[WEIGHTS, x(3, 5, values=(1.0, 2.0, 3.0, 4.0))],
    options=[dict(num_samples=5000, replacement=True), dict(num_samples=3), dict(num_samples=1)],
    required=True,
    result=lambda _: "int64",
    elementwise=False,
    grad=False,
    refuses=[
        (WEIGHTS, dict(num_samples=6), "without replacement|sample"),
        (WEIGHTS, dict(num_samples=0), "> 0|positive|sample"),
        (x(2, 2, 2, low=0.1), dict(num_samples=1), "1 or 2|dim"),
    ],
    refuses_values=[
        (x(3, low=-2.0, high=-1.0), dict(num_samples=1), "element < 0"),
        (x(2, 2, values=(1.0, 1.0, 0.0, 0.0)), dict(num_samples=1), "sum of probabilities"),
    ],
    bad={"int64": "floating|int64"},
)


def dropped(values, a, p=0.5, training=True):
    if not training or p == 0:
        assert np.array_equal(values, a)
        return
    stays = values != 0
    if p == 1:
        assert not stays.any()
        return
    np.testing.assert_allclose(values[stays], a[stays] / (1 - p), rtol=1e-2)
    laws.counted(stays.astype(int), [p, 1 - p])
    laws.independent(stays.ravel() - (1 - p), p * (1 - p))


op(
    "dropout",
    law=dropped,
    samples=[positive(40, 5), positive(2, 3), positive(), positive(0, 3)],
    options=[dict(p=0.25), dict(p=1.0), dict(p=0.0), dict(training=False)],
    big=[positive(300, 300)],
    view=None,
    elementwise=False,
    refuses=[(x(2), dict(p=1.5), "between 0 and 1")],
)


def channels(f):
    """A law of single elements for one value of each channel, whose elements are alike."""

    def law(values, a, p=0.5, training=True):
        kept = [v.reshape(*v.shape[:2], int(np.prod(v.shape[2:]))) for v in (values, a)]
        if not training or p == 0:
            assert np.array_equal(values, a)
        elif values.size:
            drawn = f(*kept, p)
            assert (drawn == drawn[..., :1]).all(), "a channel is dropped in part"
            laws.counted(drawn[..., 0].astype(int), [p, 1 - p])

    return law


def scaled(values, a, p):
    stays = values != 0
    np.testing.assert_allclose(values[stays], a[stays] / (1 - p) if p < 1 else 0, rtol=1e-2)
    return stays


# The least value of SELU, and what keeps mean and variance of a normal input.
LEAST = -1.0507009873554804934 * 1.6732632423543772848


def alpha_scaled(values, a, p):
    if p == 1:
        assert (values == 0).all()
        return np.zeros(values.shape, bool)
    factor = 1 / np.sqrt((1 - p) * (1 + p * LEAST**2))
    shift = -factor * p * LEAST
    dropped_to, kept_as = factor * LEAST + shift, factor * a + shift
    stays = np.abs(values - kept_as) < np.abs(values - dropped_to)
    np.testing.assert_allclose(values, np.where(stays, kept_as, dropped_to), rtol=2e-2, atol=2e-2)
    return stays


def alpha_dropped(values, a, p=0.5, training=True):
    if not training or p == 0:
        assert np.array_equal(values, a)
    elif values.size:
        laws.counted(alpha_scaled(values, a, p).astype(int), [p, 1 - p])


DROPS = dict(
    options=[dict(p=0.25), dict(p=1.0), dict(p=0.0), dict(training=False)],
    view=None,
    elementwise=False,
    refuses=[(x(2, 3, 4), dict(p=1.5), "between 0 and 1")],
)
op(
    "alpha_dropout",
    law=alpha_dropped,
    samples=[positive(40, 5), positive(2, 3), positive(), positive(0, 3)],
    big=[positive(300, 300)],
    **DROPS,
)
for name, law in [("feature_dropout", scaled), ("feature_alpha_dropout", alpha_scaled)]:
    op(
        name,
        law=channels(law),
        samples=[positive(20, 10, 3), positive(30, 4, 2, 2), positive(0, 3, 2)],
        big=[positive(50, 60, 30)],
        **DROPS,
    )


def gumbel_weights(values, a, tau=1.0, hard=False, dim=-1):
    """Classes are drawn as often as their probabilities say: each row has the greatest of them."""
    assert values.shape == a.shape
    if values.size == 0:
        return
    rows, logits = (np.moveaxis(v, dim, -1).reshape(-1, v.shape[dim]) for v in (values, a))
    np.testing.assert_allclose(rows.sum(-1), 1, rtol=5e-2)
    if hard:
        assert np.isin(np.round(rows, 6), (0, 1)).all()
    if len(rows) > 100:
        chances = special.softmax(logits, -1)
        assert np.ptp(chances, axis=0).max() < 1e-2, "rows have one law"
        laws.counted(rows.argmax(-1), chances.mean(0))


op(
    "gumbel_softmax",
    law=gumbel_weights,
    samples=[x(2, 3, 4), x(0, 4)],
    options=[dict(tau=0.5), dict(dim=0)],
    pairs=[  # a hard sample has the gradient of the soft one, which is not its own
        (x(2000, 4, values=(0.0, 1.0, -1.0, 0.5), grad=False), dict(hard=h)) for h in (True, False)
    ],
    big=[x(300, 300)],
    elementwise=False,
    atol={"float16": 1e-2, "bfloat16": 6e-2},
    bad={"int64": "floating|int64"},
    refuses=[(x(2, 3), dict(dim=2), "[Dd]imension out of range")],
)


def gamma_law(values, alpha):
    laws.follows(values, lambda u: stats.gamma.cdf(u.reshape(alpha.shape), alpha).ravel())


def dirichlet_law(values, alpha):
    shares = np.reshape(values, alpha.shape)
    assert ((shares > 0) & (shares < 1)).all()
    assert np.allclose(shares.sum(-1), 1, atol=1e-6)
    first, rest = alpha[..., 0], alpha[..., 1:].sum(-1)
    laws.follows(shares[..., 0], lambda u: stats.beta.cdf(u, first, rest).ravel())


def poisson_law(values, mean):
    assert np.array_equal(values, np.floor(values)) and (values >= 0).all()
    z = (values - mean).sum() / np.sqrt(max(mean.sum(), 1e-9))
    assert abs(z) < 5, f"the sum is {z} standard deviations from its mean"
    if values.size > 1000:
        spread = ((values - mean) ** 2 / mean).mean()
        assert abs(spread - 1) < 0.15, f"variances are {spread} of what they should be"
        for level in (3.0, 40.0):  # one mean for all: every count as often as its probability says
            same = values[mean == level].astype(int)
            if same.size:
                laws.counted(np.minimum(same, 60), tail(stats.poisson(level).pmf(np.arange(61))))


def tail(p):
    """Probabilities whose last is that of all beyond, too."""
    return [*p[:-1], 1 - p[:-1].sum()]


def binomial_law(values, count, prob):
    assert np.array_equal(values, np.floor(values)) and ((values >= 0) & (values <= count)).all()
    mean, variance = count * prob + 0 * values, count * prob * (1 - prob) + 0 * values
    z = (values - mean).sum() / np.sqrt(max(variance.sum(), 1e-9))
    assert abs(z) < 5, f"the sum is {z} standard deviations from its mean"
    n = int(np.ravel(count)[0]) if np.size(count) else 0
    if values.size > 1000 and np.size(prob) == 1:
        laws.counted(values, stats.binom(n, np.ravel(prob)[0]).pmf(np.arange(n + 1)))


NUMBERED = dict(dtypes=("float32", "float64"), elementwise=False, second=False)
op(
    "standard_gamma",
    law=gamma_law,
    samples=[positive(MANY, low=0.05, high=6.0, grad=False), positive(2, 3), x(0, 3)],
    bad={"int64": "not implemented for"},
    grad=False,
    **NUMBERED,
)
op(
    "sample_dirichlet",
    law=dirichlet_law,
    samples=[
        positive(MANY, 3, low=0.3, high=6.0, grad=False),
        positive(2, 3),
        x(0, 3),
    ],
    bad={"int64": "not implemented for"},
    refuses=[(x(), {}, "at least one dimension")],
    grad=False,
    **NUMBERED,
)
op(
    "poisson",
    law=poisson_law,
    samples=[
        positive(MANY, low=0.5, high=60.0),
        x(MANY, values=(3.0, 40.0)),
        x(2, 3, values=(0.0, 1.0)),
        x(0, 3),
    ],
    bad={"int64": "not implemented for"},
    refuses_values=[(x(2, values=(-1.0, 1.0)), {}, "non-negative")],
    grad=False,
    **NUMBERED,
)
op(
    "binomial",
    law=binomial_law,
    samples=[
        (x(MANY, values=(12.0,)), x(1, values=(0.3,))),
        (x(MANY, values=(90.0,)), x(1, values=(0.75,))),
        (x(2, 3, values=(5.0, 0.0, 1.0)), x(3, values=(0.0, 1.0, 0.5))),
    ],
    big=[(x(MANY, values=(12.0,)), x(1, values=(0.3,)))],
    bad={"int64": "not implemented for"},
    refuses=[((x(2), x(2, dtype="float16")), {}, "floating-point")],
    grad=False,
    **NUMBERED,
)
