"""Resizing of lines longer than a register, which the host makes by registers: sizes around one and
several, both layouts, strides, what lies beside a line, and the gradient, against matrices.
"""

import flambeau as torch
import numpy as np
import pytest

from tests.harness import images

# Widths whose elements begin near each other, up to two apart, and farther.
SIZES = [
    ((5, 8), (10, 16)),
    ((6, 33), (4, 70)),
    ((7, 70), (14, 35)),
    ((4, 67), (9, 20)),
    ((3, 40), (3, 400)),
]
MODES = [
    dict(mode="nearest"),
    dict(mode="bilinear"),
    dict(mode="bicubic", align_corners=True),
    dict(mode="bilinear", antialias=True),
]
CLOSE = {torch.float32: 2e-6, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def laid(array, dtype, device, layout):
    x = torch.tensor(array).to(dtype).to(device)
    if layout == "channels last":
        return x.to(memory_format=torch.channels_last)
    if layout == "every second":
        wide = torch.zeros(*x.shape[:3], 2 * x.shape[3], dtype=dtype, device=device)
        wide[..., ::2] = x
        return wide[..., ::2]
    return x


@pytest.mark.parametrize("layout", ["dense", "channels last", "every second"])
@pytest.mark.parametrize("dtype", CLOSE, ids=str)
@pytest.mark.parametrize("channels", [1, 3, 20])
@pytest.mark.parametrize("option", MODES, ids=str)
def test_lines(option, channels, dtype, layout, device):
    rng = np.random.default_rng(5)
    for sizes, out in SIZES:
        array = torch.tensor(rng.standard_normal((2, channels, *sizes))).to(dtype).double().numpy()
        x = laid(array, dtype, device, layout).detach().requires_grad_()
        y = torch.nn.functional.interpolate(x, out, **option)
        want = images.interpolate(array, out, **option)
        close = CLOSE[dtype] * 8
        assert np.allclose(y.detach().cpu().double().numpy(), want, close, close)
        slope = rng.standard_normal(y.shape)
        y.backward(torch.tensor(slope).to(dtype).to(device))
        # The gradient of a linear map: both have one product.
        got = (x.grad.cpu().double().numpy() * array).sum()
        rounded = torch.tensor(slope).to(dtype).double().numpy()
        size = np.abs(want * rounded).sum()
        assert abs(got - (want * rounded).sum()) <= 4 * CLOSE[dtype] * size


@pytest.mark.parametrize("channels_last", [False, True])
def test_only_what_an_element_is_made_of_reaches_it(channels_last, device):
    array = np.random.default_rng(6).standard_normal((1, 3, 9, 40))
    spoiled = array.copy()
    spoiled[:, :, 4, 20], spoiled[:, 1, 8, 39] = np.nan, np.inf
    x, bad = (torch.tensor(a).float().to(device) for a in (array, spoiled))
    if channels_last:
        x, bad = (t.to(memory_format=torch.channels_last) for t in (x, bad))
    for out in ((18, 80), (6, 30)):
        y, other = (torch.nn.functional.interpolate(t, out, mode="bilinear") for t in (x, bad))
        y, other = y.cpu().numpy(), other.cpu().numpy()
        touched = images.interpolate((~np.isfinite(spoiled)) * 1.0, out, mode="bilinear") != 0
        assert touched.any() and np.array_equal(y[~touched], other[~touched])
        assert not np.isfinite(other[touched]).any()


def test_bits_do_not_depend_on_threads(device):
    x = torch.randn(2, 5, 61, 47).to(device)
    before = torch.get_num_threads()
    found = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        found.append(torch.nn.functional.interpolate(x, (200, 150), mode="bicubic").cpu().numpy())
    torch.set_num_threads(before)
    assert np.array_equal(*found)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32], ids=str)
def test_nearest_takes_elements_as_they_are(dtype, device):
    x = torch.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7).to(dtype).to(device)
    if dtype == torch.float32:
        x[0, 0, 0, 0] = -0.0
    y = torch.nn.functional.interpolate(x, (11, 40)).cpu().numpy()
    rows, columns = np.arange(11) * 5 // 11, np.arange(40) * 7 // 40
    want = x.cpu().numpy()[:, :, rows][..., columns]
    assert np.array_equal(y, want) and np.array_equal(np.signbit(y), np.signbit(want))


@pytest.mark.parametrize("option", [m for m in MODES if m["mode"] != "nearest"], ids=str)
@pytest.mark.parametrize("channels", [3, 20])
def test_bytes_are_resized_as_integers(option, channels, device):
    rng = np.random.default_rng(8)
    for sizes, out in SIZES:
        array = rng.integers(0, 256, (2, channels, *sizes))
        x = torch.tensor(array).to(torch.uint8).to(device)
        if channels == 20:
            x = x.to(memory_format=torch.channels_last)
        y = torch.nn.functional.interpolate(x, out, **option).cpu().numpy()
        align, smooth = option.get("align_corners"), option.get("antialias", False)
        for axis in (3, 2):
            n, m = array.shape[axis], out[axis - 2]
            weights = images.resampled(n, m, option["mode"], align, n / m, smooth)
            digits = 0
            while digits < 22 and np.floor(0.5 + weights.max() * 2 ** (digits + 1)) < 2**15:
                digits += 1
            whole = np.trunc(weights * 2**digits + np.copysign(0.5, weights)).astype(np.int64)
            sums = np.moveaxis(np.tensordot(array, whole, (axis, 1)), -1, axis)
            array = np.clip((sums + 2 ** (digits - 1)) >> digits, 0, 255)
        assert np.array_equal(y, array)
