"""Attention of several heads in torch's spelling."""

from .._gen import api
from .._gen import ops as _ops
from .._torch import bool as bool_type
from .._torch import zeros_like

_F = _ops.FUNCTIONAL


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight,
                                 in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True,
                                 key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None,
                                 static_v=None, average_attn_weights=True,
                                 is_causal=False):  # fmt: skip
    """Attention with projections before and after; its weights too where `need_weights`.
    `static_k` and `static_v`, [n * num_heads, length, e / num_heads], stand for projected ones."""
    if query.shape[-1] != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {query.shape[-1]}"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    apart, whole = (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_weight
    apart, whole = (apart, None) if use_separate_proj_weight else ((None,) * 3, whole)
    if static_k is None and static_v is None:
        call = api.multihead_attention_weights if need_weights else api.multihead_attention
        result = call(
            *(query, key, value, num_heads, whole, in_proj_bias, *apart, bias_k, bias_v),
            *(out_proj_weight, out_proj_bias, key_padding_mask, attn_mask, dropout_p, training),
            *(add_zero_attn, False),
        )
        output, weights = result if need_weights else (result, None)
    else:
        if bias_k is not None or bias_v is not None:
            raise AssertionError("bias cannot be added to static keys or values")
        projected = _projected((query, key, value), apart if whole is None else whole.chunk(3),
                               in_proj_bias)  # fmt: skip
        mask = _added_mask(attn_mask, key_padding_mask, num_heads, query)
        how = mask, add_zero_attn, dropout_p if training else 0.0
        output, weights = _attend(*projected, (static_k, static_v), num_heads, *how)
        output = _F["linear"](output, out_proj_weight, out_proj_bias)
    if not need_weights:
        return output, None
    return output, weights.mean(-3) if average_attn_weights else weights


def _projected(operands, weights, bias):
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [_F["linear"](x, w, b) for x, w, b in zip(operands, weights, biases)]


def _attend(query, key, value, static, num_heads, mask, add_zero_attn, dropout_p):
    """Output [length, n, e] and weights [n, num_heads, length, keys]."""
    length, n, embed = query.shape
    q, k, v = (
        x.reshape(len(x), n * num_heads, -1).transpose(0, 1) if given is None else given
        for x, given in zip((query, key, value), (None, *static))
    )
    for x in k, v:
        if x.shape[0] != len(q) or x.shape[2] != q.shape[2]:
            raise AssertionError(
                f"expecting static keys and values of shape [{len(q)}, ..., {q.shape[2]}], but got "
                f"{list(x.shape)}"
            )
    if add_zero_attn:
        k, v = (_F["pad"](x, (0, 0, 0, 1)) for x in (k, v))
        mask = None if mask is None else _F["pad"](mask, (0, 1))
    scores = (q * q.shape[2] ** -0.5) @ k.transpose(1, 2)
    weights = _ops._softmax(scores if mask is None else scores + mask, -1)
    weights = _F["dropout"](weights, dropout_p)
    output = (weights @ v).transpose(0, 1).reshape(length, n, embed)
    return output, weights.unflatten(0, (n, num_heads))


def _added_mask(attn_mask, key_padding_mask, num_heads, query):
    """Both masks as what is added to the scores of n * num_heads heads; None without one."""
    if key_padding_mask is None:
        return as_added(attn_mask, query)
    padding = as_added(key_padding_mask, query).repeat_interleave(num_heads, 0).unsqueeze(1)
    return padding if attn_mask is None else padding + as_added(attn_mask, query)


def as_added(mask, like):
    """Bool masks as what is added to scores, in the dtype of the computation."""
    if mask is None or mask.dtype is not bool_type:
        return mask
    return zeros_like(mask, dtype=like.dtype).masked_fill_(mask, float("-inf"))


FUNCTIONS = {"multi_head_attention_forward": multi_head_attention_forward}
