"""flex_attention: scores and masks as functions, against scaled_dot_product_attention and against
numbers of torch."""

import functools
import math

import pytest


@pytest.fixture
def flex(torch):
    from flambeau.nn.attention import flex_attention

    return flex_attention


def qkv(torch, device, heads=2, queries=5, keys=7, **options):
    torch.manual_seed(4)
    sizes = ((heads, queries), (heads, keys), (heads, keys))
    return [torch.randn(2, h, n, 8, device=device, **options) for h, n in sizes]


def causal(b, h, q, kv):
    return q >= kv


def test_without_functions_it_is_attention(torch, device, flex):
    q, k, v = qkv(torch, device)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    assert torch.allclose(flex.flex_attention(q, k, v), expected, atol=1e-6)
    out, lse = flex.flex_attention(q, k, v, scale=0.5, return_lse=True)
    assert torch.allclose(lse, (0.5 * q @ k.mT).logsumexp(-1), atol=1e-6)
    aux = flex.flex_attention(q, k, v, return_aux=flex.AuxRequest(max_scores=True))[1]
    assert aux.lse is None and aux.max_scores.shape == (2, 2, 5)


def test_masks(torch, device, flex):
    q, k, v = qkv(torch, device, queries=7)
    mask = flex.create_block_mask(causal, None, None, 7, 7, device=device)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=mask), expected, atol=1e-6)
    documents = torch.tensor([0, 0, 1, 1, 1, 2, 2], device=device)

    def same(b, h, q, kv):
        return documents[q] == documents[kv]

    mask = flex.create_block_mask(flex.and_masks(causal, same), 2, 2, 7, 7, device=device)
    dense = flex.create_mask(flex.and_masks(causal, same), 2, 2, 7, 7, device=device)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=dense)
    assert torch.allclose(flex.flex_attention(q, k, v, block_mask=mask), expected, atol=1e-6)
    either = flex.create_mask(flex.or_masks(causal, same), None, None, 7, 7, device=device)
    at = torch.arange(7, device=device)
    same_document = documents[:, None] == documents
    assert torch.equal(either[0, 0], (at[:, None] >= at) | same_document)
    assert flex.create_mask(flex.noop_mask, None, None, 2, 2).all()


def test_masks_that_are_no_plain_functions(torch, device, flex):
    def window(size, b, h, q, kv):
        return (q - kv).abs() < size

    narrow = functools.partial(window, 2)
    mask = flex.create_mask(narrow, None, None, 4, 4, device=device)
    assert mask.sum() == 10
    with pytest.raises(ValueError, match="4 or 5 positional args, got 2"):
        flex.create_mask(lambda q, kv: q >= kv, None, None, 4, 4, device=device)


def test_full_blocks_among_the_others(torch, device, flex):
    sizes = None, None, 256, 256
    mask = flex.create_block_mask(causal, *sizes, device=device, separate_full_blocks=False)
    assert mask.kv_num_blocks.tolist() == [[[1, 2]]] and mask.full_kv_num_blocks is None
    moved = mask.to(device)
    assert moved.full_kv_indices is None and moved.sparsity() == mask.sparsity() == 25
    apart = flex.create_block_mask(causal, *sizes, device=device)
    assert apart.full_kv_num_blocks.tolist() == [[[0, 1]]]
    assert apart.to_dense().equal(mask.to_dense())


def test_scores_and_their_gradients(torch, device, flex):
    q, k, v = qkv(torch, device, dtype=torch.float64, requires_grad=True)
    slopes = torch.tensor([0.5, 0.25], device=device, dtype=torch.float64, requires_grad=True)

    def alibi(score, b, h, q, kv):
        return score + slopes[h] * (kv - q)

    out = flex.flex_attention(q, k, v, score_mod=alibi)
    at_q, at_k = torch.arange(5, device=device), torch.arange(7, device=device)
    bias = slopes[:, None, None] * (at_k - at_q[:, None])
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    assert torch.allclose(out, expected)
    for got, want in zip(
        torch.autograd.grad(out.square().sum(), (q, k, v, slopes)),
        torch.autograd.grad(expected.square().sum(), (q, k, v, slopes)),
    ):
        assert torch.allclose(got, want)


def test_a_query_without_keys_gives_zeros(torch, device, flex):
    q, k, v = qkv(torch, device, requires_grad=True)
    mask = flex.create_block_mask(lambda b, h, q, kv: (q > 0) & (kv < 3), None, None, 5, 7, device)
    out, lse = flex.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert not out[:, :, 0].any() and lse[0, 0, 0] == -math.inf and out[:, :, 1:].all()
    assert all(g.isfinite().all() for g in torch.autograd.grad(out.sum(), (q, k, v)))


def test_heads_are_shared_when_asked(torch, device, flex):
    q = qkv(torch, device, heads=4)[0]
    _, k, v = qkv(torch, device, heads=2)
    out = flex.flex_attention(q, k, v, enable_gqa=True)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    assert torch.allclose(out, expected, atol=1e-6)
    with pytest.raises(ValueError, match="same number of heads"):
        flex.flex_attention(q, k, v)


def test_blocks(torch, flex):
    """Of 300 places: torch's blocks; those of the last row are cut, so that none is full."""
    mask = flex.create_block_mask(causal, None, None, 300, 300)
    assert mask.shape == (1, 1, 300, 300) and mask.BLOCK_SIZE == (128, 128)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    assert mask.kv_indices[0, 0, 1].tolist() == [1, 0, 2]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert mask.sparsity() == pytest.approx(100 / 3)
    assert str(mask) == (
        "BlockMask(shape=(1, 1, 300, 300), sparsity=33.33%,\n(0, 0)\n░░    \n██░░  \n░░░░░░\n)"
    )
    assert mask.to("cpu").numel() == 90000


def test_what_does_not_fit_is_refused(torch, flex):
    q, k, v = qkv(torch, "cpu")
    with pytest.raises(NotImplementedError, match="4D"):
        flex.flex_attention(q[0], k, v)
    with pytest.raises(ValueError, match="same dtype"):
        flex.flex_attention(q.double(), k, v)
    mask = flex.create_block_mask(causal, None, None, 7, 7)
    with pytest.raises(RuntimeError, match=r"create_block_mask\(mask_mod, B, H, 5, 7\)"):
        flex.flex_attention(q, k, v, block_mask=mask)
    with pytest.raises(RuntimeError, match="callable"):
        flex.and_masks(causal, 3)


@pytest.mark.parametrize("masked", ["no mask", "window", "everything", "by head"])
@pytest.mark.parametrize("scored", ["as they are", "alibi", "twice", "bent", "chosen"])
def test_what_goes_to_the_kernel_is_what_the_scores_give(torch, device, flex, scored, masked):
    """With the logarithms of the sums, the scores are there as one tensor."""
    q, k, v = qkv(torch, device, queries=6)
    k, v = k[:1], v[:1]  # for all of the batch
    slopes = torch.tensor([0.5, 0.25], device=device)
    score_mod = {
        "as they are": None,
        "alibi": lambda score, b, h, q, kv: score + slopes[h] * (kv - q),
        "twice": lambda score, b, h, q, kv: 1 + (score - (q - kv)) + slopes[h],
        "bent": lambda score, b, h, q, kv: 2 * torch.tanh(score / 2),
        "chosen": lambda score, b, h, q, kv: torch.where(q < 3, score, -score),
    }[scored]
    mask_mod = {
        "no mask": None,
        "window": lambda b, h, q, kv: (q - kv).abs() < 2,
        "everything": flex.noop_mask,
        "by head": lambda b, h, q, kv: (kv + h + b) % 3 > 0,
    }[masked]
    mask = mask_mod and flex.create_block_mask(mask_mod, 2, 2, 6, 7, device=device)
    out = flex.flex_attention(q, k, v, score_mod, mask)
    expected, _ = flex.flex_attention(q, k, v, score_mod, mask, return_lse=True)
    assert torch.allclose(out, expected, atol=1e-6)


def test_functions_that_add_write_no_score(torch, device, flex):
    """Backward takes no memory for scores of all heads, which would be 3 MiB."""
    if device == "cpu":
        pytest.skip("memory of the host is not counted by device")
    q, k, v = (torch.randn(1, 12, 256, 4, device=device, requires_grad=True) for _ in range(3))
    mask = flex.create_block_mask(causal, None, None, 256, 256, device=device)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    out = flex.flex_attention(q, k, v, lambda s, b, h, q, kv: s + 0.1 * (kv - q), mask)
    out.sum().backward()
    assert torch.cuda.max_memory_allocated() - before < 3 << 20


def against_f64(torch, flex, q, k, v, score_mod, bias):
    """What flex_attention gives, the same in f64 with all that is added as one tensor, and the
    logarithms of the sums of both."""
    out = flex.flex_attention(q, k, v, score_mod)
    _, lse = flex.flex_attention(q, k, v, score_mod, return_lse=True)
    q, k, v = (t.double() for t in (q, k, v))
    scores = q @ k.mT / math.sqrt(q.size(-1)) + bias
    return out.double(), scores.softmax(-1) @ v, lse, scores.logsumexp(-1)


@pytest.mark.parametrize("form", ["subtracted", "summed", "mixed"])
@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64"])
def test_integers_do_not_wrap(torch, device, flex, kind, form):
    """Numbers of which the sums, or the negatives, are beyond the narrow dtypes."""
    q, k, v = qkv(torch, device)
    high = 30000 if kind == "int16" else 120
    whole = torch.tensor([high, 1, 0, high - 2, 1, high - 1, high], device=device)
    some = whole.to(getattr(torch, kind))
    score_mod, bias = {
        "subtracted": (lambda s, b, h, q, kv: s - some[kv], -whole),
        "summed": (lambda s, b, h, q, kv: some[kv] + s + some[kv] + some[kv - 1], None),
        "mixed": (lambda s, b, h, q, kv: s + some[kv] - (kv - q) * 0.5 - some[kv - 1], None),
    }[form]
    if form == "summed":
        bias = 2 * whole + whole.roll(1)
    elif form == "mixed":
        at = torch.arange(7, device=device)
        bias = whole - (at - at[:5, None]) * 0.5 - whole.roll(1)
    out, ideal, lse, ideal_lse = against_f64(torch, flex, q, k, v, score_mod, bias)
    error = 1e-2 if kind == "int16" else 1e-4  # of scores of 1e5 and 1e2 in f32
    assert torch.allclose(out, ideal, atol=error, rtol=0)
    assert torch.allclose(lse.double(), ideal_lse, atol=error, rtol=0)


# What adds to or changes scores of half queries, and whether their dtype holds what is added.
OF_HALVES = {
    "slope": (lambda s, t, kv: s + kv * 0.05, False),
    "one half": (lambda s, t, kv: s - t["half"][kv], True),
    "two halves": (lambda s, t, kv: s + t["half"][kv] + t["half"][kv - 1], False),
    "other half": (lambda s, t, kv: s + t["other"][kv], False),
    "byte": (lambda s, t, kv: s - t["byte"][kv], True),
    "truth": (lambda s, t, kv: s + (t["byte"][kv] > 100), True),
    "integer": (lambda s, t, kv: s + t["byte"][kv].int(), False),
    "double": (lambda s, t, kv: s + t["double"][kv], False),
    "number": (lambda s, t, kv: s + 0.1, False),
    "nothing": (lambda s, t, kv: s, True),
    "scores": (lambda s, t, kv: s * 1 + kv * 0.05, None),
}


@pytest.fixture(params=["bfloat16", "float16"])
def half(request, torch):
    return getattr(torch, request.param)


@pytest.fixture
def terms(torch, device, half):
    """Of 1024 keys, in several dtypes, of numbers to 50, which halves round by 0.1."""
    numbers = torch.linspace(0, 50, 1024, dtype=torch.float64, device=device)
    other = torch.float16 if half is torch.bfloat16 else torch.bfloat16
    return {
        "half": numbers.to(half),
        "other": numbers.to(other),
        "byte": (torch.arange(1024, device=device) % 256).to(torch.uint8),
        "double": numbers,
    }


@pytest.mark.parametrize("form", OF_HALVES)
def test_scores_of_halves_are_f32(torch, device, flex, half, terms, form, monkeypatch):
    """The result is rounded, as the weights may be; the scores, of 50 and more, are not."""
    torch.manual_seed(4)
    q, k, v = (torch.randn(1, 2, n, 8).to(device, half) for n in (5, 1024, 1024))
    plain = torch.nn.functional.scaled_dot_product_attention
    given = []

    def attention(query, *operands, **options):
        given.append(query.dtype)
        return plain(query, *operands, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
    function, held = OF_HALVES[form]
    zero, at = torch.zeros((), dtype=torch.float64, device=device), torch.arange(1024).to(device)
    bias = function(zero, {n: t.double() for n, t in terms.items()}, at)
    out, ideal, lse, ideal_lse = against_f64(
        torch, flex, q, k, v, lambda s, b, h, q, kv: function(s, terms, kv), bias
    )
    allowed = torch.finfo(half).eps * float(ideal.abs().max())
    assert torch.allclose(out, ideal, atol=allowed, rtol=0)
    assert lse.dtype is torch.float32 and torch.allclose(lse.double(), ideal_lse, atol=1e-4)
    assert given == {True: [half], False: [torch.float32], None: []}[held]


def test_slopes_of_f32_beside_halves(torch, device, flex, half):
    """The gradient of what is added is as exact as it is."""
    torch.manual_seed(4)
    q, k, v = (torch.randn(1, 2, n, 8).to(device, half) for n in (5, 300, 300))
    slopes = torch.tensor([0.03, 0.07], device=device, requires_grad=True)
    weights = torch.randn(1, 2, 5, 8).to(device, half)
    out = flex.flex_attention(q, k, v, lambda s, b, h, q, kv: s + slopes[h] * kv)
    found = torch.autograd.grad((out * weights).sum(dtype=torch.float64), slopes)[0]
    ideal = slopes.detach().double().requires_grad_()
    bias = ideal[:, None, None] * torch.arange(300, device=device)
    scores = q.double() @ k.double().mT / math.sqrt(8) + bias
    wanted = ((scores.softmax(-1) @ v.double()) * weights).sum()
    wanted = torch.autograd.grad(wanted, ideal)[0]
    assert torch.allclose(found.double(), wanted, rtol=1e-3)


@pytest.mark.parametrize("form", ["slope", "one half", "scores"])
def test_autocast_lowers_operands_alone(torch, device, flex, half, terms, form):
    q, k, v = (torch.randn(1, 2, n, 8, device=device) for n in (5, 1024, 1024))

    def score_mod(s, b, h, q, kv):
        return OF_HALVES[form][0](s, terms, kv)

    with torch.autocast(device, dtype=half):
        out = flex.flex_attention(q, k, v, score_mod)
    expected = flex.flex_attention(q.to(half), k.to(half), v.to(half), score_mod)
    assert out.dtype is half and out.equal(expected)


def test_a_function_may_write_to_what_it_added(torch, device, flex):
    q, k, v = qkv(torch, device)
    bias = torch.linspace(-3, 3, 7, device=device)

    def score_mod(s, b, h, q, kv):
        term = bias[kv]
        s = s + term
        term.mul_(5)
        return s

    out, ideal, _, _ = against_f64(torch, flex, q, k, v, score_mod, bias)
    assert torch.allclose(out, ideal, atol=1e-6)


def test_truths_are_not_subtracted(torch, device, flex):
    """As of tensors."""
    q, k, v = qkv(torch, device)
    with pytest.raises(RuntimeError, match="bool"):
        flex.flex_attention(q, k, v, lambda s, b, h, q, kv: s - (kv > 2))


def test_a_score_mod_that_returns_nothing_is_named(torch, device, flex):
    q, k, v = qkv(torch, device)

    def forgets(score, b, h, q_idx, kv_idx):
        score * 2

    with pytest.raises(ValueError, match="score_mod `forgets` must only return Tensors"):
        flex.flex_attention(q, k, v, score_mod=forgets)
