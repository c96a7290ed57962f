"""Bytes on a rank: parameters, gradients and optimizer states by Rajbhandari et al. (ZeRO, SC'20),
activations by Korthikanti et al. (MLSys 2023). Mixed precision with Adam: 2 bytes a parameter, 2 a
gradient, 12 for a float32 copy and two moments."""

from __future__ import annotations

from dataclasses import dataclass

PARAMETER, GRADIENT, OPTIMIZER = 2, 2, 12
STAGES = (0, 1, 2, 3)  # of ZeRO; 0 is plain data parallelism


@dataclass(frozen=True)
class Model:
    """A GPT: `layers` of width `hidden`, sequences of `length` tokens. `fused` attention keeps no
    matrix of scores (FlashAttention)."""

    name: str
    layers: int
    hidden: int
    heads: int
    vocabulary: int = 51200
    length: int = 2048
    fused: bool = False

    @property
    def parameters(self) -> float:
        """Narayanan et al., SC'21, equation 2."""
        l, h = self.layers, self.hidden
        return l * (12 * h**2 + 13 * h) + (self.vocabulary + self.length) * h

    def layer_flops(self) -> float:
        """Of one token in one layer, forward: products and attention (ibid., appendix)."""
        h = self.hidden
        return 24 * h**2 * (1 + self.length / (6 * h))

    def head_flops(self) -> float:
        """Of one token's logits, forward."""
        return 2 * self.hidden * self.vocabulary

    def activation(self, tensor: int = 1, split_sequence: bool = False) -> float:
        """Bytes that backward keeps of one token in one layer (Korthikanti et al., table 2)."""
        scores = 0 if self.fused else 5 * self.heads * self.length / tensor
        if split_sequence:
            return 34 * self.hidden / tensor + scores
        return (10 + 24 / tensor) * self.hidden + scores


def states(parameters: float, data: int, stage: int) -> float:
    """Parameters, gradients and optimizer states on one of `data` ranks."""
    if stage not in STAGES:
        raise ValueError(f"ZeRO has the stages 1, 2 and 3, and 0 stands for none; got {stage}")
    parts = ((PARAMETER, 3), (GRADIENT, 2), (OPTIMIZER, 1))
    return sum(size * parameters / (data if stage >= begins else 1) for size, begins in parts)


def traffic(parameters: float, stage: int) -> float:
    """Elements that a rank sends in a step of many ranks (Rajbhandari et al., section 7): stages 1
    and 2 cost what an all-reduce does, stage 3 collects the parameters once more."""
    return (3 if stage == 3 else 2) * parameters


RECOMPUTE = ("none", "selective", "full")


def activations(model: Model, tokens: float, layers: float, recompute: str, tensor: int = 1,
                split_sequence: bool = False, held: float = 1) -> float:  # fmt: skip
    """What backward keeps of `held` micro-batches of `tokens` in `layers`. "selective" computes
    attention's scores again, "full" all of a layer from its input: of the one at hand all is kept
    for a while."""
    if recompute not in RECOMPUTE:
        raise ValueError(f"recompute is one of {', '.join(RECOMPUTE)}; got {recompute}")
    whole = model.activation(tensor, split_sequence)
    if recompute == "none":
        return held * tokens * layers * whole
    if recompute == "selective":
        scores = 0 if model.fused else 5 * model.heads * model.length / tensor
        return held * tokens * layers * (whole - scores)
    inputs = 2 * model.hidden / (tensor if split_sequence else 1)
    return tokens * (held * layers * inputs + whole)
