"""Clipping of gradients by lists: norms and scaled gradients are those of float64, whatever the
gradients' sizes and layouts, in launches that do not grow with their number.
"""

import math

import flambeau as torch
import pytest
from flambeau.nn.utils import clip_grad_norm_
from flambeau.profiler import profile

SIZES = [(3,), (0, 4), (5, 7), (4096,), (1,), (4097,), (2, 3, 4, 5), (9000,), ()] * 13
assert sum(math.prod(s) > 0 for s in SIZES) > 96  # of a launch
TOLERANCE = {torch.float64: 1e-14, torch.float32: 3e-7, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def leaf(gradient):
    p = torch.zeros_like(gradient).requires_grad_()
    p.grad = gradient
    return p


def drawn(*sizes, seed, dtype, device):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=made).to(dtype).to(device)


def norm_of(gradients):
    return math.sqrt(sum(float((g.cpu().double() ** 2).sum()) for g in gradients))


def check(gradients, bound, tolerance):
    before = [g.cpu().double().clone() for g in gradients]
    wanted = norm_of(gradients)
    versions = [g._version for g in gradients]
    total = clip_grad_norm_([leaf(g) for g in gradients], bound)
    assert total.dtype == gradients[0].dtype and total.shape == ()
    assert float(total) == pytest.approx(wanted, rel=tolerance)
    share = min(1.0, bound / (wanted + 1e-6))
    for g, old, version in zip(gradients, before, versions, strict=True):
        torch.testing.assert_close(g.cpu().double(), old * share, rtol=3 * tolerance, atol=1e-7)
        assert g._version > version


@pytest.mark.parametrize("bound", [1.0, 1e6])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_many_gradients(dtype, bound, device):
    there = {"dtype": dtype, "device": device}
    check([drawn(*s, seed=i, **there) for i, s in enumerate(SIZES)], bound, TOLERANCE[dtype])


def test_gradients_of_any_layout(device):
    there = {"dtype": torch.float32, "device": device}
    image = drawn(2, 8, 5, 5, seed=1, **there).contiguous(memory_format=torch.channels_last)
    whole = drawn(6000, seed=2, **there)
    parts = [whole[:4097], whole[4097:5000]]  # of one bucket, the second one unaligned
    check([image, *parts, drawn(7, 6, seed=3, **there).T], 1.0, 3e-7)
    check([whole[5000::2], drawn(3, seed=4, **there)], 1.0, 3e-7)  # no stretch of memory


def test_a_gradient_of_two_parameters_is_scaled_for_each(device):
    shared = torch.ones(4, device=device)
    total = clip_grad_norm_([leaf(shared), leaf(shared)], 1.0)
    assert float(total) == pytest.approx(math.sqrt(8))
    torch.testing.assert_close(shared.cpu(), torch.full((4,), 1 / 8))


def test_squares_neither_overflow_nor_vanish(device):
    big, small = (torch.full((5000,), v, device=device) for v in (1e30, 1e-30))
    assert float(clip_grad_norm_([leaf(big)], 1.0)) == pytest.approx(1e30 * math.sqrt(5000))
    assert float(clip_grad_norm_([leaf(small)], 1.0)) == pytest.approx(1e-30 * math.sqrt(5000))


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_finite_spreads(value, device):
    gradients = [torch.ones(5000, device=device), torch.ones(3, device=device)]
    gradients[0][4999] = value
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        clip_grad_norm_([leaf(g) for g in gradients], 1.0, error_if_nonfinite=True)
    assert float(gradients[1][0]) == 1
    total = float(clip_grad_norm_([leaf(g) for g in gradients], 1.0))
    assert total == value or (math.isnan(total) and math.isnan(value))
    share = 0.0 if value == math.inf else math.nan
    torch.testing.assert_close(gradients[1].cpu(), torch.full((3,), share), equal_nan=True)


@pytest.mark.parametrize("kind", [1.0, math.inf])
def test_other_norms(kind, device):
    gradients = [drawn(20, seed=i, dtype=torch.float32, device=device) for i in range(3)]
    wanted = torch.cat(gradients).cpu().double().abs()
    wanted = float(wanted.sum() if kind == 1 else wanted.max())
    total = clip_grad_norm_([leaf(g) for g in gradients], 0.5, norm_type=kind)
    assert float(total) == pytest.approx(wanted, rel=1e-6)
    after = torch.cat(gradients).cpu().double().abs()
    assert float(after.sum() if kind == 1 else after.max()) == pytest.approx(0.5, rel=1e-5)


def test_gradients_without_elements(device):
    gradients = [torch.zeros(0, 3, device=device), torch.zeros(0, device=device)]
    total = clip_grad_norm_([leaf(g) for g in gradients], 1.0)
    assert total.shape == () and float(total) == 0


def test_a_capture_clips_by_the_same_bits(device, request):
    """Where launches do not follow one another on one stream, norms have launches of their own."""
    if request.config.getoption("--device") not in ("cuda", "standin"):
        pytest.skip("only GPUs have graphs")
    leaves = [
        leaf(drawn(*s, seed=i, dtype=torch.float32, device=device)) for i, s in enumerate(SIZES[:9])
    ]
    before = [p.grad.clone() for p in leaves]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        total = clip_grad_norm_(leaves, 1.0)
    graph.replay()
    torch.cuda.synchronize()
    replayed = [p.grad.clone() for p in leaves]
    again = [leaf(g) for g in before]
    assert float(clip_grad_norm_(again, 1.0)) == float(total)
    assert all(bool((a.grad == b).all()) for a, b in zip(again, replayed, strict=True))


def test_launches_do_not_grow_with_the_gradients(device, request):
    if request.config.getoption("--device") != "standin":
        pytest.skip("the stand-in alone says what was launched, and no more")
    counts = []
    for n in (2, 40):
        leaves = [leaf(torch.ones(8, device=device)) for _ in range(n)]
        with profile() as found:
            clip_grad_norm_(leaves, 1.0)
        counts.append(sum(len(e.kernels) for e in found.events()))
    assert counts[0] == counts[1] == 2
