"""torch.testing: what counts as close, and how a difference is reported."""

import math

import pytest


def report(torch, *arguments, **options):
    with pytest.raises(AssertionError) as caught:
        torch.testing.assert_close(*arguments, **options)
    return str(caught.value)


def test_close(torch, device):
    x = torch.tensor([1.0, 2.0], device=device)
    torch.testing.assert_close(x, x + 1e-6)
    torch.testing.assert_close(x, x + 0.5, rtol=0, atol=1)
    torch.testing.assert_close({"a": [x, 1, None]}, {"a": (x, 1, None)})
    torch.testing.assert_close(x, x.double(), check_dtype=False)
    nan = torch.tensor([float("nan")])
    torch.testing.assert_close(nan, nan, equal_nan=True)
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose(x.cpu(), x.tolist())


def test_reports(torch):
    t = torch.tensor
    assert report(torch, t([1.0, 2.0]), t([1.0, 2.5])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)"
    )
    assert report(torch, [t(1), t(2)], [t(1), t(3)]) == (
        "Scalars are not equal!\n\nExpected 3 but got 2.\nAbsolute difference: 1\n"
        "Relative difference: 0.3333333333333333\n\nThe failure occurred for item [1]"
    )
    assert "Tensor-likes are not equal!" in report(torch, t([2**60 + 1]), t([2**60]))
    assert report(torch, t([1.0]), t([1.0, 2.0])) == (
        "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2])."
    )
    assert "'dtype' do not match" in report(torch, t([1.0]), t([1]))
    assert report(torch, True, False) == "Booleans mismatch: True is not False"
    assert report(torch, {"a": 1}, {"b": 1}).startswith("The keys of the mappings do not match")
    assert report(torch, [1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert report(torch, 1.0, 2.0, msg=lambda text: "so: " + text[:7]) == "so: Scalars"


def test_what_cannot_be_compared(torch):
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        torch.testing.assert_close(torch.ones(1), [1.0])
    with pytest.raises(ValueError, match="but got no atol"):
        torch.testing.assert_close(1.0, 1.0, rtol=0.1)


def test_make_tensor(torch, device):
    make = torch.testing.make_tensor
    x = make((20, 30), dtype=torch.float32, device=device)
    assert x.shape == (20, 30) and -9 <= x.min() < -7 and 7 < x.max() <= 9
    x = make(50, 3, dtype=torch.int64, device=device, low=-1, high=2, exclude_zero=True)
    assert set(x.flatten().tolist()) == {-1, 1}
    assert set(make(200, dtype=torch.uint8, device=device).tolist()) == set(range(10))
    assert make(99, dtype=torch.bool, device=device).unique().tolist() == [False, True]
    x = make(4, 5, dtype=torch.float64, device=device, noncontiguous=True, requires_grad=True)
    assert x.stride() == (10, 2) and x.requires_grad and x.is_leaf
    assert make((), dtype=torch.float16, device=device, noncontiguous=True).shape == ()
    x = make(2, 3, 4, 4, dtype=torch.float32, memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last)
    with pytest.raises(ValueError, match="not supported for boolean and integral"):
        make(2, dtype=torch.int32, requires_grad=True)
    whole = {"dtype": torch.int64, "device": device}
    assert set(make(400, low=-2.5, high=2.5, **whole).tolist()) == {-2, -1, 0, 1, 2}
    assert make(9, dtype=torch.bool, device=device, low=1).all()
    assert set(make(99, dtype=torch.uint8, device=device, low=-4, high=3).tolist()) == {0, 1, 2}
    assert make(9, dtype=torch.int8, device=device, low=-1000, high=1000).shape == (9,)
    wide = make(50, dtype=torch.float32, device=device, low=-math.inf, high=math.inf)
    assert wide.isfinite().all() and wide.abs().max() > 1e37
    for low, high, text in ((3, 1, "be less than"), (math.nan, 1, "NaN"), (300, 400, "supports")):
        with pytest.raises(ValueError, match=text):
            make(2, dtype=torch.int8, device=device, low=low, high=high)
