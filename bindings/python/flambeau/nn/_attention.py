"""Attention of several heads in torch's spelling."""

from .._gen import api


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight,
                                 in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p,
                                 out_proj_weight, out_proj_bias, training=True,
                                 key_padding_mask=None, need_weights=True, attn_mask=None,
                                 use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None,
                                 static_v=None, average_attn_weights=True,
                                 is_causal=False):  # fmt: skip
    """Attention with projections before and after; its weights too where `need_weights`."""
    if static_k is not None or static_v is not None:
        raise NotImplementedError("multi_head_attention_forward: static_k and static_v")
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
    call = api.multihead_attention_weights if need_weights else api.multihead_attention
    result = call(
        *(query, key, value, num_heads, whole, in_proj_bias, *apart, bias_k, bias_v),
        *(out_proj_weight, out_proj_bias, key_padding_mask, attn_mask, dropout_p, training),
        *(add_zero_attn, False),
    )
    if not need_weights:
        return result, None
    output, weights = result
    return output, weights.mean(-3) if average_attn_weights else weights


FUNCTIONS = {"multi_head_attention_forward": multi_head_attention_forward}
