"""Windows, which the host takes by rows: strides, gaps, borders, rows longer than a block of
outputs; for greatest values also NaN and planes of -infinity. Against one window at a time.
"""

import flambeau as torch
import numpy as np
import pytest

CASES = [(1, 1, 0, 1), (2, 2, 0, 1), (2, 2, 1, 1), (3, 1, 1, 1), (3, 2, 1, 2), (3, 3, 0, 1)]


def windows(x, dy, kernel, stride, padding, dilation):
    """Values, places and the gradient of one plane."""
    rows, columns = x.shape
    n = [(s + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for s in x.shape]
    y, place, dx = np.zeros(n), np.zeros(n, np.int64), np.zeros(x.size)
    for i, j in np.ndindex(*n):
        best = None
        for a in range(i * stride - padding, i * stride - padding + kernel * dilation, dilation):
            for b in range(
                j * stride - padding, j * stride - padding + kernel * dilation, dilation
            ):
                inside = 0 <= a < rows and 0 <= b < columns
                if inside and (best is None or x[a, b] > best[0] or np.isnan(x[a, b])):
                    best = x[a, b], a * columns + b
        y[i, j], place[i, j] = best
        dx[best[1]] += dy[i, j]
    return y, place, dx.reshape(x.shape)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3, 6, 160), (1, 20, 4, 21)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_windows(case, dtype, sizes, channels_last, device):
    rng = np.random.default_rng(3)
    array = np.round(rng.standard_normal(sizes), 1)  # with ties
    array[0, 0, 1, 5:9], array[0, 1] = np.nan, -np.inf
    x = torch.tensor(array).to(dtype).to(device)
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_()
    y, places = torch.nn.functional.max_pool2d(x, *case, return_indices=True)
    slope = np.round(rng.standard_normal(tuple(y.shape)) * 4)  # sums are exact
    y.backward(torch.tensor(slope).to(dtype).to(device))
    exact = x.detach().cpu().double().numpy()
    alone = torch.nn.functional.max_pool2d(x.detach(), *case)  # no places, no gradient
    assert np.array_equal(alone.cpu().numpy(), y.detach().cpu().numpy(), equal_nan=True)
    for image, channel in np.ndindex(*sizes[:2]):
        want = windows(exact[image, channel], slope[image, channel], *case)
        got = [t.detach().cpu()[image, channel].double().numpy() for t in (y, places, x.grad)]
        for g, w in zip(got, want):
            assert np.array_equal(g, w, equal_nan=True)


AVERAGES = [
    dict(kernel_size=2),
    dict(kernel_size=3, stride=1, padding=1),
    dict(kernel_size=3, stride=2, padding=1, count_include_pad=False, ceil_mode=True),
    dict(kernel_size=(2, 5), stride=(3, 7)),  # elements in no window
    dict(kernel_size=(1, 4), stride=(1, 3), padding=(0, 2), divisor_override=-8),
]


def averages(x, dy, kernel_size, stride=None, padding=0, ceil_mode=False, **counting):
    """Averages and the gradient of one plane."""
    kernel, stride, padding = (
        v if isinstance(v, tuple) else (v, v) for v in (kernel_size, stride or kernel_size, padding)
    )
    y, dx = np.zeros(dy.shape), np.zeros(x.shape)
    for at in np.ndindex(*dy.shape):
        begin = [o * s - p for o, s, p in zip(at, stride, padding)]
        end = [min(b + k, n + p) for b, k, n, p in zip(begin, kernel, x.shape, padding)]
        inside = tuple(slice(max(b, 0), min(e, n)) for b, e, n in zip(begin, end, x.shape))
        count = np.prod([e - b for b, e in zip(begin, end)])
        if not counting.get("count_include_pad", True):
            count = x[inside].size
        count = counting.get("divisor_override", count)
        y[at] = x[inside].sum() / count
        dx[inside] += dy[at] / count
    return y, dx


@pytest.mark.parametrize("channels", [3, 20])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("case", AVERAGES, ids=str)
def test_averages(case, dtype, channels_last, channels, device):
    rng = np.random.default_rng(4)
    x = torch.tensor(rng.standard_normal((2, channels, 7, 83))).to(dtype).to(device)
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_()
    y = torch.nn.functional.avg_pool2d(x, **case)
    slope = torch.tensor(rng.standard_normal(tuple(y.shape))).to(dtype)
    y.backward(slope.to(device))
    x, y, dx, dy = (t.detach().cpu().double().numpy() for t in (x, y, x.grad, slope))
    close = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3}[dtype]
    for plane in np.ndindex(2, channels):
        for got, want in zip((y[plane], dx[plane]), averages(x[plane], dy[plane], **case)):
            assert np.allclose(got, want, close, close)
