"""torch.masked: a reduction of what a mask names is the plain one of those elements alone, of every
dtype that it takes, over every choice of dimensions; a scan or normalization of a row, too."""

import itertools
import math

import pytest

DIMS = (None, (), 0, -1, (0, 2), (1, 0, 2))
FULL = {"var": dict(correction=1), "std": dict(correction=1)}
OVER_SEVERAL = "sum prod amax amin mean var std logsumexp norm".split()
INTS_TOO = ("sum", "prod", "amax", "amin")


def plain(torch, name):
    special = {"norm": torch.linalg.vector_norm, "logsumexp": lambda x: torch.logsumexp(x, 0)}
    return special.get(name, getattr(torch, name, None))


def mask_of(torch, shape, seed=0):
    torch.manual_seed(seed)
    mask = torch.rand(shape) < 0.6
    for d in range(mask.dim()):
        mask.narrow(d, 0, 2)[:] = True  # every row has two elements
    return mask


def by_hand(torch, function, x, mask, dims, keepdim):
    """One plain reduction per place of the result."""
    dims = tuple(range(x.dim())) if dims in (None, ()) else dims
    dims = sorted({d % x.dim() for d in ((dims,) if isinstance(dims, int) else dims)})
    kept = [d for d in range(x.dim()) if d not in dims]
    shape = [x.shape[d] for d in kept]
    flat = x.permute(*kept, *dims).reshape(math.prod(shape), -1)
    named = mask.permute(*kept, *dims).reshape(math.prod(shape), -1)
    found = torch.stack([function(row[k]) for row, k in zip(flat, named)])
    return found.reshape(
        [1 if d in dims else n for d, n in enumerate(x.shape)] if keepdim else shape
    )


@pytest.mark.parametrize("name", OVER_SEVERAL)
def test_a_reduction_sees_what_the_mask_names(torch, name):
    dtypes = (torch.float64, *([torch.int32, torch.int8] if name in INTS_TOO else []))
    call = getattr(torch.masked, name)
    for dtype, dims, keepdim in itertools.product(dtypes, DIMS, (False, True)):
        x = (torch.randn(4, 3, 5) * 3).to(dtype)
        mask = mask_of(torch, x.shape)
        given = {} if dims is None else dict(dim=dims)
        found = call(x, **given, keepdim=keepdim, mask=mask)
        wanted = by_hand(torch, plain(torch, name), x, mask, dims, keepdim)
        assert found.dtype is wanted.dtype and found.shape == wanted.shape
        torch.testing.assert_close(found, wanted)
        everything = call(x, **given, keepdim=keepdim)
        alike = call(x, **given, keepdim=keepdim, mask=torch.ones(5, dtype=torch.bool))
        torch.testing.assert_close(everything, alike)


@pytest.mark.parametrize("name", ["argmax", "argmin", "median"])
def test_a_place_or_middle_is_one_of_what_the_mask_names(torch, name):
    for dtype in (torch.float32, torch.int64, torch.int8):
        x = torch.randperm(60).reshape(4, 15).to(dtype)
        mask = mask_of(torch, x.shape)
        found = getattr(torch.masked, name)(x, 1, mask=mask)
        assert found.dtype is dtype
        for row, k, got in zip(x, mask, found):
            at = getattr(torch, name)(row[k])
            assert got == (at if name == "median" else k.nonzero()[at, 0])


@pytest.mark.parametrize("name", "softmax log_softmax softmin cumsum cumprod normalize".split())
def test_what_is_named_of_a_row_is_as_if_alone(torch, name):
    call, first = getattr(torch.masked, name), (2.0,) if name == "normalize" else ()
    alone = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    x = torch.randn(3, 6, dtype=torch.float64)
    mask = mask_of(torch, x.shape)
    found = call(x, *first, 1, mask=mask)
    for row, k, got in zip(x, mask, found):
        torch.testing.assert_close(got[k], alone(row[k], *first, 0))


def test_rows_without_elements_have_the_neutral_one(torch):
    x, none = torch.ones(2, 3), torch.zeros(3, dtype=torch.bool)
    wanted = dict(sum=0.0, prod=1.0, amax=-math.inf, amin=math.inf, norm=0.0, logsumexp=-math.inf)
    for name, value in wanted.items():
        assert getattr(torch.masked, name)(x, dim=1, mask=none).tolist() == [value] * 2
    for name in ("mean", "var", "std", "median"):
        assert getattr(torch.masked, name)(x, dim=1, mask=none).isnan().all(), name
    assert torch.masked.amax(x.int(), 1, mask=none)[0] == torch.iinfo(torch.int32).min
    assert torch.masked.normalize(x, 2.0, 1, mask=none).count_nonzero() == 0


def test_gradients_reach_what_is_named_alone(torch):
    for name in OVER_SEVERAL:
        x = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
        mask = mask_of(torch, x.shape, 1)
        call = getattr(torch.masked, name)
        call(x, dim=1, mask=mask).sum().backward()
        assert x.grad[~mask].count_nonzero() == 0 and x.grad.isfinite().all()
        assert torch.autograd.gradcheck(lambda x: call(x, dim=1, mask=mask), x)  # noqa: B023


def test_a_sum_of_exponentials_with_masks_of_its_own(torch):
    x, y = torch.randn(4), torch.randn(4)
    a, b = torch.tensor([1, 1, 0, 0]).bool(), torch.tensor([1, 0, 1, 0]).bool()
    found = torch.masked.logaddexp(x, y, input_mask=a, other_mask=b)
    wanted = torch.stack([torch.logaddexp(x, y)[0], x[1], y[2], torch.tensor(-math.inf)])
    torch.testing.assert_close(found, wanted)


def test_bad_arguments(torch):
    x, masked = torch.ones(2, 3), torch.masked
    with pytest.raises(IndexError, match="mask has 2 dimensions"):
        masked.sum(x[0], 0, mask=x > 0)
    with pytest.raises(RuntimeError, match="expand"):
        masked.sum(x, 0, mask=torch.ones(5).bool())
    with pytest.raises(IndexError, match="Dimension out of range"):
        masked.amax(x, 2)
    with pytest.raises(RuntimeError, match="multiple times"):
        masked.mean(x, (0, -2))
    with pytest.raises(ValueError, match="floating point"):
        masked.mean(x.int(), 0)
    with pytest.raises(NotImplementedError):
        masked.amin(x.bool(), 0, mask=x > 0)
    with pytest.raises(ValueError, match="fully masked"):
        masked.median(x.int(), 0, mask=x > 1)
    with pytest.raises(TypeError, match="must be Tensor"):
        masked.sum([1.0])
    with pytest.raises(NotImplementedError, match="masked_tensor is unsupported"):
        masked.masked_tensor(x, x > 0)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "median"])
def test_the_first_of_several_dimensions_is_taken(torch, name):
    call, x = getattr(torch.masked, name), torch.arange(6.0).reshape(2, 3)
    mask = x % 4 != 1
    for dim, first in (((1, 0), 0), ((-1,), 1), (None, 0), ((), 0)):
        assert call(x, dim=dim, mask=mask).equal(call(x, dim=first, mask=mask))


def test_a_median_of_nothing_has_no_integer(torch):
    x, none = torch.arange(4).reshape(2, 2), torch.zeros(2, 2, dtype=torch.bool)
    for dtype in (None, torch.float32):
        with pytest.raises(ValueError, match="fully masked out"):
            torch.masked.median(x, dim=1, dtype=dtype, mask=none)


def test_what_torch_takes_without_a_mask(torch):
    x = torch.tensor([[4.0, 5.0, math.nan], [1.0, 3.0, 2.0]])
    assert torch.masked.median(x, 1).tolist() == [4.0, 2.0]
    soft = torch.masked.softmax(x[1:], (0, 1))
    assert soft.equal(torch.softmax(x[1:], 0)) and soft.equal(torch.masked.softmax(x[1:], None))
