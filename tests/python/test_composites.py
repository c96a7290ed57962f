"""Functions that Python makes of operations: copies of views, parts of real numbers, windows,
slopes and histograms, loops over lists, timers."""

import math

import flambeau as torch
import numpy as np
import pytest


def test_copies_of_views_have_memory_of_their_own():
    t = torch.arange(12.0).reshape(3, 4)
    pairs = [
        (torch.view_copy(t, (4, 3)), t.view(4, 3)),
        (torch.permute_copy(t, (1, 0)), t.permute(1, 0)),
        (torch.transpose_copy(t, 0, 1), t.transpose(0, 1)),
        (torch.t_copy(t), t.t()),
        (torch.expand_copy(t[0], (2, 4)), t[0].expand(2, 4)),
        (torch.unsqueeze_copy(t, 0), t.unsqueeze(0)),
        (torch.squeeze_copy(t[None]), t),
        (torch.select_copy(t, 1, 2), t.select(1, 2)),
        (torch.slice_copy(t, 1, 0, None, 2), t[:, ::2]),
        (torch.diagonal_copy(t), t.diagonal()),
        (torch.unfold_copy(t, 1, 2, 2), t.unfold(1, 2, 2)),
        (torch.as_strided_copy(t, (2, 2), (1, 2)), t.as_strided((2, 2), (1, 2))),
        (torch.narrow_copy(t, 0, 1, 2), t[1:]),
        (torch.alias_copy(t), t),
        (torch.detach_copy(t), t),
    ]
    for copy, view in pairs:
        assert torch.equal(copy, view) and copy.is_contiguous()
        assert copy.data_ptr() != view.data_ptr()
    out = torch.empty(0)
    assert torch.narrow_copy(t, 0, 1, 2, out=out) is out and out.equal(t[1:])
    parts = [torch.empty(0) for _ in range(2)]
    assert torch.split_copy(t, 2, out=parts) is None
    assert parts[0].equal(t[:2]) and parts[1].equal(t[2:])
    for parts, views in [
        (torch.split_copy(t, 2), t.split(2)),
        (torch.split_with_sizes_copy(t, [1, 2]), t.split([1, 2])),
        (torch.unbind_copy(t), t.unbind()),
    ]:
        assert all(map(torch.equal, parts, views)) and len(parts) == len(views)
    assert [p.tolist() for p in torch.unsafe_chunk(t[0], 2)] == [[0, 1], [2, 3]]
    assert [p.tolist() for p in t[0].unsafe_split(3)] == [[0, 1, 2], [3]]
    assert len(torch.unsafe_split_with_sizes(t, [1, 2])) == 2


@pytest.mark.parametrize(
    "split",
    [
        lambda t: t.unsafe_split(1),
        lambda t: t.unsafe_split_with_sizes((1, 1)),
        lambda t: t.unsafe_chunk(2),
    ],
)
def test_parts_that_may_be_written(torch, split):
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    first, second = split(x * 1)
    first.mul_(second)
    assert first._base is None and not first._is_view()
    (first * 5).sum().backward()
    assert x.grad.tolist() == [15, 10]


def test_out_of_place_forms():
    t = torch.zeros(2, 3)
    assert torch.fill(t, 2).sum() == 12 and t.sum() == 0
    index, source = torch.tensor([1, 4]), torch.ones(2)
    assert torch.put(t, index, source).tolist() == [[0, 1, 0], [0, 1, 0]] and t.sum() == 0
    assert torch.resize_as_(torch.zeros(1), t).shape == t.shape
    assert torch.constant_pad_nd(t, (1, 0), 5).tolist() == [[5, 0, 0, 0]] * 2
    assert torch.zero_(torch.ones(2)).sum() == 0
    assert torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride() == (12, 1, 3)
    assert t.new_empty_strided((2, 3), (1, 2), dtype=torch.int32).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="physical_layout"):
        torch.empty_permuted((2, 3), (0,))
    found = torch.nonzero_static(torch.tensor([0, 1, 1]), size=3)
    assert found.tolist() == [[1], [2], [-1]]
    assert torch.tensor([0, 1, 1]).nonzero_static(size=1).tolist() == [[1]]


def test_real_numbers_as_complex_ones():
    t = torch.tensor([1.0, -2.0, math.nan])
    for same in (torch.real, torch.conj, torch.resolve_conj, torch.resolve_neg):
        assert same(t) is t
    assert t.real is t and t.conj_physical_() is t
    assert torch.conj_physical(t).data_ptr() == t.data_ptr()
    assert torch.isreal(t).tolist() == [True] * 3 and not torch.is_conj(t) and not t.is_neg()
    assert torch.angle(t)[:2].tolist() == [0.0, pytest.approx(math.pi)] and t.angle()[2].isnan()
    assert torch.angle(torch.tensor([-3])).dtype == torch.float32
    with pytest.raises(RuntimeError, match="non-complex"):
        torch.imag(t)


@pytest.mark.parametrize(
    "name, reference, options",
    [
        ("hann_window", np.hanning, {}),
        ("hamming_window", np.hamming, {}),
        ("blackman_window", np.blackman, {}),
        ("bartlett_window", np.bartlett, {}),
        ("kaiser_window", lambda n: np.kaiser(n, 9.0), dict(beta=9.0)),
    ],
)
def test_windows(name, reference, options):
    window = getattr(torch, name)
    for n in (0, 1, 2, 9):
        got = window(n, periodic=False, dtype=torch.float64, **options)
        np.testing.assert_allclose(got.numpy(), reference(n), atol=1e-15)
    periodic = window(8, dtype=torch.float64, **options)
    np.testing.assert_allclose(periodic.numpy(), reference(9)[:-1], atol=1e-15)
    assert window(4, requires_grad=True).requires_grad and window(4).dtype == torch.float32
    with pytest.raises(RuntimeError, match="floating point"):
        window(4, dtype=torch.int64)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient(order):
    a = np.random.default_rng(0).standard_normal((5, 6))
    t = torch.tensor(a)
    got = torch.gradient(t, edge_order=order)
    for g, want in zip(got, np.gradient(a, edge_order=order)):
        np.testing.assert_allclose(g.numpy(), want, atol=1e-12)
    places = np.array([0.0, 0.5, 2.0, 2.5, 4.0])
    (got,) = torch.gradient(t, spacing=(torch.tensor(places),), dim=0, edge_order=order)
    want = np.gradient(a, places, axis=0, edge_order=order)
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)
    (got,) = torch.gradient(t, spacing=2, dim=1, edge_order=order)
    np.testing.assert_allclose(got.numpy(), np.gradient(a, 2, axis=1, edge_order=order), atol=1e-12)
    (same,) = torch.gradient(t, spacing=torch.tensor(2.0), dim=1, edge_order=order)
    assert same.equal(got)
    with pytest.raises(RuntimeError, match="edge_order"):
        torch.gradient(t, edge_order=3)


def test_histogram():
    t = torch.tensor([1.0, 2.0, 1.0, 4.0, 9.0])
    hist, edges = torch.histogram(t, bins=4, range=(0.0, 4.0))
    assert hist.tolist() == [0, 2, 1, 1] and edges.tolist() == [0, 1, 2, 3, 4]
    found = t.histogram(torch.tensor([0.0, 1.5, 4.0]), weight=torch.arange(5.0))
    assert found.hist.tolist() == [2, 4]
    assert t.histogram().hist.shape == (100,)  # where nothing says how many
    density = torch.histogram(t, 4, range=(0.0, 8.0), density=True).hist
    assert density.tolist() == [0.25, 0.125, 0.125, 0]
    assert torch.histogram(torch.ones(3), 2).bin_edges.tolist() == [0.5, 1.0, 1.5]
    for found, text in (
        (lambda: torch.histogram(t, 0), "bins must be > 0"),
        (lambda: torch.histogram(t.long(), 4), "not implemented for int64"),
        (lambda: torch.histogram(t, 4, weight=t[:2]), r"weight should have .*\[5\].*\[2\]"),
        (lambda: torch.histogram(t, t.reshape(1, 5)), "one dimension, but got 2"),
        (lambda: torch.histogramdd(t.reshape(1, 5), 4, weight=t), "weight should have"),
    ):
        with pytest.raises(RuntimeError, match=text):
            found()


def test_histogram_of_points():
    points = np.random.default_rng(1).standard_normal((50, 2))
    weight = np.arange(50.0)
    for options in ({}, dict(density=True)):
        span = dict(range=[-1.0, 1.0, -2.0, 2.0])
        got = torch.histogramdd(
            torch.tensor(points), [3, 4], weight=torch.tensor(weight), **span, **options
        )
        box = [(-1.0, 1.0), (-2.0, 2.0)]
        want, edges = np.histogramdd(points, [3, 4], box, weights=weight, **options)
        np.testing.assert_allclose(got.hist.numpy(), want, atol=1e-12)
        for g, e in zip(got.bin_edges, edges):
            np.testing.assert_allclose(g.numpy(), e)
        again = torch.histogramdd(
            torch.tensor(points), got.bin_edges, None, torch.tensor(weight), **options
        )
        assert again.hist.equal(got.hist)
    with pytest.raises(RuntimeError, match="innermost dim"):
        torch.histogramdd(torch.zeros(3, 2), [1, 2, 3])


def test_greatest_singular_values():
    torch.manual_seed(0)
    left, right = torch.randn(20, 3, dtype=torch.float64), torch.randn(3, 9, dtype=torch.float64)
    for a in (left @ right, (left @ right).mT):
        U, S, V = torch.svd_lowrank(a, q=4)
        assert torch.allclose((U * S) @ V.mT, a, atol=1e-10) and S.shape == (4,)
        assert torch.allclose(S[:3], torch.linalg.svdvals(a)[:3])
    centred = a - a.mean(0, keepdim=True)
    found = torch.pca_lowrank(a, q=4)
    assert torch.allclose((found.U * found.S) @ found.V.mT, centred, atol=1e-10)
    assert torch.allclose(torch.svd_lowrank(a, 4, M=a.mean(0)).S, found.S, atol=1e-10)
    with pytest.raises(ValueError, match="not greater than"):
        torch.pca_lowrank(a, q=99)


def test_unravel_index():
    found = torch.unravel_index(torch.tensor([[5], [11]]), (3, 4))
    assert [f.tolist() for f in found] == [[[1], [2]], [[1], [3]]]
    with pytest.raises(RuntimeError, match="integer"):
        torch.unravel_index(torch.ones(2), (3, 4))


def test_lists_of_tensors():
    a, b = [torch.ones(2), torch.full((3,), 2.0)], [torch.ones(2), torch.ones(3)]
    assert [t.tolist() for t in torch._foreach_add(a, b, alpha=2)] == [[3, 3], [4, 4, 4]]
    assert [t.sum().item() for t in torch._foreach_mul(a, 3)] == [6, 18]
    assert [t.item() for t in torch._foreach_norm(a)] == pytest.approx([2**0.5, 12**0.5])
    torch._foreach_addcdiv_(a, b, b, value=-1)
    assert [t.tolist() for t in a] == [[0, 0], [1, 1, 1]]
    torch._foreach_lerp_(a, b, 0.5)
    torch._foreach_copy_(b, a)
    for name, more in (
        ("copy_", []),
        ("mm", []),
        ("lerp", [0.5]),
        ("addcmul", [a]),
        ("addcdiv_", [a]),
    ):
        for wrong in (2, torch.tensor(2.0), [2.0] * len(a)):
            with pytest.raises(TypeError, match=f"_foreach_{name}|element 0 in argument 1"):
                getattr(torch, f"_foreach_{name}")(b, wrong, *more)
    assert b[0].tolist() == [0.5, 0.5] and torch._foreach_sqrt(b)[1].tolist() == [1, 1, 1]
    assert torch._foreach_maximum(a, [0.75, 0.0])[0].tolist() == [0.75, 0.75]
    torch._foreach_zero_(b)
    assert b[1].sum() == 0
    with pytest.raises(RuntimeError, match="same number of tensors"):
        torch._foreach_add(a, b[:1])
    with pytest.raises(RuntimeError, match="0 dim but it has 1 dimensions"):
        torch._foreach_add(a, torch.ones(2, device=a[0].device))
    with pytest.raises(RuntimeError, match="at least one tensor"):
        torch._foreach_add([], 1)
    c = [torch.tensor([1.0, 2.0], device=a[0].device), torch.tensor([3.0], device=a[0].device)]
    assert [t.tolist() for t in torch._foreach_pow(2.0, c)] == [[2, 4], [8]]
    assert [t.item() for t in torch._foreach_max(c)] == [2, 3]
    by = torch._foreach_addcmul(c, c, c, torch.tensor([1.0, 10.0], device=a[0].device))
    assert [t.tolist() for t in by] == [[2, 6], [93]]
    assert torch.foreach.mul_(c, c) is c and c[1].item() == 9
    assert torch.foreach.clone(c)[0].data_ptr() != c[0].data_ptr()
    for wrong in (c[0], (t for t in c), [c[0], 1]):
        with pytest.raises(TypeError):
            torch.foreach.abs(wrong)
    with pytest.raises(RuntimeError, match="same number of elements as scalar list"):
        torch.foreach.add(c, [1.0])
    flat = torch._utils._flatten_dense_tensors(a)
    parts = torch._utils._unflatten_dense_tensors(flat, a)
    assert flat.shape == (5,) and all(map(torch.equal, parts, a))


def test_timer():
    from flambeau.utils import benchmark

    x = torch.ones(8)
    timer = benchmark.Timer("x + 1", globals={"x": x}, label="sum", num_threads=2)
    found = timer.timeit(20)
    assert found.number_per_run == 20 and len(found.times) == 1 and found.median > 0
    assert "sum" in repr(found) and "Median" in repr(found) and "2 threads" in repr(found)
    calls = []
    found = timer.blocked_autorange(lambda n, took: calls.append(n), min_run_time=0.01)
    assert len(found.times) == len(calls) and found.mean >= min(found.times) and found.iqr >= 0
    with pytest.raises(ValueError, match="Python"):
        benchmark.Timer("f();", language="c++")


@pytest.mark.parametrize(
    "make",
    [
        lambda t: t.hann_window(4, pin_memory=True),
        lambda t: t.arange(3, pin_memory=True),
        lambda t: t.randint(3, (2,), pin_memory=True),
        lambda t: t.normal(0.0, 1.0, (2,), pin_memory=True),
        lambda t: t.ones(2).new_zeros(3, pin_memory=True),
        lambda t: t.ones(2).new_full((3,), 2.0, pin_memory=True),
    ],
)
def test_memory_is_pinned_where_asked(torch, device, make):
    if device == "cpu":
        pytest.skip("pinned memory is for GPUs")
    assert make(torch).is_pinned()
