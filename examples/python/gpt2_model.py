"""GPT-2 as a module, and its weights as OpenAI published them (Radford et al., 2019, "Language
Models are Unsupervised Multitask Learners"). Parameters have the names of that checkpoint, which
keeps the weights of products turned: [inputs, outputs]."""

import math
from dataclasses import dataclass

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn
from flambeau.safetensors import load_file

TURNED = "c_attn.weight", "c_proj.weight", "c_fc.weight"
# Logits of this many tokens are there at a time: all of them would be the step's largest tensor.
CHUNKED = nn.LinearCrossEntropyOptions(batch_chunk_size=2048)


@dataclass
class Sizes:
    vocabulary: int = 50257
    context: int = 1024
    layers: int = 12
    heads: int = 12
    width: int = 768
    dropout: float = 0.0

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError(
                f"--width {self.width} is no multiple of --heads {self.heads}; each head has an "
                "equal part of the width"
            )


class Attention(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.c_attn = nn.Linear(sizes.width, 3 * sizes.width)
        self.c_proj = nn.Linear(sizes.width, sizes.width)
        self.heads, self.dropout = sizes.heads, sizes.dropout

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.c_attn(x).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        return F.dropout(self.c_proj(y.transpose(1, 2).reshape(n, length, width)), dropout)


class Perceptron(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.c_fc = nn.Linear(sizes.width, 4 * sizes.width)
        self.c_proj = nn.Linear(4 * sizes.width, sizes.width)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.ln_1 = nn.LayerNorm(sizes.width)
        self.attn = Attention(sizes)
        self.ln_2 = nn.LayerNorm(sizes.width)
        self.mlp = Perceptron(sizes)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """Tokens in, int64 [n, length]; logits of those that follow out, [n, length, vocabulary]. With
    those that do follow, the mean loss. The embedding is the last layer's weight, too."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        with torch.device("meta"):  # values come from `initialize`, or from a file
            self.wte = nn.Embedding(sizes.vocabulary, sizes.width)
            self.wpe = nn.Embedding(sizes.context, sizes.width)
            self.h = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
            self.ln_f = nn.LayerNorm(sizes.width)
        self.to_empty(device="cpu")

    def forward(self, codes, following=None):
        places = torch.arange(codes.shape[1], device=codes.device)
        dropout = self.sizes.dropout if self.training else 0.0
        x = F.dropout(self.wte(codes) + self.wpe(places), dropout)
        for block in self.h:
            x = block(x)
        x = self.ln_f(x)
        if following is None:
            return F.linear(x, self.wte.weight)
        x, following = x.flatten(0, 1), following.flatten()
        return F.linear_cross_entropy(x, self.wte.weight, following, options=CHUNKED)

    @torch.no_grad()
    def initialize(self, seed):
        """Values as GPT-2's begin: normal numbers, those of products that go into the residual
        stream smaller by the root of how many there are."""
        generator = torch.Generator().manual_seed(seed)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() == 1:
                nn.init.ones_(parameter)
            else:
                std = 0.01 if name == "wpe.weight" else 0.02
                if name.endswith("c_proj.weight"):
                    std /= math.sqrt(2 * self.sizes.layers)
                nn.init.normal_(parameter, std=std, generator=generator)
        return self

    @classmethod
    def load(cls, path, heads, dropout):
        """The model of a checkpoint, whose sizes are those of its tensors, but for the number of
        heads."""
        state = from_public(load_file(path))
        missing = {"wte.weight", "wpe.weight", "ln_f.weight"} - state.keys()
        if missing:
            raise ValueError(
                f"{path} has no {sorted(missing)[0]}; these are not the weights of a GPT-2"
            )
        model = cls(sizes_of(state, heads, dropout))
        model.load_state_dict(state)
        return model


def sizes_of(state, heads, dropout):
    """The sizes of the model whose weights these are."""
    vocabulary, width = state["wte.weight"].shape
    layers = len({name.split(".")[1] for name in state if name.startswith("h.")})
    heads = heads or heads_of(width)
    return Sizes(vocabulary, len(state["wpe.weight"]), layers, heads, width, dropout)


def heads_of(width):
    """How many a GPT-2 of this width has, whichever of its four sizes it is."""
    return max(width // 64, 1)


def _turned(state):
    return {
        name: value.T.contiguous() if name.endswith(TURNED) else value
        for name, value in state.items()
    }


def to_public(state):
    """Weights as the public checkpoint has them."""
    return _turned(state)


def from_public(state):
    """A public checkpoint's weights as those of the module. Some files have a prefix, the last
    layer, which is the embedding, or the causal masks besides."""
    named = {name.removeprefix("transformer."): value for name, value in state.items()}
    masks = ".attn.bias", ".attn.masked_bias"
    own = {n: v.float() for n, v in named.items() if n != "lm_head.weight"}
    return _turned({n: v for n, v in own.items() if not n.endswith(masks)})
