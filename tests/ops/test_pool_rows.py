"""Greatest values of regular windows, which the host takes by rows: strides, gaps, borders, rows
longer than a block of outputs, NaN and planes of -infinity, against one window at a time.
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
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_windows(case, dtype, channels_last, device):
    rng = np.random.default_rng(3)
    array = np.round(rng.standard_normal((2, 3, 6, 160)), 1)  # with ties
    array[0, 0, 1, 5:9], array[0, 1] = np.nan, -np.inf
    x = torch.tensor(array).to(dtype).to(device)
    if channels_last:
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_()
    y, places = torch.nn.functional.max_pool2d(x, *case, return_indices=True)
    slope = np.round(rng.standard_normal(tuple(y.shape)) * 4)  # sums are exact
    y.backward(torch.tensor(slope).to(dtype).to(device))
    exact = x.detach().cpu().double().numpy()
    for image, channel in np.ndindex(2, 3):
        want = windows(exact[image, channel], slope[image, channel], *case)
        got = [t.detach().cpu()[image, channel].double().numpy() for t in (y, places, x.grad)]
        for g, w in zip(got, want):
            assert np.array_equal(g, w, equal_nan=True)
