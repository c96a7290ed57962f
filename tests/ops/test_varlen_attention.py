"""Attention of sequences one after the other, of several tiles: values, sums and gradients against
float64, threads, memory, and that no sequence sees what lies beside it."""

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
    used = torch.tensor([7, 0, 30], dtype=torch.int32, device=device)
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
    entries = torch.tensor([1], dtype=torch.int32, device=device)
    with pytest.raises(RuntimeError, match="an entry for each of 2 sequences"):
        varlen_attn(q, k, v, at, at, 4, 4, seqused_k=entries)
    with pytest.raises(NotImplementedError, match="block_table"):
        varlen_attn(q, k, v, at, at, 4, 4, block_table=at)
