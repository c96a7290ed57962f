"""Attention on operands of several tiles: values and gradients against float64, threads, memory."""

import flambeau as torch
import numpy as np
import pytest
from attention import attend, causal

from tests.harness.gen import api

TOLERANCE = {torch.float64: 1e-10, torch.float32: 3e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}
# Batch and heads, queries, keys, width, and whether causal: rows and batches that do not divide,
# keys that nobody sees, one dimension of batch and none.
CASES = [((5, 4), 150, 150, 24, True), ((3, 2), 70, 200, 8, True), ((2, 3), 200, 70, 8, True)]
CASES += [((40,), 130, 90, 16, False), ((), 300, 300, 8, True), ((9, 8), 96, 96, 16, False)]


def gradients(q, k, v, weights, y_slope, scale):
    slope = y_slope @ v.swapaxes(-1, -2)
    slope = weights * (slope - (slope * weights).sum(-1, keepdims=True)) * scale
    return slope @ k, slope.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ y_slope


def mask_of(kind, batch, length, keys, rng):
    if kind == "row hidden":
        seen = rng.random((length, keys)) < 0.7
        seen[1] = False
        return seen
    if kind == "by head":
        return rng.standard_normal((*batch, length, keys))
    return None


@pytest.fixture
def batch_of(request):
    """At most 3 of each dimension where CUDA's kernels are emulated: every one repeats the same
    tiles, a thread at a time."""
    emulated = request.config.getoption("--device") == "standin"
    return lambda batch: tuple(min(n, 3) for n in batch) if emulated else batch


@pytest.mark.parametrize("kind", ["none", "row hidden", "by head"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case, dtype, kind, device, batch_of):
    batch, length, keys, width, is_causal = case
    batch = batch_of(batch)
    is_causal &= kind == "none"
    rng = np.random.default_rng(7)
    shapes = [(*batch, n, width) for n in (length, keys, keys, length)]
    tensors = [torch.tensor(rng.standard_normal(s)).to(dtype).to(device) for s in shapes]
    exact = [t.cpu().double().numpy() for t in tensors]
    mask = mask_of(kind, batch, length, keys, rng)
    added = 0.0 if mask is None else np.where(mask, 0, -np.inf) if mask.dtype == bool else mask
    if is_causal:
        added = np.where(causal(length, keys), 0, -np.inf)
    with np.errstate(invalid="ignore"):
        y, weights = attend(*exact[:3], added)
    want = [y, *gradients(*exact[:3], weights, exact[3], 1 / np.sqrt(width))]
    leaves = [t.requires_grad_() for t in tensors[:3]]
    if mask is not None:
        mask = torch.tensor(mask)
        mask = (mask if mask.dtype == torch.bool else mask.to(dtype)).to(device)
    got = torch.nn.functional.scaled_dot_product_attention(
        *leaves, attn_mask=mask, is_causal=is_causal
    )
    got.backward(tensors[3])
    for name, g, w in zip("yqkv", [got, *[t.grad for t in leaves]], want):
        g = g.detach().cpu().double().numpy()
        limit = TOLERANCE[dtype] * max(1, np.abs(w).max())
        assert np.abs(g - w).max() <= limit, name


@pytest.mark.parametrize("heads_inside", [False, True])
@pytest.mark.parametrize("kind", ["none", "causal", "by head", "by row"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_shared_heads(dtype, kind, heads_inside, device):
    """Several heads of q with one of k and v; odd widths, values of another, any order."""

    def operand(n, heads, width):
        sizes = (2, n, heads, width) if heads_inside else (2, heads, n, width)
        t = torch.randn(sizes, device=device).to(dtype)
        return (t.transpose(1, 2) if heads_inside else t).requires_grad_()

    q, k, v = operand(70, 4, 13), operand(81, 2, 13), operand(81, 2, 9)
    slope = torch.randn(2, 4, 70, 9, device=device).to(dtype)
    sizes = {"by head": (2, 4, 70, 81), "by row": (70, 1)}.get(kind)
    mask = torch.randn(sizes, device=device).to(dtype) if sizes else None
    call = torch.nn.functional.scaled_dot_product_attention

    def all_of(q, k, v, **options):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        added = None if mask is None else mask.to(q.dtype)
        y = call(*leaves, attn_mask=added, is_causal=kind == "causal", **options)
        return [y.detach(), *torch.autograd.grad(y, leaves, slope.to(y.dtype))]

    got = all_of(q, k, v, enable_gqa=True)
    wide = [t.detach().double() for t in (q, k, v)]
    apart = all_of(wide[0], *(t.repeat_interleave(2, 1) for t in wide[1:]))
    sums = [t.unflatten(1, (2, 2)).sum(2) for t in apart[2:]]
    for g, w in zip(got, [*apart[:2], *sums]):
        limit = TOLERANCE[dtype] * max(1, w.abs().max().item())
        assert g.shape == w.shape and (g.double() - w).abs().max() <= limit


def test_shared_heads_are_not_repeated(device):
    """Backward takes memory for tiles and gradients; 32 copies of k and v would be 16 MiB each."""
    q = torch.randn(1, 32, 128, 64, device=device, requires_grad=True)
    k, v = (torch.randn(1, 1, 2048, 64, device=device, requires_grad=True) for _ in range(2))
    call = torch.nn.functional.scaled_dot_product_attention
    y = call(q, k, v, enable_gqa=True).sum()
    place = q.device
    api.memory_reset_peak_stats(place)
    before = api.memory_allocated(place)
    y.backward()
    assert api.memory_max_allocated(place) - before < 16 << 20


@pytest.mark.parametrize(
    "sizes", [(66, 34), (2, 2, 66, 34), (2, 1, 34), (2, 1, 66, 1), (1, 34), (1,)], ids=str
)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("width", [8, 264])  # the wider has no kernel of its own anywhere
def test_a_mask_with_a_gradient(device, width, sizes, dtype):
    """Heads of q share those of k and v; masks that repeat themselves and one that does not."""
    shapes = (2, 2, 66, width), (2, 1, 34, width), (2, 1, 34, width), sizes
    leaves = [torch.randn(s, device=device).to(dtype) for s in shapes]
    slope = torch.randn(2, 2, 66, width, device=device).to(dtype)

    def attention(q, k, v, mask):
        call = torch.nn.functional.scaled_dot_product_attention
        return call(q, k, v, mask, enable_gqa=True)

    def plain(q, k, v, mask):
        return (q @ k.mT / width**0.5 + mask).softmax(-1) @ v

    def gradients_of(call, leaves):
        leaves = [t.detach().requires_grad_() for t in leaves]
        y = call(*leaves)
        return torch.autograd.grad(y, leaves, slope.to(y.dtype))

    exact = gradients_of(plain, [t.double() for t in leaves])
    for g, w in zip(gradients_of(attention, leaves), exact):
        rounded = (2 * 2 * 66 * 34 / g.numel()) ** 0.5 / 16  # of slopes that are summed, each is
        limit = TOLERANCE[dtype] * max(1, rounded, w.abs().max().item())
        assert g.shape == w.shape and (g.double() - w).abs().max() <= limit


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("width", [20, 264])
def test_dropped_weights_are_those_of_the_seed(device, width, dtype):
    """Values that are a unit matrix show the weights; other widths of these, and the gradients,
    have the same ones dropped."""
    length, keys, p = 70, 50, 0.3
    q, k, v = (torch.randn(2, 2, n, width, device=device).to(dtype) for n in (length, keys, keys))
    call = torch.nn.functional.scaled_dot_product_attention
    unit = torch.eye(keys, device=device).to(dtype).expand(2, 2, keys, keys)

    def drawn(*operands):
        torch.manual_seed(5)
        return call(*operands, dropout_p=p)

    kept = drawn(q * 0, k, unit) != 0  # equal weights, none of which is lost by rounding
    assert abs(kept.double().mean().item() - (1 - p)) < 0.02
    assert not torch.equal(kept, call(q * 0, k, unit, dropout_p=p) != 0)
    leaves = [t.requires_grad_() for t in (q, k, v)]
    exact = [t.detach().double().requires_grad_() for t in leaves]
    weights = (exact[0] @ exact[1].mT / width**0.5).softmax(-1) * kept / (1 - p)
    slope = torch.randn(2, 2, length, width, device=device).to(dtype)
    y, want = drawn(*leaves), weights @ exact[2]
    got = [y, *torch.autograd.grad(y, leaves, slope)]
    for g, w in zip(got, [want, *torch.autograd.grad(want, exact, slope.double())]):
        limit = TOLERANCE[dtype] * max(1, w.abs().max().item())
        assert (g.double() - w).abs().max() <= limit


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_gradient_of_the_gradient_has_the_same_weights_dropped(device, is_causal):
    n, keys, p = 20, 260, 0.3
    q, k, v = (torch.randn(1, 2, m, 8, device=device) for m in (n, keys, keys))
    call = torch.nn.functional.scaled_dot_product_attention
    rows = torch.eye(keys, device=device).expand(1, 2, keys, keys).split(130, -1)

    def drawn(*operands):
        torch.manual_seed(5)
        return call(*operands, dropout_p=p, is_causal=is_causal)

    kept = torch.cat([drawn(q * 0, k, part) for part in rows], -1) != 0
    seen = torch.ones(n, keys, dtype=torch.bool, device=device)
    seen = seen.tril() if is_causal else seen

    def plain(q, k, v):
        weights = (q @ k.mT / 8**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        return weights * kept / (1 - p) @ v

    def second(attention, dtype):
        leaves = [t.to(dtype).requires_grad_() for t in (q, k, v)]
        grads = torch.autograd.grad(attention(*leaves).sin().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.cos().sum() for g in grads), leaves)

    for a, b in zip(second(drawn, torch.float32), second(plain, torch.float64)):
        assert (a.double() - b).abs().max() <= 1e-4 * max(1, b.abs().max().item())


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_a_checkpoint_drops_the_same_weights_again(device, p):
    x = torch.randn(2, 2, 40, 16, device=device, requires_grad=True)
    slope = torch.randn(2, 2, 40, 16, device=device)

    def block(x):
        call = torch.nn.functional.scaled_dot_product_attention
        return call(x, x.sin(), x, dropout_p=p, is_causal=True)

    def found(run):
        torch.manual_seed(3)
        return torch.autograd.grad(run(x), x, slope)[0]

    checkpoint = torch.utils.checkpoint.checkpoint
    assert torch.equal(found(block), found(lambda x: checkpoint(block, x, use_reentrant=False)))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("dtype", list(TOLERANCE)[1:], ids=str)
def test_decoding_reads_what_a_cache_holds(device, dtype, heads, masked):
    """One query and the keys so far, a view of memory for more; their share of heads, and the parts
    that they are read in, do not show."""
    length, held, width = 700, 1024, 24
    q = torch.randn(2, 2 * heads, 1, width, device=device).to(dtype)
    cache = [torch.randn(2, 2, held, width, device=device).to(dtype) for _ in range(2)]
    k, v = (t[:, :, :length] for t in cache)
    mask = torch.rand(2, 1, 1, length, device=device) < 0.7 if masked else None
    call = torch.nn.functional.scaled_dot_product_attention
    got = call(q, k, v, mask, enable_gqa=True)
    leaves = [t.detach().double() for t in (q, k, v)]
    want = call(leaves[0], *(t.repeat_interleave(heads, 1) for t in leaves[1:]), mask)
    assert got.shape == want.shape and (got.double() - want).abs().max() <= TOLERANCE[dtype]


@pytest.mark.parametrize("form", ["layer", "function"])
def test_what_drops_or_learns_a_mask_keeps_no_score(device, form):
    """Forward and backward take less memory than the scores of all heads would."""
    heads, width = 8, 32
    length = 128 if device.startswith("cuda") else 1024  # each of whose threads is emulated
    kind = {"dtype": torch.bfloat16, "device": device}
    mask = torch.zeros(length, length, requires_grad=True, **kind)
    if form == "layer":
        layer = torch.nn.MultiheadAttention(width, heads, dropout=0.1, **kind).train()
        x = torch.randn(length, 1, width, requires_grad=True, **kind)
        run = lambda: layer(x, x, x, attn_mask=mask, need_weights=False)[0]
    else:
        x = torch.randn(1, heads, length, width // heads, requires_grad=True, **kind)
        call = torch.nn.functional.scaled_dot_product_attention
        run = lambda: call(x, x, x, mask, dropout_p=0.1)
    place = torch.device(device)
    api.memory_reset_peak_stats(place)
    before = api.memory_allocated(place)
    run().sum().backward()
    assert x.grad.isfinite().all() and mask.grad.abs().max() > 0
    assert api.memory_max_allocated(place) - before < heads * length**2 * 2


def test_gradient_of_the_gradient_agrees(device):
    """The slope of the tiles' gradient is that of operations one by one."""
    n = 70
    shapes = [(1, 2, n, 4)] * 3
    tensors = [torch.randn(s, dtype=torch.float64, device=device) for s in shapes]

    def second(attention):
        leaves = [t.clone().requires_grad_() for t in tensors]
        grads = torch.autograd.grad(attention(*leaves).sin().sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(g.cos().sum() for g in grads), leaves)

    def plain(q, k, v):
        later = torch.ones(n, n, dtype=torch.bool, device=device).triu(1)
        scores = (q @ k.transpose(-1, -2) / 2).masked_fill(later, -torch.inf)
        return torch.softmax(scores, -1) @ v

    ours = second(lambda *t: torch.nn.functional.scaled_dot_product_attention(*t, is_causal=True))
    for a, b in zip(ours, second(plain)):
        assert torch.allclose(a, b, atol=1e-10)


@pytest.mark.parametrize("form", ["causal", "dropped", "learnt mask"])
def test_threads_do_not_change_bits(device, batch_of, form):
    shape = *batch_of((6, 4)), 150, 16
    tensors = [torch.randn(shape, device=device, requires_grad=True) for _ in range(3)]
    if form == "learnt mask":
        tensors.append(torch.randn(150, 150, device=device, requires_grad=True))
    options = {"is_causal": form == "causal", "dropout_p": 0.3 if form == "dropped" else 0.0}
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for t in tensors:
                t.grad = None
            torch.manual_seed(5)
            y = torch.nn.functional.scaled_dot_product_attention(*tensors, **options)
            y.square().sum().backward()
            results.append([y.detach(), *[t.grad for t in tensors]])
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results))


@pytest.mark.parametrize("value", [-1e9, "least"], ids=str)
@pytest.mark.parametrize("dtype", list(TOLERANCE)[1:], ids=str)  # f64 keeps scores beside -1e9
def test_keys_that_a_finite_mask_hides_alike_count_alike(dtype, value, device):
    """As in a batch that is padded on the left: what a row sees is the mean of all values."""
    value = torch.finfo(dtype).min if value == "least" else value
    q, k, v, dy = (torch.randn(1, 2, 40, 16).to(dtype).to(device) for _ in range(4))
    for t in (q, k, v):
        t.requires_grad_()
    value = max(value, torch.finfo(dtype).min)
    mask = torch.full((40, 40), value)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask.to(dtype).to(device))
    y.backward(dy)
    close = {"rtol": 0, "atol": TOLERANCE[dtype]}
    if value < -1e6:  # beside it scores are nothing
        torch.testing.assert_close(y, v.mean(2, keepdim=True).expand_as(y), **close)
        torch.testing.assert_close(v.grad, dy.mean(2, keepdim=True).expand_as(y), **close)
    assert q.grad.isfinite().all() and k.grad.isfinite().all()


def test_a_mask_that_repeats_takes_no_memory_of_its_own(device):
    place = torch.device(device)
    q = torch.randn(4, 8, 128, 16, dtype=torch.bfloat16, device=device)
    mask = torch.zeros(1, 1, 128, 128, dtype=torch.bfloat16, device=device)
    peaks = []
    for given in (mask, mask.expand(4, 8, 128, 128)):
        api.memory_reset_peak_stats(place)
        torch.nn.functional.scaled_dot_product_attention(q, q, q, given)
        peaks.append(api.memory_max_allocated(place))
    assert peaks[0] == peaks[1]


def peak_of(run, place):
    api.memory_reset_peak_stats(place)
    before = api.memory_allocated(place)
    run()
    return api.memory_max_allocated(place) - before


@pytest.mark.parametrize("form", ["causal", "learnt mask", "mask by head"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_heads_that_share_keys_share_what_is_added(device, dtype, form):
    """Forward and backward by passes, one head of keys: less than a mask for each head in f32."""
    emulated = device.startswith("cuda")
    heads, length, width = (16, 96, 264) if emulated else (32, 512, 4)
    kind = {"dtype": dtype, "device": device}
    q = torch.randn(1, heads, length, width, requires_grad=True, **kind)
    k = torch.randn(1, 1, length, width, requires_grad=True, **kind)
    mask = None
    if form != "causal":
        sizes = (heads if form == "mask by head" else 1, length, length)
        mask = torch.zeros(sizes, requires_grad=form == "learnt mask", **kind)
    call = torch.nn.functional.scaled_dot_product_attention
    options = dict(is_causal=mask is None, enable_gqa=True)
    if form == "mask by head":
        options["dropout_p"] = 0.1  # forward by passes, too
    peak = peak_of(lambda: call(q, k, k, mask, **options).sum().backward(), q.device)
    tiles = 12 * q.numel() * 4  # of operands and gradients that are widened
    assert q.grad.isfinite().all() and peak < heads * length**2 * 4 // 2 + tiles


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_an_expanded_mask_takes_no_memory_where_weights_drop(device, dtype):
    """As where none is dropped: forward and backward convert what it repeats once."""
    heads, length = (8, 64) if device.startswith("cuda") else (16, 256)
    q = torch.randn(1, heads, length, 16, dtype=dtype, device=device, requires_grad=True)
    masks = [torch.zeros(1, 1, 1, length, dtype=dtype, device=device)]
    masks.append(masks[0].expand(1, heads, length, length))
    call = torch.nn.functional.scaled_dot_product_attention
    run = lambda mask: call(q, q, q, mask, dropout_p=0.1).sum().backward()
    run(masks[0])  # what stays of the first
    once, expanded = (peak_of(lambda m=m: run(m), q.device) for m in masks)
    assert expanded - once < heads * length**2 * 4 // 2  # threads' own memory comes and goes
