"""Elementwise operations on operands larger than one block of the host's loops, in every way that
they can lie in memory; exact arithmetic, so that the results are NumPy's bit by bit.
"""

import flambeau as torch
import numpy as np
import pytest

# Shapes whose innermost runs are short, around a block's length, and long.
SHAPES = [
    (1, 1),
    (1500, 3),
    (60, 5, 17),
    (9, 127),
    (33, 128),
    (9, 1024),
    (5, 1025),
    (3, 5000),
    (40_000,),
]


def dense(shape, start):
    return (
        np.arange(start, start + int(np.prod(shape)), dtype=np.float64).reshape(shape) % 251 - 100
    )


def layouts(shape):
    """Name and array for every way to lie under a shape."""
    wide = dense((*shape[:-1], 2 * shape[-1]), 3)
    outer = dense((2 * shape[0], *shape[1:]), 4)
    yield "dense", dense(shape, 1)
    yield "every other column", wide[..., ::2]
    yield "first half of the columns", wide[..., : shape[-1]]
    yield "every other row", outer[::2]
    yield "transposed", dense(shape[::-1], 5).T
    yield "one row", dense(shape[-1:], 6)
    yield "one column", dense((*shape[:-1], 1), 7)
    yield "one element", dense((1,), 8)


def on(device, array, dtype):
    """The array as a tensor of its own strides."""
    tensor = torch.tensor(np.ascontiguousarray(array.base if array.base is not None else array))
    tensor = tensor.to(dtype).to(device)
    if array.base is None:
        return tensor
    base = array.base.ravel()
    offset = (array.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // 8
    return tensor.as_strided(array.shape, [s // 8 for s in array.strides], offset)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.uint8])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sum_of_two(shape, dtype, device):
    whole = {torch.uint8: 256}.get(dtype)
    for name, a in layouts(shape):
        for other, b in layouts(shape):
            want = np.broadcast_to(a + b, np.broadcast_shapes(a.shape, b.shape))
            x, y = on(device, a % 200 if whole else a, dtype), on(device, b, torch.int64).to(dtype)
            want = (a % 200 + b) % whole if whole else want
            got = (x + y).cpu().double().numpy()
            assert np.array_equal(got, want), f"{name} and {other}"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_conversion_and_view_written(shape, device):
    for name, a in layouts(shape):
        x = on(device, a, torch.bfloat16 if a.size % 2 else torch.float32)
        for dtype in (torch.float16, torch.float32, torch.float64, torch.int32):
            assert np.array_equal(x.to(dtype).cpu().double().numpy(), a), name
            if a.size < np.prod(shape):
                continue
            view = on(device, a, dtype).zero_()
            view.copy_(x)
            assert np.array_equal(view.cpu().double().numpy(), a), name
            view.neg_()
            assert np.array_equal(view.cpu().double().numpy(), -a), name


def test_threads_do_not_change_bits(device):
    x = torch.linspace(-9, 9, 300_000).to(device).reshape(1000, 300)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append((x.t().half() * x[:1].reshape(300, 1)).erf().cpu().float().numpy())
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*results)
