"""Layers with fixed parameters on fixed inputs, in float64: what both PyTorch (make.py) and the tests
compute. Parameters and inputs follow from a formula of the position, so only results are stored."""

import math

import numpy as np


def numbers(shape, phase):
    """Values between -1 and 1, no two alike."""
    return np.sin(np.arange(math.prod(shape)) * 1.7 + phase).reshape(shape)


SEQ, IMG, VOL = (2, 4, 9), (2, 4, 6, 7), (2, 3, 4, 5, 6)
ROWS = (3, 5)


def _of(kind, *arguments, **options):
    return lambda nn: getattr(nn, kind)(*arguments, **options)


# name: (how to make the module, shapes of its inputs)
CASES = {
    "Conv1d": (_of("Conv1d", 4, 6, 3, padding="same", groups=2), [SEQ]),
    "Conv2d": (_of("Conv2d", 4, 2, (3, 2), 2, 1, padding_mode="reflect"), [IMG]),
    "Conv2d circular": (_of("Conv2d", 4, 2, 3, padding=2, padding_mode="circular"), [IMG]),
    "Conv3d": (_of("Conv3d", 3, 4, 2, dilation=(1, 2, 1), bias=False), [VOL]),
    "ConvTranspose1d": (_of("ConvTranspose1d", 4, 3, 3, 2, 1, 1), [SEQ]),
    "ConvTranspose2d": (_of("ConvTranspose2d", 4, 6, 3, 2, groups=2, dilation=2), [IMG]),
    "ConvTranspose3d": (_of("ConvTranspose3d", 3, 2, 2, 2), [VOL]),
    "MaxPool1d": (_of("MaxPool1d", 3, 2, 1), [SEQ]),
    "MaxPool3d": (_of("MaxPool3d", 2, ceil_mode=True), [VOL]),
    "AvgPool1d": (_of("AvgPool1d", 2), [SEQ]),
    "AvgPool3d": (_of("AvgPool3d", (2, 2, 3), 1), [VOL]),
    "LPPool2d": (_of("LPPool2d", 2, 2), [IMG]),
    "AdaptiveMaxPool2d": (_of("AdaptiveMaxPool2d", (3, None)), [IMG]),
    "AdaptiveAvgPool3d": (_of("AdaptiveAvgPool3d", (2, None, 3)), [VOL]),
    "ReflectionPad2d": (_of("ReflectionPad2d", (1, 2, 0, 3)), [IMG]),
    "ReplicationPad3d": (_of("ReplicationPad3d", 1), [VOL]),
    "CircularPad1d": (_of("CircularPad1d", 2), [SEQ]),
    "ZeroPad2d": (_of("ZeroPad2d", 1), [IMG]),
    "ConstantPad1d": (_of("ConstantPad1d", (2, -1), 3.5), [SEQ]),
    "GroupNorm": (_of("GroupNorm", 2, 4), [IMG]),
    "InstanceNorm2d": (_of("InstanceNorm2d", 4), [IMG]),
    "InstanceNorm1d tracked": (
        _of("InstanceNorm1d", 4, affine=True, track_running_stats=True),
        [SEQ],
    ),
    "LayerNorm": (_of("LayerNorm", (6, 7)), [IMG]),
    "RMSNorm": (_of("RMSNorm", 7), [IMG]),
    "BatchNorm3d": (_of("BatchNorm3d", 3), [VOL]),
    "LocalResponseNorm": (_of("LocalResponseNorm", 3, alpha=0.2), [IMG]),
    "PReLU": (_of("PReLU", 4), [IMG]),
    "RReLU": (lambda nn: nn.RReLU().eval(), [IMG]),
    "Hardshrink": (_of("Hardshrink"), [ROWS]),
    "Softshrink": (_of("Softshrink", 0.3), [ROWS]),
    "Threshold": (_of("Threshold", 0.1, 2.0), [ROWS]),
    "GLU": (_of("GLU"), [SEQ[:2]]),
    "Softmax2d": (_of("Softmax2d"), [IMG]),
    "Bilinear": (_of("Bilinear", 5, 4, 3), [ROWS, (3, 4)]),
    "CosineSimilarity": (_of("CosineSimilarity"), [ROWS, ROWS]),
    "PairwiseDistance": (_of("PairwiseDistance", keepdim=True), [ROWS, ROWS]),
    "PixelShuffle": (_of("PixelShuffle", 2), [IMG]),
    "PixelUnshuffle": (_of("PixelUnshuffle", 2), [(1, 2, 4, 6)]),
    "ChannelShuffle": (_of("ChannelShuffle", 2), [IMG]),
    "Unfold": (_of("Unfold", (2, 3), stride=2), [IMG]),
    "Fold": (_of("Fold", (4, 5), (2, 3)), [(2, 12, 9)]),
    "Upsample": (_of("Upsample", scale_factor=2, mode="bilinear"), [IMG]),
    "Upsample bicubic": (_of("Upsample", (4, 9), mode="bicubic", align_corners=True), [IMG]),
    "UpsamplingNearest2d": (_of("UpsamplingNearest2d", scale_factor=2), [IMG]),
    "SmoothL1Loss": (_of("SmoothL1Loss", beta=0.5), [ROWS, ROWS]),
    "HuberLoss": (_of("HuberLoss", delta=0.3), [ROWS, ROWS]),
    "PoissonNLLLoss": (_of("PoissonNLLLoss", reduction="sum"), [ROWS, ROWS]),
    "SoftMarginLoss": (_of("SoftMarginLoss"), [ROWS, ROWS]),
    "TripletMarginLoss": (_of("TripletMarginLoss", swap=True), [ROWS, ROWS, ROWS]),
    "RNN": (_of("RNN", 4, 6, 2, nonlinearity="relu", batch_first=True), [(2, 5, 4)]),
    "RNN unbatched": (_of("RNN", 4, 6, bias=False), [(5, 4)]),
    "LSTM": (_of("LSTM", 4, 6, 2, bidirectional=True), [(5, 2, 4)]),
    "LSTM projected": (_of("LSTM", 4, 6, proj_size=3), [(5, 2, 4)]),
    "GRU": (_of("GRU", 4, 6, bidirectional=True), [(5, 2, 4)]),
    "RNNCell": (_of("RNNCell", 4, 6, nonlinearity="relu"), [(2, 4), (2, 6)]),
    "LSTMCell": (_of("LSTMCell", 4, 6), [(2, 4)]),
    "GRUCell": (_of("GRUCell", 4, 6), [(4,), (6,)]),
    "MultiheadAttention": (_of("MultiheadAttention", 6, 2), [(4, 2, 6), (5, 2, 6), (5, 2, 6)]),
    "MultiheadAttention wide": (
        _of("MultiheadAttention", 6, 3, add_bias_kv=True, add_zero_attn=True, kdim=4, vdim=5),
        [(4, 2, 6), (3, 2, 4), (3, 2, 5)],
    ),
    "TransformerEncoderLayer": (
        _of("TransformerEncoderLayer", 6, 2, 8, dropout=0.0, batch_first=True),
        [(2, 4, 6)],
    ),
    "TransformerDecoderLayer": (
        _of("TransformerDecoderLayer", 6, 2, 8, dropout=0.0, activation="gelu", norm_first=True),
        [(4, 2, 6), (3, 2, 6)],
    ),
    "Transformer": (
        _of("Transformer", 4, 2, 1, 2, 8, dropout=0.0),
        [(3, 2, 4), (4, 2, 4)],
    ),
}

TARGETS = {
    "SmoothL1Loss",
    "HuberLoss",
    "PoissonNLLLoss",
    "SoftMarginLoss",
}  # constant second inputs


def summary(torch, t):
    """Shape, first values, and all of them folded to one number."""
    weights = torch.tensor(numbers(tuple(t.shape), 50), device=t.device)
    total = (t.to(torch.float64) * weights).sum()
    return {"shape": list(t.shape), "start": t.flatten()[:20].tolist(), "sum": float(total)}


def _flat(output):
    if isinstance(output, (tuple, list)):
        return [t for part in output if part is not None for t in _flat(part)]
    return [output]


def results(torch, name, device="cpu"):
    """What is stored of one case: repr, state dict, outputs and gradients, as plain lists."""
    make, shapes = CASES[name]
    module = make(torch.nn).to(torch.float64).to(device)
    state = module.state_dict()
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(torch.tensor(numbers(tuple(p.shape), i) * 0.5))
    inputs = [
        torch.tensor(numbers(s, 10 + i), device=device, requires_grad=i == 0 or name not in TARGETS)
        for i, s in enumerate(shapes)
    ]
    outputs = _flat(module(*inputs))
    total = 0
    for i, y in enumerate(outputs):
        total = total + (y * torch.tensor(numbers(tuple(y.shape), 20 + i), device=device)).sum()
    wanted = [t for t in [*inputs, *module.parameters()] if t.requires_grad]
    grads = torch.autograd.grad(total, wanted, allow_unused=True)
    return {
        "repr": repr(module),
        "state": {key: list(t.shape) for key, t in state.items()},
        "buffers": [summary(torch, b) for b in module.buffers()],
        "outputs": [summary(torch, y) for y in outputs],
        "gradients": [
            None
            if g is None
            else float((g * torch.tensor(numbers(tuple(g.shape), 3), device=device)).sum())
            for g in grads
        ],
    }
