"""A program's number beside a half type: arithmetic takes it in float32 and rounds the result once,
and so do gradients; what chooses or compares, powers and remainders round it to the tensor's dtype
first, as PyTorch's do. References are float64's, rounded once or through float32."""

import math
from fractions import Fraction

import flambeau as torch
import numpy as np
import pytest

# Digits, the exponent of the least number, the greatest number.
DTYPES = {"float16": (11, -24, 65504.0), "bfloat16": (8, -133, 3.3895313892515355e38)}
# Such as a half type rounds far, has no place for, or holds as they are.
NUMBERS = [0.1, 0.3, -1 / 3, 1e-3, 3.14159, 1e-8, 65505.0, 1e5, 2049, -4097, 100_003, 2**31 + 3]
NUMBERS += [2, 0.5, 1, 0.0, math.inf, math.nan]
PARTS = [0.0, 1, 0.1, 1 / 3, 7.5, 1000, 2049, 40_000, 6e-5, 1e-6, math.nan, math.inf]
ALPHA = 0.3


def points(dtype, device, only_finite=False):
    random = np.random.default_rng(0)
    some = [random.uniform(-w, w, 60) for w in (1, 10, 1000)]
    x = np.concatenate([PARTS, np.negative(PARTS), *some])
    x = x[np.isfinite(x)] if only_finite else x
    return torch.tensor(x).to(device, getattr(torch, dtype))


def exact(t):
    return t.detach().cpu().to(torch.float64).numpy()


def in_float(x):
    return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)


def rounded(x, dtype):
    """The nearest numbers of a half type."""
    digits, least, greatest = DTYPES[dtype]
    quantum = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - digits, least))
    near = np.rint(x / quantum) * quantum
    near = np.where(np.abs(near) > greatest, np.copysign(np.inf, near), near)
    return np.where(np.isfinite(x), near, x)


def alike(a, b):
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def results(wanted, dtype):
    return [rounded(w, dtype) for exactly in wanted for w in (exactly, in_float(exactly))]


def check(got, wanted, dtype, about):
    """Every element is one of the wanted, rounded."""
    assert got.dtype == getattr(torch, dtype)
    got = exact(got)
    right = np.logical_or.reduce([alike(got, w) for w in results(wanted, dtype)])
    assert right.all(), (about, np.flatnonzero(~right)[:5], got[~right][:5])


# ---- references: of the elements, and of a number in float32 ------------------------------------


def plus(x, product, factor):
    """x + product * factor, whose product is rounded or is not."""
    return [x + in_float(product * factor), x + product * factor]


def truncated(x, n):
    return [np.trunc(in_float(x / n))]


def floored(x, n):
    """As Python's; of numbers that it would round, by fractions."""
    if n == 0:
        return [x / n]
    if not math.isfinite(n):
        return [np.array([v // n for v in x])]
    whole = [math.floor(Fraction(v) / Fraction(float(n))) for v in x]
    return [np.array([float(w) if w else math.copysign(0, v / n) for w, v in zip(whole, x)])]


def between(x, n):
    to, far = x[::-1], abs(n) >= 0.5
    apart = in_float(to - x)
    return plus(to, -apart, in_float(1 - n)) if far else plus(x, apart, n)


def plus_product(x, n):
    return plus(x, in_float(n * x[::-1]), x)


def plus_quotient(x, n):
    return [x + in_float(in_float(n * x[::-1]) / x)]


# ---- the operations, in all their forms ---------------------------------------------------------


def copied(method):
    return lambda x, n: getattr(x.clone(), method)(n)


def into(op):
    return lambda x, n: op(x, n, out=torch.empty_like(x))


def each(method):
    return lambda x, n: getattr(torch, f"_foreach_{method}")([x], n)[0]


def forms(method, in_place=True):
    op = getattr(torch, method)
    return [op, copied(f"{method}_"), into(op), each(method)]


def rounding(mode):
    def divided(x, n):
        return torch.div(x, n, rounding_mode=mode)

    return [divided, lambda x, n: x.clone().div_(n, rounding_mode=mode)]


ROWS = {
    "mul": ([lambda x, n: x * n, lambda x, n: n * x, *forms("mul")], lambda x, n: [x * n]),
    "div": ([lambda x, n: x / n, *forms("div")], lambda x, n: [x / n]),
    "rdiv": ([lambda x, n: n / x], lambda x, n: [n / x]),
    "div trunc": (rounding("trunc"), truncated),
    "div floor": ([lambda x, n: x // n, torch.floor_divide, *rounding("floor")], floored),
    "add": ([lambda x, n: x + n, lambda x, n: n + x, *forms("add")], lambda x, n: [x + n]),
    "sub": ([lambda x, n: x - n, *forms("sub")], lambda x, n: [x - n]),
    "rsub": ([lambda x, n: n - x, torch.rsub], lambda x, n: [n - x]),
    "add alpha": (
        [
            lambda x, n: torch.add(x, n, alpha=ALPHA),
            lambda x, n: x.clone().add_(n, alpha=ALPHA),
        ],
        lambda x, n: plus(x, ALPHA, n),
    ),
    "rsub alpha": (
        [lambda x, n: torch.rsub(x, n, alpha=ALPHA)],
        lambda x, n: plus(n, in_float(-ALPHA), x),
    ),
    "alpha": (
        [
            lambda x, n: torch.add(x, x.flip(0), alpha=n),
            lambda x, n: torch.sub(x, x.flip(0), alpha=-n),
            lambda x, n: torch.rsub(x.flip(0), x, alpha=-n),
            lambda x, n: torch._foreach_add([x], [x.flip(0)], alpha=n)[0],
        ],
        lambda x, n: plus(x, n, x[::-1]),
    ),
    "lerp": (
        [
            lambda x, n: torch.lerp(x, x.flip(0), n),
            lambda x, n: x.clone().lerp_(x.flip(0), n),
            lambda x, n: torch._foreach_lerp([x], [x.flip(0)], n)[0],
        ],
        between,
    ),
    "addcmul": ([lambda x, n: torch.addcmul(x, x.flip(0), x, value=n)], plus_product),
    "addcdiv": ([lambda x, n: torch.addcdiv(x, x.flip(0), x, value=n)], plus_quotient),
}


def shows(reference, x, n, dtype):
    """Whether the results would be others if the number were rounded first."""
    first = [results(reference(x, v), dtype) for v in (in_float(n), rounded(in_float(n), dtype))]
    return any((~alike(a, b)).any() for a, b in zip(*first))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_arithmetic_takes_a_number_in_float(name, dtype, device):
    calls, reference = ROWS[name]
    x = points(dtype, device, only_finite=name == "div floor")
    seen = 0
    with np.errstate(all="ignore"):
        for n in NUMBERS:
            wanted = reference(exact(x), in_float(n))
            for i, call in enumerate(calls):
                check(call(x, n), wanted, dtype, (n, i))
            seen += shows(reference, exact(x), n, dtype)
    assert seen >= 5


GRADIENTS = {
    "mul": (lambda t, n: t * n, lambda dy, n: dy * in_float(n)),
    "mul_": (lambda t, n: t.clone().mul_(n), lambda dy, n: dy * in_float(n)),
    "div": (lambda t, n: t / n, lambda dy, n: dy / in_float(n)),
    "add": (lambda t, n: torch.add(t.detach(), t, alpha=n), lambda dy, n: dy * in_float(n)),
    "sub": (lambda t, n: torch.sub(t.detach(), t, alpha=n), lambda dy, n: dy * in_float(-n)),
    "rsub": (lambda t, n: torch.rsub(t, t.detach(), alpha=n), lambda dy, n: dy * in_float(-n)),
    "lerp from": (lambda t, n: torch.lerp(t, t.detach(), n), lambda dy, n: dy * in_float(1 - n)),
    "lerp to": (lambda t, n: torch.lerp(t.detach(), t, n), lambda dy, n: dy * in_float(n)),
    "addcmul": (
        lambda t, n: torch.addcmul(t.detach(), t, torch.ones_like(t), value=n),
        lambda dy, n: dy * in_float(n),
    ),
    "addcdiv": (
        lambda t, n: torch.addcdiv(t.detach(), t, torch.ones_like(t), value=n),
        lambda dy, n: dy * in_float(n),
    ),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_take_a_number_in_float(name, dtype, device):
    call, slope = GRADIENTS[name]
    x, seen = points(dtype, device, only_finite=True), 0
    dy = x.flip(0)
    with np.errstate(all="ignore"):
        for n in (0.1, 0.3, -1 / 3, 3.14159, 2049, 100_003):
            t = x.clone().requires_grad_()
            call(t, n).backward(dy)
            check(t.grad, [slope(exact(dy), n)], dtype, n)
            seen += shows(lambda dy, v: [slope(dy, float(v))], exact(dy), n, dtype)
    assert seen >= 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gradient_of_a_number_s_power_takes_its_logarithm_in_float(dtype, device):
    for n in (0.1, 1 / 3, 3.14159):
        t = torch.zeros(3, dtype=getattr(torch, dtype), device=device).requires_grad_()
        (n**t).backward(torch.ones_like(t))
        check(t.grad, [np.full(3, in_float(math.log(n)))], dtype, n)


ROUNDED = {
    "pow": torch.pow,
    "rpow": lambda x, n: n**x,
    "remainder": lambda x, n: x % n,
    "rremainder": lambda x, n: torch.remainder(n, x),
    "rfloor_divide": lambda x, n: n // x,
    "fmod": torch.fmod,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "clamp_min": torch.clamp_min,
    "clamp_max": torch.clamp_max,
    "where": lambda x, n: torch.where(x > 0, x, n),
    "xlogy": torch.xlogy,
    "copysign": torch.copysign,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROUNDED)
def test_what_chooses_or_compares_rounds_a_number_first(name, dtype, device):
    apart = (2, 0.5) if name == "pow" else ()  # which are other functions
    for n in (n for n in NUMBERS if math.isfinite(n) and n not in apart):
        x = points(dtype, device)
        x[0] = stored = torch.full_like(x, 0)[0] + rounded(in_float(n), dtype).item()
        got, wanted = (exact(ROUNDED[name](x, v)) for v in (n, stored.expand(x.shape)))
        assert np.array_equal(got, wanted, equal_nan=True), n


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_of_one_number_on_the_cpu_is_taken_alike(dtype, device):
    x = points(dtype, device, only_finite=True)
    for n in (0.1, 1e5, 2049):
        for held in (torch.tensor(n), torch.tensor(n, dtype=torch.float64)):
            assert torch.equal(x * held, x * n) and torch.equal(held * x, x * n)
            assert torch.equal(x + held, x + n) and torch.equal(held - x, n - x)
            assert torch.equal(x / held, x / n) and torch.equal(x // held, x // n)
        t, factor = x.clone().requires_grad_(), torch.tensor(float(n)).requires_grad_()
        (t * factor).backward(torch.ones_like(x))
        check(t.grad, [np.full(t.shape, in_float(n))], dtype, n)
        assert factor.grad.dtype == torch.float32 and factor.grad.shape == ()
        assert factor.grad.device == factor.device
    whole = torch.arange(9, device=device)
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        assert torch.equal(whole * 0.3, whole.to(getattr(torch, dtype)) * 0.3)
        assert torch.equal(torch.tensor(3) / 0.1, torch.tensor(3.0) / torch.tensor(0.1))
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_was_stored_is_found(dtype, device):
    for n in NUMBERS[:12]:
        x = torch.zeros(5, device=device).to(getattr(torch, dtype)).add_(n)
        assert (x == n).all() and (x >= n).all() and not (x < n).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_element_casts_and_mapped_functions_have_the_same_bits(dtype, device):
    x = points(dtype, device, only_finite=True)

    def of(t):
        return (t * 0.3 + 0.1 - 1 / 3) / 3.14159

    wanted = of(x)
    kind = "cuda" if device.startswith("cuda") else "cpu"
    with torch.autocast(kind, dtype=torch.bfloat16):
        assert torch.equal(of(x), wanted)
    assert torch.equal(torch.func.vmap(of)(x), wanted)
    assert all(torch.equal(of(x[i]), wanted[i]) for i in range(0, len(x), 7))
    strided = torch.stack([x, x])[:, ::3]
    assert torch.equal(of(strided), torch.stack([wanted, wanted])[:, ::3])
