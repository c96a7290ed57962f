"""Attention of sequences one after the other, of several tiles: values, sums and gradients against
float64, threads, memory, and that no sequence sees what lies beside it."""

import sys

import flambeau as torch
import numpy as np
import pytest
from attention import varlen
from flambeau.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out

from tests.harness.gen import api

TOLERANCE = {torch.float64: 1e-10, torch.float32: 3e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
# Lengths of queries and of keys, columns, window: none of one, tiles of several, rows that see no
# key, keys that nobody sees.
CASES = [((70, 1, 0, 33), (70, 9, 5, 130), 24, (-1, -1)), ((150, 66), (150, 66), 16, (-1, 0))]
CASES += [((70, 40), (30, 100), 8, (-1, 0)), ((100, 35), (100, 90), 16, (20, 0))]
CASES += [((40, 80), (120, 20), 8, (7, 5)), ((20, 0, 3), (0, 12, 40), 8, (-1, -1))]
CASES += [((35, 20), (20, 35), 264, (3, 30)), ((34, 20), (34, 20), 130, (-1, 0))]


def starts(lengths, device="cpu"):
    return torch.tensor([0, *np.cumsum(lengths).tolist()], dtype=torch.int32, device=device)


def operands(rows, keys, width, dtype, device, heads=(4, 2)):
    rng = np.random.default_rng(3)
    sizes = [(rows, heads[0], width), (keys, heads[1], width), (keys, heads[1], width)]
    tensors = [torch.tensor(rng.standard_normal(s)).to(dtype).to(device) for s in sizes]
    return [*tensors, torch.tensor(rng.standard_normal(sizes[0])).to(dtype).to(device)]


def slopes_of(q, k, v, dy, cu_q, cu_k, window):
    """Of float64 leaves, by attention of each sequence."""
    leaves = [t.cpu().double().requires_grad_() for t in (q, k, v)]
    parts = []
    for i in range(len(cu_q) - 1):
        a = leaves[0][cu_q[i] : cu_q[i + 1]].transpose(0, 1)
        b, c = (t[cu_k[i] : cu_k[i + 1]].transpose(0, 1) for t in leaves[1:])
        b, c = (t.repeat_interleave(a.shape[0] // t.shape[0], 0) for t in (b, c))
        scores = a @ b.mT / a.shape[-1] ** 0.5
        n, m = scores.shape[1:]
        ahead = torch.arange(m) - torch.arange(n)[:, None] - (m - n)
        hidden = torch.zeros(n, m, dtype=torch.bool)
        if window[0] >= 0:
            hidden |= ahead < -window[0]
        if window[1] >= 0:
            hidden |= ahead > window[1]
        none = hidden.all(-1, keepdim=True)
        weights = scores.masked_fill(hidden & ~none, -torch.inf).softmax(-1) * ~none
        parts.append((weights @ c).transpose(0, 1))
    return torch.autograd.grad(torch.cat(parts), leaves, dy.cpu().double())


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_sums_and_gradients(case, dtype, device):
    of_q, of_k, width, window = case
    *leaves, dy = operands(sum(of_q), sum(of_k), width, dtype, device)
    cu_q, cu_k = starts(of_q, device), starts(of_k, device)
    leaves = [t.requires_grad_() for t in leaves]
    options = dict(window_size=window, enable_gqa=True, return_aux=AuxRequest(lse=True))
    y, lse = varlen_attn(*leaves, cu_q, cu_k, max(of_q), max(of_k), **options)
    assert lse.dtype == torch.float32 and not lse.requires_grad
    exact = [t.detach().cpu().double().numpy() for t in leaves]
    places = [t.tolist() for t in (cu_q, cu_k)]
    want_y, want_lse = varlen(*exact, *places, window_left=window[0], window_right=window[1])
    slopes = slopes_of(*leaves, dy, *places, window)
    found = [y.detach(), lse, *torch.autograd.grad(y, leaves, dy)]
    wanted = [want_y, want_lse, *[t.numpy() for t in slopes]]
    for name, g, w in zip(["y", "lse", "dq", "dk", "dv"], found, wanted):
        g = g.cpu().double().numpy()
        assert g.shape == w.shape, name
        inf = np.isinf(w)
        assert (g[inf] == w[inf]).all(), name
        limit = max(TOLERANCE[dtype], 1e-6) * max(1, np.abs(w[~inf]).max(initial=0))
        assert np.abs(g[~inf] - w[~inf]).max(initial=0) <= limit, name


@pytest.mark.parametrize("dtype", list(TOLERANCE)[1:3], ids=str)
def test_a_sequence_has_the_bits_that_it_has_alone(device, dtype):
    """Whatever its neighbours hold."""
    of_q, of_k = (66, 30, 5), (70, 35, 5)
    q, k, v, dy = operands(sum(of_q), sum(of_k), 16, dtype, device, (2, 2))
    cu_q, cu_k = starts(of_q).tolist(), starts(of_k).tolist()

    def slopes(q, k, v, dy, *rest):
        leaves = [t.detach().clone().requires_grad_() for t in (q, k, v)]
        y = varlen_attn(*leaves, *rest, window_size=(-1, 0))
        return [y.detach(), *torch.autograd.grad(y, leaves, dy)]

    places = starts(of_q, device), starts(of_k, device)
    together = slopes(q, k, v, dy, *places, 66, 70)
    for i in range(len(of_q)):
        rows, keys = slice(cu_q[i], cu_q[i + 1]), slice(cu_k[i], cu_k[i + 1])
        own = starts(of_q[i : i + 1], device), starts(of_k[i : i + 1], device)
        alone = slopes(q[rows], k[keys], v[keys], dy[rows], *own, of_q[i], of_k[i])
        for part, a, b in zip((rows, rows, keys, keys), together, alone):
            assert torch.equal(a[part], b)


def test_threads_do_not_change_bits(device):
    *leaves, dy = operands(160, 160, 16, torch.float32, device)
    leaves = [t.requires_grad_() for t in leaves]
    places, before, results = starts((100, 60), device), torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            y = varlen_attn(*leaves, places, places, 100, 100, enable_gqa=True)
            results.append([y.detach(), *torch.autograd.grad(y, leaves, dy)])
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, *results))


def results_of(tensors, dy, *places, **options):
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    options["enable_gqa"], aux = True, AuxRequest(lse=True)
    y, lse = varlen_attn(*leaves, *places, 1, 1, return_aux=aux, **options)
    alone = varlen_attn(*tensors, *places, 1, 1, **options)
    return [y.detach(), lse, alone, *torch.autograd.grad(y, leaves, dy)]


MOST = sys.maxsize  # what hides nothing, beside what says the same in fewer words
COVERING = [((n, m), (-1, -1)) for n in (-1, 99, 2**31, MOST) for m in (99, 2**62, MOST)]
COVERING += [((MOST, -1), (-1, -1)), ((-5, -MOST), (-1, -1)), ((MOST, 0), (-1, 0))]
COVERING += [((99, 0), (-1, 0)), ((3, MOST), (3, -1)), ((MOST, 2), (-1, 2))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16], ids=str)
@pytest.mark.parametrize("lengths", [((70, 9), (70, 80)), ((70, 9), (30, 9))], ids=str)
def test_a_window_that_hides_nothing_is_none(device, dtype, lengths):
    of_q, of_k = lengths
    *tensors, dy = operands(sum(of_q), sum(of_k), 8, dtype, device)
    places, kept = (starts(of_q, device), starts(of_k, device)), {}
    for window, same in COVERING:
        if same not in kept:
            kept[same] = results_of(tensors, dy, *places, window_size=same)
        found = results_of(tensors, dy, *places, window_size=window)
        assert all(map(torch.equal, found, kept[same])), window


@pytest.mark.parametrize("dtype", list(TOLERANCE)[:2], ids=str)
def test_one_query_after_all_keys_takes_the_kernel(device, dtype):
    """Causal or not, it sees them all, and has the same bits."""
    *tensors, dy = operands(3, 100, 8, dtype, device)
    places = starts((1, 1, 1), device), starts((70, 10, 20), device)
    with_none, causal = (varlen_attn(*tensors, *places, 1, 70, enable_gqa=True, window_size=w)
                         for w in ((-1, -1), (-1, 0)))  # fmt: skip
    assert torch.equal(with_none, causal)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (1, 0)], ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("width", [8, 264])
def test_a_query_without_heads_has_nothing(device, width, dtype, window):
    *tensors, dy = operands(6, 7, width, dtype, device, heads=(0, 2))
    places = starts((2, 4), device), starts((3, 4), device)
    y, lse, alone, dq, dk, dv = results_of(tensors, dy, *places, window_size=window)
    assert y.shape == alone.shape == dq.shape == (6, 0, width) and lse.shape == (0, 6)
    assert dk.shape == dv.shape == (7, 2, width) and not dk.any() and not dv.any()
    leaves = [t.requires_grad_() for t in tensors]
    y = varlen_attn(*leaves, *places, 4, 4, window_size=window, enable_gqa=True)
    slopes = torch.autograd.grad(y.sum(), leaves, create_graph=True)
    assert [s.shape for s in slopes] == [t.shape for t in leaves]
    assert not any(s.any() for s in slopes)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (3, 2)], ids=str)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_rows_after_the_last_sequence(device, dtype, window):
    """They are 0, see nothing, and change no bit of the others; places may end where they begin."""
    *tensors, dy = operands(20, 24, 8, dtype, device)
    for of_q, of_k in (((5, 9), (7, 11)), ((), ())):
        places, n, m = (starts(of_q, device), starts(of_k, device)), sum(of_q), sum(of_k)
        found = results_of(tensors, dy, *places, window_size=window)
        own = [t[:e] for t, e in zip(tensors, (n, m, m))]
        want = results_of(own, dy[:n], *places, window_size=window)
        for name, f, w in zip(["y", "lse", "alone", "dq", "dk", "dv"], found, want):
            if name == "lse":
                assert torch.equal(f[:, :n], w) and (f[:, n:] == torch.inf).all()
            else:
                assert torch.equal(f[: len(w)], w) and not f[len(w) :].any(), name
        leaves = [t.detach().requires_grad_() for t in tensors]
        y = varlen_attn(*leaves, *places, 9, 11, window_size=window, enable_gqa=True)
        slopes = torch.autograd.grad(y.sum(), leaves, create_graph=True)
        assert not any(s[e:].any() for s, e in zip(slopes, (n, m, m)))


def test_a_band_takes_no_more_memory_than_tiles(device):
    """Many more queries than keys: what a band adds is of the keys that tiles see."""
    if device.startswith("cuda"):
        pytest.skip("tiles of a device are larger than what is emulated in a test")
    length, keys = 20000, 300
    q = torch.randn(length, 1, 4, dtype=torch.float64, device=device)
    k = torch.randn(keys, 1, 4, dtype=torch.float64, device=device)
    at, place = (starts((length,), device), starts((keys,), device)), torch.device(device)
    for window in ((-1, 0), (5, -1), (5, length - 2), (-1, length - 2)):
        api.memory_reset_peak_stats(place)
        before = api.memory_allocated(place)
        y = varlen_attn(q, k, k, *at, length, keys, window_size=window)
        assert api.memory_max_allocated(place) - before < 8 * length * keys // 4, window
        want = varlen(*[t.cpu().numpy() for t in (q, k, k)], *[t.tolist() for t in at],
                      window_left=window[0], window_right=window[1])[0]  # fmt: skip
        assert np.abs(y.cpu().numpy() - want).max() < 1e-10


def test_no_score_matrix_of_a_sequence_exists(device):
    """Forward and backward of long sequences take less than the scores of the longest would."""
    if device.startswith("cuda"):
        length, heads = 256, 16  # where each thread is emulated
    else:
        length, heads = 1024, 8
    kind = {"dtype": torch.bfloat16, "device": device}
    q = torch.randn(length + 10, heads, 8, requires_grad=True, **kind)
    at, place = starts((length, 10), device), torch.device(device)
    api.memory_reset_peak_stats(place)
    before = api.memory_allocated(place)
    varlen_attn(q, q, q, at, at, length, length, window_size=(-1, 0)).sum().backward()
    assert q.grad.isfinite().all()
    assert api.memory_max_allocated(place) - before < heads * length**2 * 2


def test_gradients_have_gradients(device):
    at = starts((5, 0, 9), device)
    q, k, v, dy = operands(14, 14, 4, torch.float64, device)
    tensors = [q, k, v]

    def second(attention):
        leaves = [t.clone().requires_grad_() for t in tensors]
        grads = torch.autograd.grad(attention(*leaves).sin().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.cos().sum() for g in grads), leaves)

    def apart(q, k, v):
        parts = []
        for rows in (slice(0, 5), slice(5, 14)):
            own = [t[rows].transpose(0, 1) for t in (q, k, v)]
            call = torch.nn.functional.scaled_dot_product_attention
            parts.append(call(*own, is_causal=True, enable_gqa=True).transpose(0, 1))
        return torch.cat(parts)

    options = dict(window_size=(-1, 0), enable_gqa=True)
    got = second(lambda *t: varlen_attn(*t, at, at, 9, 9, **options))
    for a, b in zip(got, second(apart)):
        assert torch.allclose(a, b, atol=1e-10)


def test_keys_that_are_not_used_count_for_nothing(device):
    q, k, v, _ = operands(3, 40, 16, torch.float32, device, (2, 2))
    at_q, at_k = starts((1, 1, 1), device), starts((20, 10, 10), device)
    used = torch.tensor([7, 0, 10], dtype=torch.int32, device=device)
    y = varlen_attn(q, k, v, at_q, at_k, 1, 20, seqused_k=used)
    want = varlen(*[t.cpu().double().numpy() for t in (q, k, v)], at_q.tolist(), at_k.tolist(),
                  used.tolist())[0]  # fmt: skip
    assert np.abs(y.cpu().numpy() - want).max() < 1e-5
    with pytest.raises(RuntimeError, match="inference-only"):
        varlen_attn(q.requires_grad_(), k, v, at_q, at_k, 1, 20, seqused_k=used)


def test_torchs_spelling(device):
    q, k, v, _ = operands(6, 6, 8, torch.float32, device, (2, 2))
    at = starts((2, 4), device)
    out = torch.empty(6, 2, 8, device=device)
    y = varlen_attn_out(out, q, k, v, at, at, 4, 4, window_size=(-1, 0))
    assert y is out and torch.equal(y, varlen_attn(q, k, v, at, at, 4, 4, window_size=(-1, 0)))
    for wrong, text in [
        (dict(window_size=(1,)), "must have length 2"),
        (dict(scale=-1.0), "scale must be greater than 0"),
    ]:
        with pytest.raises(ValueError, match=text):
            varlen_attn(q, k, v, at, at, 4, 4, **wrong)
    with pytest.raises(ValueError, match="same number of heads"):
        varlen_attn(q, k[:, :1], v[:, :1], at, at, 4, 4)
    with pytest.raises(ValueError, match="multiple of kv heads"):
        varlen_attn(q, k[:, :0], v[:, :0], at, at, 4, 4, enable_gqa=True)
    entries = torch.tensor([1], dtype=torch.int32, device=device)
    with pytest.raises(RuntimeError, match="an entry for each of 2 sequences"):
        varlen_attn(q, k, v, at, at, 4, 4, seqused_k=entries)
    with pytest.raises(NotImplementedError, match="block_table"):
        varlen_attn(q, k, v, at, at, 4, 4, block_table=at)


def test_out_is_checked_before_anything_is_computed(device):
    q, k, v, _ = operands(6, 6, 8, torch.float32, device, (2, 2))
    named = dict(query=q, key=k, value=v[..., :3], cu_seq_q=starts((2, 4), device))
    named.update(cu_seq_k=named["cu_seq_q"], max_q=4, max_k=4)
    wrong = [torch.full((1, 6, 2, 3), 5.0), torch.full((6, 2, 8), 5.0), torch.full((2, 3), 5.0)]
    wrong += [torch.full((6, 2, 3), 5.0, dtype=torch.float64), torch.empty(6, 2, 3, device="meta")]
    for out in wrong:
        out = out if out.device.type == "meta" else out.to(device)
        with pytest.raises(ValueError, match=r"out must be of shape \[6, 2, 3\], .*float32 and on"):
            varlen_attn_out(out, **named)
        assert out.device.type == "meta" or (out == 5).all()
    out = torch.empty(3, 2, 6, device=device).transpose(0, 2)  # of other strides
    named["return_aux"] = AuxRequest(lse=True)
    y, lse = varlen_attn_out(out, **named)
    assert y is out and all(map(torch.equal, (y, lse), varlen_attn(**named)))
