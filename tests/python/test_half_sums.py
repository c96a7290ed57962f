"""Half types add up in f32 and round once: 2,049 is no number of float16, nor 257 of bfloat16, so
that whoever counts in them stops there. Every function that adds up many elements is here.
"""

import pytest

N = 5000


def at_zero(torch, x):
    return torch.zeros(N, dtype=torch.int64, device=x.device)


def slope(torch, f, x):
    x = x.requires_grad_()
    f(x).sum().backward()
    return x.grad


# Each makes of N ones a number near N, or near 1 where it divides.
ADDS = {
    "sum": lambda torch, x: x.sum(),
    "nansum": lambda torch, x: x.nansum(),
    "mean": lambda torch, x: x.mean(),
    "mean of a dim": lambda torch, x: x[:, None].expand(N, 3).mean(0),
    "cumsum": lambda torch, x: x.cumsum(0),
    "norm": lambda torch, x: torch.linalg.vector_norm(x, 1),
    "logsumexp": lambda torch, x: (x - 1).logsumexp(0),
    "softmax": lambda torch, x: x.softmax(0) * N,
    "dot": lambda torch, x: x.dot(x),
    "mv": lambda torch, x: x[None].mv(x),
    "mm": lambda torch, x: x[None] @ x[:, None],
    "einsum": lambda torch, x: torch.einsum("i,i->", x, x),
    "trapezoid": lambda torch, x: torch.trapezoid(x),
    "scatter_add": lambda torch, x: x[:2].scatter_add(0, at_zero(torch, x), x),
    "scatter_reduce": lambda torch, x: x[:2].scatter_reduce(0, at_zero(torch, x), x, "sum"),
    "scatter mean": lambda torch, x: x[:2].scatter_reduce(0, at_zero(torch, x), x, "mean"),
    "index_add": lambda torch, x: x[:2].index_add(0, at_zero(torch, x), x),
    "index_reduce": lambda torch, x: x[:2].index_reduce(0, at_zero(torch, x), x, "mean"),
    "index_put": lambda torch, x: x[:2].index_put((at_zero(torch, x),), x, accumulate=True),
    "put": lambda torch, x: x[:2].put(at_zero(torch, x), x, accumulate=True),
    "segment sum": lambda torch, x: torch.segment_reduce(
        x, "sum", lengths=at_zero(torch, x)[:1] + N
    ),
    "segment mean": lambda torch, x: torch.segment_reduce(
        x, "mean", lengths=at_zero(torch, x)[:1] + N
    ),
    "histc": lambda torch, x: x.histc(2, 0, 3),
    "histogram": lambda torch, x: x.histogram(2, range=(0.0, 3.0))[0],
    "bincount": lambda torch, x: at_zero(torch, x).bincount(x),
    "slope of an index": lambda torch, x: slope(torch, lambda t: t[at_zero(torch, x)], x[:2] * 1),
    "slope of gather": lambda torch, x: slope(
        torch, lambda t: t.gather(0, at_zero(torch, x)), x[:2] * 1
    ),
    "slope of expand": lambda torch, x: slope(torch, lambda t: t.expand(N), x[:1] * 1),
    "slope of embedding": lambda torch, x: slope(
        torch,
        lambda t: torch.nn.functional.embedding(at_zero(torch, x), t),
        x[:2, None] * 1,
    ),
    "embedding_bag": lambda torch, x: torch.nn.functional.embedding_bag(
        at_zero(torch, x)[None], x[:2, None], mode="sum"
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ADDS)
def test_halves_add_up_in_float32(torch, device, name, dtype):
    half, ones = getattr(torch, dtype), torch.ones(N, device=device)
    found = ADDS[name](torch, ones.to(half))
    wide = ADDS[name](torch, ones)
    assert torch.allclose(found.double(), wide.to(found.dtype).double(), rtol=1e-2)


LARGE = 100 * 64  # elements of which few are written to
REPEATS = 40
ROWS = 6


def few(torch, dtype, device):
    """A large tensor of ones, places of which some come often, and what each of them gets: less
    than half of what the next number is away."""
    large = torch.ones(LARGE, ROWS, dtype=dtype, device=device)
    at = torch.tensor([7] * REPEATS + [3, 9, -1 % LARGE, 3], device=device)
    small = torch.full((len(at), ROWS), torch.finfo(dtype).eps / 4, dtype=dtype, device=device)
    return large, at, small


def columns(at):
    return at[:, None].expand(len(at), ROWS)


# Additions to few places of a large tensor; each makes of (large, at, small) what adds up exactly.
FEW = {
    "index_add": lambda torch, x, at, v: x.index_add(0, at, v),
    "index_add of lines": lambda torch, x, at, v: x.t().contiguous().index_add(1, at, v.t()).t(),
    "index_add of a row": lambda torch, x, at, v: x[:, 0].contiguous().index_add(0, at, v[:, 0]),
    "scatter_add": lambda torch, x, at, v: x.scatter_add(0, columns(at), v),
    "scatter_add of a row": lambda torch, x, at, v: x[:, 0]
    .contiguous()
    .scatter_add(0, at, v[:, 0]),
    "scatter_reduce": lambda torch, x, at, v: x.scatter_reduce(0, columns(at), v, "sum"),
    "index_put": lambda torch, x, at, v: x.index_put((at,), v, accumulate=True),
    "index_put of elements": lambda torch, x, at, v: x.index_put(
        (at, at % ROWS), v[:, 0], accumulate=True
    ),
    "index_put of one number": lambda torch, x, at, v: x.index_put((at,), v[0, 0], accumulate=True),
    "put": lambda torch, x, at, v: x.put(at, v[:, 0], accumulate=True),
    "not dense": lambda torch, x, at, v: x[:, ::2].index_add(0, at, v[:, ::2]),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FEW)
def test_few_additions_to_a_large_tensor_are_rounded_once(torch, device, name, dtype):
    if device != "cpu":
        pytest.skip("devices add atomically, as PyTorch's do")
    x, at, v = few(torch, getattr(torch, dtype), device)
    found = FEW[name](torch, x, at, v)
    wide = FEW[name](torch, x.double(), at, v.double())
    assert torch.equal(found, wide.to(found.dtype))
    assert (found != 1).any()


SLOPES = {
    "index": lambda torch, x, at: x[at],
    "gather": lambda torch, x, at: x.gather(0, columns(at)),
    "index_select": lambda torch, x, at: x.index_select(0, at),
    "embedding": lambda torch, x, at: torch.nn.functional.embedding(at, x),
    "take": lambda torch, x, at: x.take(at),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes_of_few_places_of_a_large_tensor(torch, device, name, dtype):
    if device != "cpu":
        pytest.skip("devices add atomically, as PyTorch's do")
    x = torch.ones(200_000, ROWS, dtype=getattr(torch, dtype), device=device)
    at = torch.full((3000,), 7, device=device)
    found = slope(torch, lambda t: SLOPES[name](torch, t, at), x)
    assert found.max() == torch.tensor(3000.0).to(found.dtype)


# Along the last dimension, which is widened row by row; each makes of x, places and values the sum.
ROWWISE = {
    "scatter_add": lambda torch, x, at, v: x.scatter_add(-1, at, v),
    "scatter_add of fewer": lambda torch, x, at, v: x.scatter_add(-1, at[:, 3:41], v),
    "scatter_add_ of a part": lambda torch, x, at, v: x.clone()[:, 7:].scatter_add_(-1, at, v),
    "values not dense": lambda torch, x, at, v: x.scatter_add(-1, at, v.mT.contiguous().mT),
    "places not dense": lambda torch, x, at, v: x.scatter_add(-1, at.mT.contiguous().mT, v),
    "product": lambda torch, x, at, v: x.scatter_reduce(-1, at, v * 64, "prod"),
    "three dimensions": lambda torch, x, at, v: x[:, None]
    .expand(-1, 2, -1)
    .scatter_add(-1, at[:, None].expand(-1, 2, -1), v[:, None].expand(-1, 2, -1)),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ROWWISE)
def test_what_meets_within_a_row_is_rounded_once(torch, device, name, dtype):
    if device != "cpu":
        pytest.skip("devices add atomically, as PyTorch's do")
    half = getattr(torch, dtype)
    torch.manual_seed(3)
    x, v = torch.rand(17, 90, device=device).to(half), torch.rand(17, 700, device=device) / 64
    at, v = torch.randint(0, 83, (17, 700), device=device), v.to(half)
    found = ROWWISE[name](torch, x, at, v)
    wide = ROWWISE[name](torch, x.float(), at, v.float())
    assert torch.equal(found, wide.to(half))


@pytest.mark.parametrize("at", [90, -1])
def test_a_place_beyond_a_row_is_an_error_that_changes_nothing(torch, device, at):
    if device != "cpu":
        pytest.skip("devices report an index at the next wait")
    x, places = torch.ones(3, 90, device=device).bfloat16(), torch.zeros(3, 600).long()
    places[2, 599] = at
    with pytest.raises((IndexError, RuntimeError), match=f"index {at} is out of bounds"):
        x.scatter_add_(1, places, torch.ones(3, 600).bfloat16())
    assert (x == 1).all()
