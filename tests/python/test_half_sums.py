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
