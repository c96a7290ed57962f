"""Attention of sequences of any lengths that lie one after the other, in torch's spelling.

The library takes heads of any number of columns and the cpu, too. Keys in pages (`block_table`) are
an error. `max_q`, `max_k` and `num_splits` change nothing: lengths are read from the places, and a
sequence's result never depends on what is beside it."""

from typing import NamedTuple

from ... import _torch as torch
from ..._gen import api

__all__ = ["varlen_attn", "varlen_attn_out", "AuxRequest"]


class AuxRequest(NamedTuple):
    """Which by-products `varlen_attn` returns."""

    lse: bool = False


def varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None,
                window_size=(-1, -1), enable_gqa=False, seqused_k=None, block_table=None,
                num_splits=None):  # fmt: skip
    """softmax(scale * query keyᵀ) value, each query of [queries, heads, e] over the keys of its own
    sequence of [keys, heads, e].

    `cu_seq_q` and `cu_seq_k`, integers [n + 1], say where each sequence begins and the last ends.
    `window_size` is how many keys a query sees before and after its place, which is counted from
    the sequence's end: (-1, 0) is causal. `seqused_k`, [n], says how many keys of each sequence
    count. With `return_aux` = AuxRequest(lse=True) the logarithms of the sums come too, [heads,
    queries]. Rows after the last sequence are 0, their logarithms infinity. Places are read on the
    host, so a call cannot be captured in a CUDA graph."""
    if block_table is not None:
        raise NotImplementedError(
            "varlen_attn: block_table is not supported; gather the pages of each sequence into one "
            "tensor of keys and one of values"
        )
    if cu_seq_k is None:
        raise ValueError("varlen_attn: cu_seq_k must be given without block_table")
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    if query.dim() == key.dim() == 3:
        _check_heads(query.size(1), key.size(1), enable_gqa)
    if scale is not None and not scale > 0:
        raise ValueError(f"scale must be greater than 0, got {scale}")
    wants_lse = return_aux is not None and return_aux.lse
    call = api.varlen_attn_lse if wants_lse else api.varlen_attn
    return call(query, key, value, cu_seq_q, cu_seq_k, scale, *window_size, enable_gqa, seqused_k)


def _check_heads(queries, keys, enable_gqa):
    if not enable_gqa and queries != keys:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={queries} and Hkv={keys}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and (keys == 0 or queries % keys != 0):
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={queries} and Hkv={keys}."
        )


def varlen_attn_out(out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None,
                    scale=None, window_size=(-1, -1), enable_gqa=False, seqused_k=None,
                    block_table=None, num_splits=None):  # fmt: skip
    """`varlen_attn` written to `out`, of its shape, dtype and device, without gradients."""
    shape = (*query.shape[:-1], *value.shape[-1:])
    if (out.shape, out.dtype, out.device) != (shape, query.dtype, query.device):
        raise ValueError(
            f"varlen_attn_out: out must be of shape {list(shape)}, {query.dtype} and on "
            f"{query.device}, got {list(out.shape)}, {out.dtype} on {out.device}"
        )
    with torch.no_grad():
        result = varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k,
                             return_aux=return_aux, scale=scale, window_size=window_size,
                             enable_gqa=enable_gqa, seqused_k=seqused_k, block_table=block_table,
                             num_splits=num_splits)  # fmt: skip
        if isinstance(result, tuple):
            return out.copy_(result[0]), result[1]
        return out.copy_(result)
