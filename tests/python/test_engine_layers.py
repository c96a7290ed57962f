"""The library's layers, as C and Rust have them, beside the package's classes: the same text, the
same names, shapes and order of parameters, state that goes from one to the other through files, and
the same results."""

import pytest

from tests.harness.gen import api

SEQ, IMG, VOL = (2, 4, 9), (2, 4, 6, 7), (2, 4, 3, 4, 5)
WIDE = dict(dim_feedforward=8, dropout=0.0)

# name: (the library's, the package's, shapes of inputs)
LAYERS = {
    "linear": (("linear", 4, 3), ("Linear", 4, 3), [(2, 4)]),
    "linear without a bias": (
        ("linear", 4, 3, dict(bias=False)),
        ("Linear", 4, 3, dict(bias=False)),
        [(4,)],
    ),
    "bilinear": (("bilinear", 5, 4, 3), ("Bilinear", 5, 4, 3), [(2, 5), (2, 4)]),
    "prelu": (("prelu", dict(num_parameters=4)), ("PReLU", 4), [IMG]),
    "batch_norm": (("batch_norm", 4, 2), ("BatchNorm2d", 4), [IMG]),
    "batch_norm, plain": (
        ("batch_norm", 4, 1, dict(affine=False, track_running_stats=False)),
        ("BatchNorm1d", 4, dict(affine=False, track_running_stats=False)),
        [SEQ],
    ),
    "instance_norm": (("instance_norm", 4, 3), ("InstanceNorm3d", 4), [VOL]),
    "instance_norm, tracked": (
        ("instance_norm", 4, 1, dict(affine=True, track_running_stats=True, momentum=0.3)),
        ("InstanceNorm1d", 4, dict(affine=True, track_running_stats=True, momentum=0.3)),
        [SEQ],
    ),
    "instance_norm, one": (
        ("instance_norm", 4, 1, dict(track_running_stats=True)),
        ("InstanceNorm1d", 4, dict(track_running_stats=True)),
        [(4, 9)],
    ),
    "layer_norm": (("layer_norm", [6, 7]), ("LayerNorm", (6, 7)), [IMG]),
    "rms_norm": (("rms_norm", [7]), ("RMSNorm", 7), [IMG]),
    "group_norm": (("group_norm", 2, 4), ("GroupNorm", 2, 4), [IMG]),
    "conv1d": (
        ("convolution", 4, 6, [3], dict(groups=2, padding=[1], padding_mode="reflect")),
        ("Conv1d", 4, 6, 3, dict(groups=2, padding=1, padding_mode="reflect")),
        [SEQ],
    ),
    "conv2d": (
        ("convolution", 4, 2, [3, 3], dict(stride=[2], dilation=[1, 2], bias=False)),
        ("Conv2d", 4, 2, 3, dict(stride=2, dilation=(1, 2), bias=False)),
        [IMG],
    ),
    "conv3d": (("convolution", 4, 2, [2, 1, 3]), ("Conv3d", 4, 2, (2, 1, 3)), [VOL]),
    "conv_transpose2d": (
        ("convolution", 4, 6, [3, 3], dict(transposed=True, stride=[2], output_padding=[1])),
        ("ConvTranspose2d", 4, 6, 3, dict(stride=2, output_padding=1)),
        [IMG],
    ),
    "embedding": (
        ("embedding", 5, 3, dict(padding_idx=-1)),
        ("Embedding", 5, 3, dict(padding_idx=-1)),
        ["indices"],
    ),
    "embedding_bag": (
        ("embedding_bag", 5, 3, dict(mode="sum", padding_idx=2)),
        ("EmbeddingBag", 5, 3, dict(mode="sum", padding_idx=2)),
        ["indices"],
    ),
    "embedding_bag, factors": (
        ("embedding_bag", 5, 3, dict(mode="sum")),
        ("EmbeddingBag", 5, 3, dict(mode="sum")),
        ["indices", None, (2, 3)],
    ),
    "rnn": (
        ("recurrent", "rnn_relu", 4, 6, dict(batch_first=True)),
        ("RNN", 4, 6, dict(nonlinearity="relu", batch_first=True)),
        [SEQ[::2] + (4,)],
    ),
    "lstm": (
        ("recurrent", "lstm", 9, 6, dict(num_layers=2, bidirectional=True, proj_size=3)),
        ("LSTM", 9, 6, dict(num_layers=2, bidirectional=True, proj_size=3)),
        [SEQ],
    ),
    "gru": (("recurrent", "gru", 9, 6), ("GRU", 9, 6), [SEQ, None]),
    "rnn_cell": (("recurrent_cell", "rnn_relu", 4, 6), ("RNNCell", 4, 6, True, "relu"), [(2, 4)]),
    "lstm_cell": (("recurrent_cell", "lstm", 4, 6), ("LSTMCell", 4, 6), [(2, 4)]),
    "lstm_cell, one": (("recurrent_cell", "lstm", 4, 6), ("LSTMCell", 4, 6), [(4,)]),
    "gru_cell, no state": (("recurrent_cell", "gru", 4, 6), ("GRUCell", 4, 6), [(4,), None]),
    "gru_cell": (
        ("recurrent_cell", "gru", 4, 6, dict(bias=False)),
        ("GRUCell", 4, 6, False),
        [(2, 4), (2, 6)],
    ),
    "multihead_attention": (
        ("multihead_attention", 6, 2),
        ("MultiheadAttention", 6, 2),
        [(4, 2, 6), (5, 2, 6), (5, 2, 6)],
    ),
    "encoder_layer": (
        ("transformer_encoder_layer", 6, 2, dict(WIDE, norm_first=True, gelu=True)),
        ("TransformerEncoderLayer", 6, 2, dict(WIDE, norm_first=True, activation="gelu")),
        [(4, 2, 6)],
    ),
    "decoder_layer": (
        ("transformer_decoder_layer", 6, 2, dict(WIDE, batch_first=True, bias=False)),
        ("TransformerDecoderLayer", 6, 2, dict(WIDE, batch_first=True, bias=False)),
        [(2, 4, 6), (2, 3, 6), (4, 4), (4, 3)],
    ),
    "transformer": (
        ("transformer", 6, 2, dict(WIDE, num_encoder_layers=2, num_decoder_layers=1)),
        ("Transformer", 6, 2, dict(WIDE, num_encoder_layers=2, num_decoder_layers=1)),
        [(4, 2, 6), (3, 2, 6), (4, 4)],
    ),
    "transformer, a mask of the target": (
        ("transformer", 6, 2, dict(WIDE, num_encoder_layers=1, num_decoder_layers=2)),
        ("Transformer", 6, 2, dict(WIDE, num_encoder_layers=1, num_decoder_layers=2)),
        [(4, 2, 6), (3, 2, 6), None, (3, 3)],
    ),
    "decoder, a mask of the memory": (
        ("transformer_decoder", 6, 2, 2, WIDE),
        ("TransformerDecoder", "TransformerDecoderLayer", 2),
        [(4, 2, 6), (3, 2, 6), None, (4, 3)],
    ),
    "encoder": (
        ("transformer_encoder", 6, 2, 2, WIDE),
        ("TransformerEncoder", "TransformerEncoderLayer", 2),
        [(4, 2, 6), None],
    ),
    "flatten": (("flatten", dict(end_dim=2)), ("Flatten", 1, 2), [IMG]),
    "unflatten": (("unflatten", 1, [2, 2]), ("Unflatten", 1, (2, 2)), [IMG]),
    "identity": (("identity",), ("Identity",), [SEQ]),
    "softmin": (("softmin", -1), ("Softmin", -1), [SEQ]),
    "dropout3d": (("feature_dropout", 3, 0.25), ("Dropout3d", 0.25), [VOL]),
    "zero_pad": (("pad", 2, [1]), ("ZeroPad2d", 1), [IMG]),
    "constant_pad": (("pad", 1, [2, -1], dict(value=3.5)), ("ConstantPad1d", (2, -1), 3.5), [SEQ]),
    "circular_pad": (("pad", 1, [2, 1], dict(mode="circular")), ("CircularPad1d", (2, 1)), [SEQ]),
    "reflection_pad": (("pad", 2, [1], dict(mode="reflect")), ("ReflectionPad2d", 1), [IMG]),
    "replication_pad": (("pad", 3, [1], dict(mode="replicate")), ("ReplicationPad3d", 1), [VOL]),
    "lrn": (("local_response_norm", 2), ("LocalResponseNorm", 2), [IMG]),
    "rrelu": (("rrelu", dict(upper=0.5)), ("RReLU", dict(upper=0.5)), [SEQ]),
    "gelu": (("gelu", "tanh"), ("GELU", "tanh"), [SEQ]),
    "elu": (("elu", 0.5), ("ELU", 0.5), [SEQ]),
    "hardshrink": (("hardshrink",), ("Hardshrink",), [SEQ]),
    "softplus": (("softplus",), ("Softplus",), [SEQ]),
    "max_pool1d": (("max_pool1d", [2]), ("MaxPool1d", 2), [SEQ]),
    "max_pool2d": (("max_pool2d", [3, 2]), ("MaxPool2d", (3, 2)), [IMG]),
    "avg_pool1d": (("avg_pool1d", [2], [1]), ("AvgPool1d", 2, 1), [SEQ]),
    "avg_pool3d": (("avg_pool3d", [2]), ("AvgPool3d", 2), [VOL]),
    "adaptive_max_pool2d": (
        ("adaptive_max_pool2d", [2, 3]),
        ("AdaptiveMaxPool2d", (2, 3)),
        [IMG],
    ),
    "pixel_shuffle": (("pixel_shuffle", 2), ("PixelShuffle", 2), [IMG]),
    "unfold": (("unfold", [2, 3]), ("Unfold", (2, 3)), [IMG]),
    "upsample": (
        ("upsample", dict(scale_factor=[2.0], mode="bilinear")),
        ("Upsample", dict(scale_factor=2, mode="bilinear")),
        [IMG],
    ),
    "upsample to a size": (("upsample", dict(size=[3, 4])), ("Upsample", (3, 4)), [IMG]),
    "mse_loss": (("mse_loss", "sum"), ("MSELoss", dict(reduction="sum")), [SEQ, SEQ]),
    "cosine_similarity": (("cosine_similarity",), ("CosineSimilarity",), [(3, 5), (3, 5)]),
}
# Activations are no options that print.
UNSAID = {name for name in LAYERS if name.startswith(("transformer", "encoder", "decoder"))}


def _split(spec):
    name, *rest = spec
    options = rest.pop() if rest and isinstance(rest[-1], dict) else {}
    return name, rest, options


def engine(spec):
    name, arguments, options = _split(spec)
    return getattr(api, f"nn_{name}")(*arguments, **options)


def package(torch, spec):
    name, arguments, options = _split(spec)
    if name in ("TransformerEncoder", "TransformerDecoder"):
        layer = getattr(torch.nn, arguments[0])(6, 2, **WIDE)
        return getattr(torch.nn, name)(layer, *arguments[1:])
    return getattr(torch.nn, name)(*arguments, **options)


def inputs(torch, shapes, device):
    torch.manual_seed(3)
    return [
        shape
        and (
            torch.tensor([[1, 4, 2], [0, 3, 1]], device=device)
            if shape == "indices"
            else torch.randn(shape, device=device)
        )
        for shape in shapes
    ]


def entries(state):
    return {
        api.state_name(state, i): api.state_tensor(state, i) for i in range(api.state_size(state))
    }


def outcome(torch, module, given):
    """One result: the first of several, but of a cell both, as the library has them."""
    y = module(*given)
    if isinstance(y, tuple):
        return torch.stack(y) if isinstance(module, torch.nn.LSTMCell) else y[0]
    return y


@pytest.fixture(params=LAYERS)
def case(request):
    return request.param


def pair(torch, case, device):
    of_library, of_package, shapes = LAYERS[case]
    made, module = engine(of_library), package(torch, of_package)
    api.module_to(made, device=device)
    return made, module.to(device), inputs(torch, shapes, device)


def test_text_and_parameters_are_alike(torch, case):
    made, module, _ = pair(torch, case, "cpu")
    if case not in UNSAID:
        assert api.module_format(made) == repr(module)
    ours, theirs = entries(api.module_state_dict(made)), module.state_dict()
    assert list(ours) == list(theirs)
    for name, tensor in theirs.items():
        assert ours[name].shape == tensor.shape and ours[name].dtype == tensor.dtype, name
    named = entries(api.module_named_parameters(made))
    assert list(named) == [name for name, _ in module.named_parameters()]
    assert all(p.requires_grad and p.is_leaf for p in named.values())


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_state_goes_both_ways_and_results_are_alike(torch, case, device, tmp_path, suffix):
    made, module, given = pair(torch, case, device)
    path = str(tmp_path / f"state.{suffix}")
    for modules_mode in (True, False):
        api.module_train(made, modules_mode)
        module.train(modules_mode)
        if module.state_dict():
            api.save(api.module_state_dict(made), path)
            loaded = (
                torch.load(path)
                if suffix == "pt"
                else __import__("flambeau.safetensors", fromlist=["load_file"]).load_file(path)
            )
            module.load_state_dict(loaded)
        torch.manual_seed(5)
        wanted = outcome(torch, module, given)
        torch.manual_seed(5)
        torch.testing.assert_close(api.module_forward(made, given), wanted)
    if module.state_dict():
        other = engine(LAYERS[case][0])
        api.module_to(other, device=device)
        api.module_train(other, False)
        torch.save(module.state_dict(), str(tmp_path / "back.pt"))
        api.module_load_state_dict(other, api.load(str(tmp_path / "back.pt")))
        torch.testing.assert_close(api.module_forward(other, given), outcome(torch, module, given))


# How each kind of parameter begins: bounds that hold for every element, and a spread near them.
BEGINS = {
    "linear": (("linear", 100, 50), "weight", 0.1),
    "its bias": (("linear", 100, 50), "bias", 0.1),
    "conv": (("convolution", 4, 50, [5, 5]), "weight", 0.1),
    "conv_transpose": (
        ("convolution", 50, 4, [5, 5], dict(transposed=True)),
        "weight",
        0.1,
    ),
    "bilinear": (("bilinear", 100, 3, 5), "weight", 0.1),
    "lstm": (("recurrent", "lstm", 7, 100), "weight_hh_l0", 0.1),
    "gru_cell": (("recurrent_cell", "gru", 7, 100), "weight_ih", 0.1),
    "attention": (("multihead_attention", 60, 2), "in_proj_weight", (6 / 240) ** 0.5),
    "transformer": (
        (
            "transformer",
            60,
            2,
            dict(num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=20),
        ),
        "decoder.layers.0.linear1.weight",
        (6 / 80) ** 0.5,
    ),
}


@pytest.mark.parametrize("name", BEGINS)
def test_parameters_begin_as_in_torch(torch, name):
    spec, path, bound = BEGINS[name]
    torch.manual_seed(1)
    values = api.module_parameter(engine(spec), path).detach()
    assert values.abs().max().item() <= bound * (1 + 1e-6)
    assert values.abs().max().item() > 0.8 * bound
    if values.numel() > 1000:
        assert values.std().item() == pytest.approx(bound / 3**0.5, rel=0.08)


def test_a_stack_ends_with_the_norm_that_a_program_sets(torch):
    encoder = api.nn_transformer_encoder(6, 2, 2, **WIDE)
    x = torch.randn(4, 2, 6)
    api.module_train(encoder, False)
    plain = api.module_forward(encoder, [x])
    norm = api.nn_layer_norm([6])
    api.module_set_child(encoder, "norm", norm)
    torch.testing.assert_close(api.module_forward(encoder, [x]), api.module_forward(norm, [plain]))
    twin = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(6, 2, **WIDE), 2, torch.nn.LayerNorm(6)
    )
    assert list(entries(api.module_state_dict(encoder))) == list(twin.state_dict())
    decoder = api.nn_transformer_decoder(6, 2, 2, **WIDE)
    twin = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(6, 2, **WIDE), 2)
    assert list(entries(api.module_state_dict(decoder))) == list(twin.state_dict())


def test_pools_are_undone(torch, device):
    x = torch.randn(2, 3, 9, device=device)
    y, at = torch.nn.functional.max_pool1d(x, 3, 2, return_indices=True)
    undo = api.nn_max_unpool([3], stride=[2])
    twin = torch.nn.MaxUnpool1d(3, 2)
    assert api.module_format(undo) == repr(twin)
    assert api.module_forward(undo, [y, at]).equal(twin(y, at))
    with pytest.raises(ValueError, match="stride must be at least 1"):
        api.nn_max_unpool([3], stride=[0])


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: api.nn_pad(4, [1]), "spatial must be 1, 2 or 3"),
        (lambda: api.nn_pad(2, [1, 2]), "ZeroPad2d: padding takes one number or 4, got 2"),
        (lambda: api.nn_pad(1, [1], mode="reflect", value=1.0), "ReflectionPad1d: takes no value"),
        (lambda: api.nn_feature_dropout(2, 1.5), "Dropout2d: p must be in"),
        (lambda: api.nn_dropout(-0.1), "Dropout: p must be in"),
        (lambda: api.nn_bilinear(0, 2, 3), "in1_features must be positive"),
        (lambda: api.nn_prelu(num_parameters=-1), "num_parameters must not be negative"),
        (lambda: api.nn_recurrent_cell("gru", 0, 2), "must be greater than zero"),
        (lambda: api.nn_embedding_bag(4, 2, padding_idx=4), "within num_embeddings"),
        (lambda: api.nn_transformer_encoder(6, 2, 0), "num_layers must be at least 1"),
        (lambda: api.nn_transformer(6, 4), "divisible by num_heads"),
        (lambda: api.nn_instance_norm(4, 0), "InstanceNorm: spatial must be 1, 2 or 3"),
    ],
)
def test_options_out_of_range_are_refused(make, text):
    with pytest.raises(ValueError, match=text):
        make()
