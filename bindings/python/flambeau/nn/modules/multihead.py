"""MultiheadAttention: parameters, masks and layouts around the functional form."""

from .. import functional as F
from .. import init
from .._attention import as_added
from ..parameter import room
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over [length, n, e], or [n, length, e] where `batch_first`."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False,
                 add_zero_attn=False, kdim=None, vdim=None, batch_first=False, device=None,
                 dtype=None):  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        kind = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        shapes = {"q": embed_dim, "k": self.kdim, "v": self.vdim}
        whole = self._qkv_same_embed_dim
        for name, size in shapes.items():
            self.register_parameter(
                f"{name}_proj_weight", room((embed_dim, size), not whole, **kind)
            )
        self.register_parameter("in_proj_weight", room((3 * embed_dim, embed_dim), whole, **kind))
        self.register_parameter("in_proj_bias", room(3 * embed_dim, bias, **kind))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **kind)
        self.bias_k = room((1, 1, embed_dim), add_bias_kv, **kind)
        self.bias_v = room((1, 1, embed_dim), add_bias_kv, **kind)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in "in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight":
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in self.bias_k, self.bias_v:
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):  # fmt: skip
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            query, key, value = _swapped(query, key, value)
        packed = (self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v)
        apart = {n: getattr(self, n) for n in ("q_proj_weight", "k_proj_weight", "v_proj_weight")}
        out = (self.out_proj.weight, self.out_proj.bias)
        output, weights = F.multi_head_attention_forward(
            *(query, key, value, self.embed_dim, self.num_heads, *packed, self.add_zero_attn),
            *(self.dropout, *out, self.training, as_added(key_padding_mask, query), need_weights),
            attn_mask=as_added(attn_mask, query),
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **apart,
        )
        return output.transpose(0, 1) if swapped else output, weights


def _swapped(query, key, value):
    """Length first; equal operands stay one, so that they are projected together."""
    new_query = query.transpose(0, 1)
    new_key = new_query if key is query else key.transpose(0, 1)
    return new_query, new_key, new_key if value is key else value.transpose(0, 1)
