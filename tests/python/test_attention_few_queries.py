"""Attention of so few queries that keys and values are used where they lie, on both sides of how
many that are: every tail of widths and keys, masks, causal order, shared heads, views, threads."""

import math

import flambeau as torch
import pytest
from flambeau.nn.functional import scaled_dot_product_attention as attention

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2}
LENGTHS = [1, 2, 3, 5, 8, 9]


def drawn(*sizes, dtype):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(sum(sizes))).to(dtype)


def plain(q, k, v, mask=None, causal=False):
    q, k, v = q.double(), k.double(), v.double()
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask.double()
    return scores.softmax(-1) @ v


def check(q, k, v, mask=None, causal=False):
    y = attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=True)
    allowed = TOLERANCE[q.dtype] * float(v.double().abs().max())
    torch.testing.assert_close(y.double(), plain(q, k, v, mask, causal), rtol=0, atol=allowed)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_every_tail(dtype, length):
    for keys in (1, 7, 16, 33, 1030):
        for width, value_width in ((64, 64), (2, 3), (13, 70), (40, 9)):
            q = drawn(2, 2, length, width, dtype=dtype)
            k, v = (drawn(2, 2, keys, w, dtype=dtype) for w in (width, value_width))
            check(q, k, v)
            check(q, k, v, causal=True)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("heads", [1, 2, 6])
def test_masks_and_shared_heads(length, heads):
    q = drawn(2, 6, length, 24, dtype=torch.float32)
    k, v = (drawn(2, heads, 50, w, dtype=torch.float32) for w in (24, 17))
    draws = torch.rand(2, 6, length, 50, generator=torch.Generator().manual_seed(1))
    draws[..., 3] = 1
    check(q, k, v)
    for seen in (draws, draws[:, :1], draws[:1, :, :1], draws[:, :, :, 3:4]):
        check(q, k, v, mask=seen > 0.5)
        check(q, k, v, mask=seen)


@pytest.mark.parametrize("length", [9, 300])
@pytest.mark.parametrize("heads", [1, 2])
def test_more_queries_share_packed_heads(length, heads):
    """Keys and values are packed once for the heads that share them, as far as queries see them."""
    q = drawn(3, 6, length, 24, dtype=torch.float32)
    k, v = (drawn(3, heads, 290, w, dtype=torch.float32) for w in (24, 17))
    before = torch.get_num_threads()
    for threads in (1, 3):
        torch.set_num_threads(threads)
        check(q, k, v)
        check(q, k, v, causal=True)
    torch.set_num_threads(before)


@pytest.mark.parametrize("length", LENGTHS)
def test_views_and_rows_that_see_nothing(length):
    packed = drawn(2, 40, 4, 3 * 16, dtype=torch.float32)  # as a layer's one product leaves it
    q, k, v = (x.transpose(1, 2) for x in packed.split(16, -1))
    q = q[:, :, :length]
    check(q, k, v)
    check(q.mT.contiguous().mT, k, v)
    check(q, k.mT.contiguous().mT, v)
    check(q, k, v.mT.contiguous().mT)
    hidden = torch.full((length, 40), -math.inf)
    assert not attention(q, k, v, attn_mask=hidden).any()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_query_has_the_bits_that_it_has_alone(dtype):
    q = drawn(2, 2, 8, 72, dtype=dtype)
    for keys in (5, 90, 1100):
        k, v = (drawn(2, 2, keys, w, dtype=dtype) for w in (72, 40))
        together = attention(q, k, v)
        for i in range(8):
            assert torch.equal(together[:, :, i : i + 1], attention(q[:, :, i : i + 1], k, v))


def test_same_bits_for_every_number_of_threads():
    q = drawn(1, 3, 4, 64, dtype=torch.float32)
    k, v = (drawn(1, 3, 3000, 64, dtype=torch.float32) for _ in range(2))
    before, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append(attention(q, k, v))
    torch.set_num_threads(before)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
