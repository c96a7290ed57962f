"""Attention, alone and with heads and projections."""

import numpy as np
from scipy import special

from tests.harness.gen import api
from tests.harness.table import always, op, unit, x

KW = dict(elementwise=False, ulp=8, atol={"float16": 2e-2, "bfloat16": 0.15, "float32": 2e-5})


def softmax(scores):
    """Rows in which nothing counts are 0."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(special.softmax(scores, -1), nan=0.0)


def added(mask):
    """A mask as what is added to scores; of bool ones, true is what counts."""
    return np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask


def causal(length, keys):
    return np.tril(np.ones((length, keys), bool))


def attend(q, k, v, mask=0.0, scale=None):
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    weights = softmax(q @ k.swapaxes(-1, -2) * scale + mask)
    return weights @ v, weights


def attention(
    q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        k, v = (np.repeat(t, q.shape[-3] // t.shape[-3], -3) for t in (k, v))
    mask = 0.0 if attn_mask is None else added(attn_mask)
    if is_causal:
        mask = added(causal(q.shape[-2], k.shape[-2]))
    return attend(q, k, v, mask, scale)[0] * (1 - dropout_p)


SEEN = x(
    3, 4, dtype="bool", values=(True, False, True, True, *[False] * 4, True, True, False, True)
)
QKV = (x(2, 3, 5), x(2, 4, 5), x(2, 4, 2))
op(
    "scaled_dot_product_attention",
    ref=attention,
    samples=[QKV, (x(1, 2, 3, 4), x(1, 2, 3, 4), x(1, 2, 3, 4)), (*QKV, SEEN), (*QKV, x(2, 3, 4))],
    options=[dict(scale=0.3), dict(scale=-0.3), dict(dropout_p=1.0)],
    pairs=[
        (QKV, dict(is_causal=True)),
        ((x(3, 5), x(3, 5), x(3, 5)), dict(is_causal=True, scale=1.0)),
        ((x(1, 4, 3, 5), x(1, 2, 3, 5), x(1, 2, 3, 5)), dict(enable_gqa=True)),
        ((x(0, 3, 5), x(0, 4, 5), x(0, 4, 2)), {}),
        ((x(1, 0, 3, 5), x(1, 2, 4, 5), x(1, 2, 4, 2)), dict(enable_gqa=True)),
    ],
    big=[(x(4, 90, 20), x(4, 80, 20), x(4, 80, 20)), (x(2, 3, 5), x(2, 4, 5), x(2, 4, 2), SEEN)],
    refuses=[
        ((x(5), x(4, 5), x(4, 5)), {}, "at least 2 dim"),
        ((*QKV, SEEN), dict(is_causal=True), "should not be set when is_causal"),
        ((x(2, 3, 5), x(2, 4, 5), x(2, 4, 2, dtype="float64")), {}, "same dtype"),
        ((x(1, 3, 3, 5), x(1, 2, 3, 5), x(1, 2, 3, 5)), dict(enable_gqa=True), "must divide"),
        ((x(2, 3, 5), x(2, 4, 4), x(2, 4, 2)), {}, "size|shape"),
    ],
    **KW,
)


def visible(length, keys, left, right):
    """Which keys count, where the last query's place is that of the last key."""
    ahead = np.arange(keys)[None, :] - np.arange(length)[:, None] - (keys - length)
    seen = np.ones((length, keys), bool)
    seen &= ahead >= -left if left >= 0 else True
    seen &= ahead <= right if right >= 0 else True
    return seen


def varlen(
    q,
    k,
    v,
    cu_q,
    cu_k,
    used=None,
    scale=None,
    window_left=-1,
    window_right=-1,
    enable_gqa=False,
):
    """Attention of each sequence by itself, and the logarithms of its sums."""
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scale = 1 / np.sqrt(q.shape[2]) if scale is None else scale
    y = np.zeros((*q.shape[:2], v.shape[2]))
    lse = np.full((q.shape[1], q.shape[0]), np.inf)
    for i, (start, end) in enumerate(zip(cu_q, cu_q[1:])):
        last = cu_k[i + 1] if used is None else cu_k[i] + used[i]
        a, b, c = q[start:end], k[cu_k[i] : last], v[cu_k[i] : last]
        a, b, c = (t.swapaxes(0, 1) for t in (a, b, c))
        hidden = added(visible(a.shape[1], b.shape[1], window_left, window_right))
        scores = a @ b.swapaxes(-1, -2) * scale + hidden
        if scores.shape[-1]:
            y[start:end] = (softmax(scores) @ c).swapaxes(0, 1)
        with np.errstate(divide="ignore"):
            sums = special.logsumexp(scores, -1) if scores.shape[-1] else -np.inf
        lse[:, start:end] = np.where(sums == -np.inf, np.inf, sums)
    return [y, lse]


def places(*starts, dtype="int32"):
    return x(len(starts), dtype=dtype, values=starts)


PACKED = (x(6, 2, 4), x(7, 2, 4), x(7, 2, 3), places(0, 2, 2, 6), places(0, 3, 5, 7))
VARLEN = dict(
    arrange=lambda f, q, k, v, cu_q, cu_k, used=None, **o: f(
        q, k, v, cu_q, cu_k, **o, **({} if used is None else {"seqused_k": used})
    ),
    samples=[PACKED],
    options=[
        dict(window_right=0),
        dict(window_left=1, window_right=0),
        dict(window_left=0, window_right=1, scale=0.3),
    ],
    pairs=[
        ((x(3, 4, 4), x(3, 2, 4), x(3, 2, 4), *[places(0, 1, 3)] * 2), dict(enable_gqa=True)),
        ((x(3, 1, 4), x(4, 1, 4), x(4, 1, 4), places(0, 3), places(0, 4)), {}),
        (
            (*[x(n, 1, 4, grad=False) for n in (3, 4, 4)], places(0, 2, 3), places(0, 2, 4))
            + (places(1, 0),),
            {},
        ),
        (
            (*[x(n, 1, 4, grad=False) for n in (3, 4, 4)], places(0, 2, 3, dtype="int64"))
            + (places(0, 2, 4), places(1, 2, dtype="int64")),
            {},
        ),
        ((x(3, 0, 4), x(3, 2, 4), x(3, 2, 4), *[places(0, 1, 3)] * 2), dict(enable_gqa=True)),
        ((x(5, 1, 4), x(6, 1, 4), x(6, 1, 4), places(0, 2, 3), places(0, 2, 4)), {}),
    ],
    big=[(x(90, 2, 20), x(80, 2, 20), x(80, 2, 20), places(0, 20, 90), places(0, 70, 80))],
    refuses=[
        ((x(6, 4), *PACKED[1:]), {}, "must be of .rows, heads, columns"),
        ((*PACKED[:3], x(4), PACKED[4]), {}, "cu_seq_q must be int32"),
        ((*PACKED[:3], places(0, 6), PACKED[4]), {}, "of the same size"),
        ((x(6, 4, 4), *PACKED[1:]), {}, "same number of heads"),
        ((x(6, 3, 4), *PACKED[1:]), dict(enable_gqa=True), "multiple of kv heads"),
        ((x(6, 2, 5), *PACKED[1:]), {}, "columns of query"),
        (PACKED, dict(scale=0.0), "scale must be greater than 0"),
        ((*PACKED[:3], places(0, 4, 2, 6), PACKED[4]), {}, "must not fall"),
        ((*PACKED[:3], places(0, 2, 2, 7), PACKED[4]), {}, "end with at most 6"),
        ((x(6, 2, 4), x(7, 0, 4), x(7, 0, 3), *PACKED[3:]), dict(enable_gqa=True), "Hkv=0"),
        ((*PACKED, places(3, 3, 2)), {}, r"seqused_k.1. must be from 0 to 2"),
        ((*PACKED, places(3, -1, 2)), {}, r"seqused_k.1. must be from 0 to 2.*got -1"),
        ((*PACKED[:4], places(1, 2, 3, 7)), {}, "begin with 0"),
    ],
)
op("varlen_attn", ref=lambda *ts, **o: varlen(*ts, **o)[0], **VARLEN, **KW)
op(
    "varlen_attn_lse",
    ref=lambda *ts, **o: varlen(*ts, **o)[1],
    call=lambda *ts, **o: api.varlen_attn_lse(*ts, **o)[1],
    result=always("float32"),
    grad=False,
    **VARLEN,
    **KW,
)


def separate(tensors, e):
    """The three projections: of one matrix, or their own."""
    whole, bias = tensors.get("in_proj_weight"), tensors.get("in_proj_bias")
    if whole is None:
        weights = [tensors[f"{n}_proj_weight"] for n in "qkv"]
    else:
        weights = np.split(whole, 3)
    return list(zip(weights, [0.0] * 3 if bias is None else np.split(bias, 3)))


def by_heads(t, heads):
    """[length, n, e] as [n, heads, length, e / heads]."""
    return t.reshape(*t.shape[:2], heads, -1).transpose(1, 2, 0, 3)


def more_keys(k, v, tensors, add_zero_attn):
    if "bias_k" in tensors:
        n = k.shape[1]
        k, v = (
            np.concatenate([t, np.repeat(tensors[b], n, 1)])
            for t, b in ((k, "bias_k"), (v, "bias_v"))
        )
    if add_zero_attn:
        k, v = (np.concatenate([t, np.zeros_like(t[:1])]) for t in (k, v))
    return k, v


def multi_head(
    q,
    k,
    v,
    *rest,
    given=(),
    num_heads=2,
    add_zero_attn=False,
    is_causal=False,
    dropout=0.0,
    training=False,
):
    tensors = dict(zip(given, rest))
    if q.ndim == 2:
        alone = multi_head(
            *[t[:, None] for t in (q, k, v)],
            *rest,
            given=given,
            num_heads=num_heads,
            add_zero_attn=add_zero_attn,
            is_causal=is_causal,
        )
        return [alone[0][:, 0], alone[1][0]]
    length, n, e = q.shape
    keys = k.shape[0]
    q, k, v = (t @ w.T + b for t, (w, b) in zip((q, k, v), separate(tensors, e)))
    k, v = more_keys(k, v, tensors, add_zero_attn)
    mask = np.zeros((n, num_heads, length, k.shape[0]))
    hidden = tensors.get("attn_mask")
    if hidden is not None:  # of bool ones, true is what does not count
        hidden = added(~hidden) if hidden.dtype == bool else hidden
        mask[..., :keys] += (
            hidden.reshape(-1, num_heads, *hidden.shape[1:]) if hidden.ndim == 3 else hidden
        )
    elif is_causal:
        mask[..., :keys] += added(causal(length, keys))
    if "key_padding_mask" in tensors:
        padding = tensors["key_padding_mask"]
        padding = added(~padding) if padding.dtype == bool else padding
        mask[..., :keys] += padding.reshape(n, 1, 1, keys)
    y, weights = attend(*[by_heads(t, num_heads) for t in (q, k, v)], mask)
    if training and dropout:
        y, weights = y * (1 - dropout), weights * (1 - dropout)
    y = y.transpose(2, 0, 1, 3).reshape(length, n, e)
    if "proj_weight" in tensors:
        y = y @ tensors["proj_weight"].T + tensors.get("proj_bias", 0.0)
    return [y, weights]


def named(f, q, k, v, *rest, given=(), num_heads=2, **options):
    return f(q, k, v, num_heads, **dict(zip(given, rest)), **options)


Q, KEYS, E = unit(3, 2, 4), unit(5, 2, 4), 4
ONE = ("in_proj_weight", "in_proj_bias", "proj_weight", "proj_bias")
OWN = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
IN, OUT = (unit(3 * E, E), unit(3 * E)), (unit(E, E), unit(E))
FUTURE = x(3, 5, dtype="bool", values=(False, False, True, False, False, False, True))
HEADS = dict(
    arrange=named,
    samples=[(Q, KEYS, KEYS, *IN, *OUT)],
    options=[dict(given=ONE), dict(given=ONE, num_heads=1, is_causal=True)],
    required=True,
    pairs=[
        ((Q, unit(5, 2, 3), unit(5, 2, 2), unit(4, 4), unit(4, 3), unit(4, 2)), dict(given=OWN)),
        ((x(3, 4), x(5, 4), x(5, 4), *IN), dict(given=ONE[:2])),
        (
            (Q, KEYS, KEYS, *IN, x(1, 1, 4), x(1, 1, 4), FUTURE),
            dict(given=(*ONE[:2], "bias_k", "bias_v", "attn_mask"), add_zero_attn=True),
        ),
        (
            (Q, KEYS, KEYS, IN[0], x(4, 3, 5), x(2, 5)),
            dict(given=("in_proj_weight", "attn_mask", "key_padding_mask")),
        ),
        (
            (Q, KEYS, KEYS, IN[0], x(2, 5, dtype="bool", values=(False, True, False))),
            dict(given=("in_proj_weight", "key_padding_mask")),
        ),
        ((Q, KEYS, KEYS, *IN), dict(given=ONE[:2], dropout=1.0, training=True)),
        ((Q, KEYS, KEYS, *IN), dict(given=ONE[:2], dropout=1.0)),
    ],
    big=[(x(40, 8, 4), x(50, 8, 4), x(50, 8, 4), *IN, *OUT)],
    refuses=[
        ((Q, KEYS, KEYS, *IN, *OUT), dict(given=ONE, num_heads=3), "not divisible by num_heads"),
        ((Q, KEYS, x(4, 2, 4), *IN, *OUT), dict(given=ONE), "does not match value shape"),
        ((Q, KEYS, KEYS), dict(given=()), "must be given"),
        ((x(2, 3, 2, 4), KEYS, KEYS, *IN), dict(given=ONE[:2]), "2D or batched 3D"),
        ((Q, x(5, 4), KEYS, *IN), dict(given=ONE[:2]), "3-D"),
        ((Q, KEYS, KEYS, x(9, 3)), dict(given=ONE[:1]), "embedding dimension"),
        (
            (Q, KEYS, KEYS, IN[0], x(3, 4)),
            dict(given=("in_proj_weight", "attn_mask")),
            "shape of the 2D attn_mask",
        ),
        (
            (Q, KEYS, KEYS, IN[0], x(2, 4)),
            dict(given=("in_proj_weight", "key_padding_mask")),
            "key_padding_mask",
        ),
    ],
)
op("multihead_attention_weights", ref=multi_head, **HEADS, **KW)
op(
    "multihead_attention",
    ref=lambda *ts, **o: multi_head(*ts, **o)[0],
    call=api.multihead_attention,
    **HEADS,
    **KW,
)
