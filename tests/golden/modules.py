"""Every class of torch.nn, made by keyword alone: how it prints, what its state dict holds and which
attributes programs read. The values of parameters and of buffers are drawn and not stored."""

KEYWORDS = (
    ({"output_size": 2}, "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
     "AdaptiveMaxPool2d AdaptiveMaxPool3d"),
    ({"in_features": 4, "n_classes": 6, "cutoffs": [2, 4]}, "AdaptiveLogSoftmaxWithLoss"),
    ({}, "AlphaDropout BCELoss BCEWithLogitsLoss CELU CTCLoss CosineEmbeddingLoss CosineSimilarity "
     "CrossEntropyLoss Dropout Dropout1d Dropout2d Dropout3d ELU FeatureAlphaDropout Flatten GELU "
     "GLU GaussianNLLLoss Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss "
     "Identity KLDivLoss L1Loss LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d "
     "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LeakyReLU LogSigmoid LogSoftmax "
     "MSELoss MarginRankingLoss Mish MultiLabelMarginLoss MultiLabelSoftMarginLoss "
     "MultiMarginLoss NLLLoss NLLLoss2d PReLU PairwiseDistance PoissonNLLLoss RReLU ReLU ReLU6 "
     "SELU SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink "
     "Softsign Tanh Tanhshrink TripletMarginLoss TripletMarginWithDistanceLoss Upsample "
     "UpsamplingBilinear2d UpsamplingNearest2d"),
    ({"kernel_size": 2}, "AvgPool1d AvgPool2d AvgPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
     "MaxUnpool2d MaxUnpool3d Unfold"),
    ({"num_features": 4}, "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d "
     "InstanceNorm3d SyncBatchNorm"),
    ({"in1_features": 4, "in2_features": 4, "out_features": 3}, "Bilinear"),
    ({"groups": 2}, "ChannelShuffle"),
    ({"padding": 1}, "CircularPad1d CircularPad2d CircularPad3d ReflectionPad1d ReflectionPad2d "
     "ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d "
     "ZeroPad3d"),
    ({"padding": 1, "value": 0.5}, "ConstantPad1d ConstantPad2d ConstantPad3d"),
    ({"in_channels": 4, "out_channels": 4, "kernel_size": 2}, "Conv1d Conv2d Conv3d "
     "ConvTranspose1d ConvTranspose2d ConvTranspose3d"),
    ({"size": 3}, "CrossMapLRN2d LocalResponseNorm"),
    ({"num_embeddings": 5, "embedding_dim": 3}, "Embedding EmbeddingBag"),
    ({"output_size": (4, 4), "kernel_size": 2}, "Fold"),
    ({"kernel_size": 2, "output_size": 2}, "FractionalMaxPool2d FractionalMaxPool3d"),
    ({"input_size": 4, "hidden_size": 3}, "GRU GRUCell LSTM LSTMCell RNN RNNCell"),
    ({"num_groups": 2, "num_channels": 4}, "GroupNorm"),
    ({"norm_type": 2, "kernel_size": 2}, "LPPool1d LPPool2d LPPool3d"),
    ({"normalized_shape": 4}, "LayerNorm RMSNorm"),
    ({"out_channels": 4, "kernel_size": 2}, "LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
     "LazyConvTranspose2d LazyConvTranspose3d"),
    ({"out_features": 3}, "LazyLinear"),
    ({"in_features": 4, "out_features": 3}, "Linear"),
    ({"in_features": 4, "num_classes": 5}, "LinearCrossEntropyLoss"),
    ({"embed_dim": 4, "num_heads": 2}, "MultiheadAttention"),
    ({"upscale_factor": 2}, "PixelShuffle"),
    ({"downscale_factor": 2}, "PixelUnshuffle"),
    ({"threshold": 0.1, "value": 0.5}, "Threshold"),
    ({"d_model": 4, "nhead": 2}, "TransformerDecoderLayer TransformerEncoderLayer"),
    ({"d_model": 4, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}, "Transformer"),
    ({"dim": 1, "unflattened_size": (2, 2)}, "Unflatten"),
)  # fmt: skip
CASES = {name: given for given, names in KEYWORDS for name in names.split()}
CONTAINERS = (
    "Module Container Sequential ModuleList ModuleDict ParameterList ParameterDict DataParallel "
    "TransformerEncoder TransformerDecoder RNNBase RNNCellBase"
).split()


def results(torch, name):
    """What is stored of one class; paths as the tests may see them in either package."""
    module = getattr(torch.nn, name)(**CASES[name])
    plain = (bool, int, float, str, tuple, type(None))
    return {
        "repr": repr(module),
        "state": {key: str(t.dtype) for key, t in module.state_dict().items()},
        "attributes": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in sorted(vars(module).items())
            if key[0] != "_" and isinstance(value, plain)
        },
    }
