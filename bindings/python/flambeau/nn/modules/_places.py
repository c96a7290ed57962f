"""Where torch keeps its module classes: programs import them from `torch.nn.modules.activation` and
its neighbours, which here are files by other ideas. The classes are the same objects."""

import sys
import types

_OWN = {  # modules that only torch has
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU "
    "LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid "
    "Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold",
    "channelshuffle": "ChannelShuffle",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "normalization": "GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
}
_SHARED = {  # what torch's module of a name has more than the file of that name here
    "batchnorm": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
    "conv": "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d "
    "LazyConvTranspose3d",
    "instancenorm": "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d",
    "linear": "Bilinear LazyLinear",
    "loss": "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss "
    "MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss "
    "TripletMarginWithDistanceLoss",
}


def install(package, classes):
    """Makes torch's modules importable below `package`, whose classes are given by name."""
    for name, words in _OWN.items():
        full = f"{package.__name__}.{name}"
        made = sys.modules[full] = types.ModuleType(full, __doc__)
        setattr(package, name, made)
        vars(made).update({word: classes[word] for word in words.split()})
    for name, words in _SHARED.items():
        vars(getattr(package, name)).update({word: classes[word] for word in words.split()})
