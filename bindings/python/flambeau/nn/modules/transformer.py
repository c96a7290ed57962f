"""Transformer layers and stacks, composed of attention, linear layers and norms as torch names
them."""

import copy

from ..._torch import full, triu
from .. import functional as F
from .. import init
from .batchnorm import LayerNorm
from .container import ModuleList
from .linear import Linear
from .module import Module
from .multihead import MultiheadAttention
from .simple import Dropout


def _activation(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _clones(module, n):
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


def _later_hidden(n, device=None, dtype=None):
    """[n, n]: -inf where a later position is, else 0."""
    return triu(full((n, n), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask, is_causal, x, layers):
    """Whether a mask hides exactly what is later; looks where the caller does not say."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    length = x.shape[1 if layers[0].self_attn.batch_first and x.dim() == 3 else 0]
    if tuple(mask.shape) != (length, length):
        return False
    return bool((mask == _later_hidden(length, mask.device, mask.dtype)).all())


class _Layer(Module):
    """The feed-forward half that both kinds of layer share."""

    _attentions = ()

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu,
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False, bias=True, device=None,
                 dtype=None):  # fmt: skip
        super().__init__()
        kind = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            how = {"dropout": dropout, "batch_first": batch_first}
            setattr(self, name, MultiheadAttention(d_model, nhead, **how, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        count = len(self._attentions) + 1
        for i in range(count):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, eps=layer_norm_eps, **kind))
        for i in range(count):
            setattr(self, f"dropout{i + 1}", Dropout(dropout))
        self.activation = _activation(activation)
        self.activation_relu_or_gelu = {F.relu: 1, F.gelu: 2}.get(self.activation, 0)

    def _through(self, x, *parts):
        """`x` through the parts, the last of them the network, each with a residual and a norm."""
        for i, part in enumerate((*parts, self._feed), 1):
            norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            if self.norm_first:
                x = x + dropout(part(norm(x)))
            else:
                x = norm(x + dropout(part(x)))
        return x

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(self, attention, x, memory, mask, padding, is_causal):
        masks = {"attn_mask": mask, "key_padding_mask": padding}
        causal = is_causal and mask is not None
        return attention(x, memory, memory, **masks, is_causal=causal, need_weights=False)[0]

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual and a norm."""

    _attentions = ("self_attn",)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        masks = src_mask, src_key_padding_mask, is_causal
        return self._through(src, lambda x: self._attend(self.self_attn, x, x, *masks))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention over a memory, and a feed-forward network."""

    _attentions = "self_attn", "multihead_attn"

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False,
                memory_is_causal=False):  # fmt: skip
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        other = memory_mask, memory_key_padding_mask, memory_is_causal
        to_itself = lambda x: self._attend(self.self_attn, x, x, *own)
        to_memory = lambda x: self._attend(self.multihead_attn, x, memory, *other)
        return self._through(tgt, to_itself, to_memory)


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after another."""

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ):
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        causal = _is_causal(mask, is_causal, src, self.layers)
        for layer in self.layers:
            src = layer(
                src, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask
            )
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after another."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None,
                memory_is_causal=False):  # fmt: skip
        masks = {"tgt_mask": tgt_mask, "tgt_key_padding_mask": tgt_key_padding_mask}
        masks |= {"memory_mask": memory_mask, "memory_key_padding_mask": memory_key_padding_mask}
        hides_later = _is_causal(tgt_mask, tgt_is_causal, tgt, self.layers)
        causal = {"tgt_is_causal": hides_later, "memory_is_causal": memory_is_causal}
        for layer in self.layers:
            tgt = layer(tgt, memory, **masks, **causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
                 dim_feedforward=2048, dropout=0.1, activation=F.relu, custom_encoder=None,
                 custom_decoder=None, layer_norm_eps=1e-5, batch_first=False, norm_first=False,
                 bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        shared += (batch_first, norm_first, bias)

        def stack(custom, layer, whole, count):
            if custom is not None:
                return custom
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
            return whole(layer(*shared, **kind), count, norm)

        self.encoder = stack(
            custom_encoder, TransformerEncoderLayer, TransformerEncoder, num_encoder_layers
        )
        self.decoder = stack(
            custom_decoder, TransformerDecoderLayer, TransformerDecoder, num_decoder_layers
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None,
                src_key_padding_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                src_is_causal=None, tgt_is_causal=None, memory_is_causal=False):  # fmt: skip
        n = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[n] != tgt.shape[n]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        masks = {"tgt_mask": tgt_mask, "tgt_key_padding_mask": tgt_key_padding_mask}
        masks |= {"memory_mask": memory_mask, "memory_key_padding_mask": memory_key_padding_mask}
        causal = {"tgt_is_causal": tgt_is_causal, "memory_is_causal": memory_is_causal}
        return self.decoder(tgt, memory, **masks, **causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """[sz, sz]: -inf where a later position is, else 0."""
        return _later_hidden(sz, device, dtype)

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
