"""Layers without parameters are their functions: the same values for the same options."""

import pytest

ACTIVATIONS = {
    "Sigmoid": ("sigmoid", {}),
    "Tanh": ("tanh", {}),
    "SiLU": ("silu", {}),
    "GELU": ("gelu", {"approximate": "tanh"}),
    "ELU": ("elu", {"alpha": 0.5}),
    "LeakyReLU": ("leaky_relu", {"negative_slope": 0.2}),
    "Softplus": ("softplus", {"beta": 2.0, "threshold": 1.0}),
    "Softmax": ("softmax", {"dim": 1}),
    "LogSoftmax": ("log_softmax", {"dim": 0}),
}
LOSSES = {
    "MSELoss": ("mse_loss", {}),
    "L1Loss": ("l1_loss", {"reduction": "sum"}),
    "BCELoss": ("binary_cross_entropy", {"reduction": "none"}),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", {}),
    "KLDivLoss": ("kl_div", {"reduction": "batchmean"}),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(torch, device, name):
    function, options = ACTIVATIONS[name]
    x = torch.linspace(-3, 3, 12, device=device).reshape(3, 4)
    wanted = getattr(torch.nn.functional, function)(x, **options)
    assert getattr(torch.nn, name)(**options)(x).tolist() == wanted.tolist()


@pytest.mark.parametrize("name", LOSSES)
def test_losses(torch, device, name):
    function, options = LOSSES[name]
    x = torch.linspace(0.1, 0.9, 12, device=device).reshape(3, 4)
    wanted = getattr(torch.nn.functional, function)(x, x.flip(0), **options)
    assert getattr(torch.nn, name)(**options)(x, x.flip(0)).tolist() == wanted.tolist()


def test_losses_of_classes(torch, device):
    nn, F = torch.nn, torch.nn.functional
    x = torch.linspace(-1, 1, 12, device=device).reshape(3, 4)
    y = torch.tensor([1, 0, 3], device=device)
    chances = F.log_softmax(x, 1)
    assert nn.NLLLoss()(chances, y).item() == F.nll_loss(chances, y).item()
    assert nn.CrossEntropyLoss()(x, y).item() == F.cross_entropy(x, y).item()
    by_hand = -chances[torch.arange(3), y].mean().item()
    assert abs(F.cross_entropy(x, y).item() - by_hand) < 1e-6


def test_shapes(torch, device):
    nn, F = torch.nn, torch.nn.functional
    x = torch.arange(16.0, device=device).reshape(1, 1, 4, 4)
    assert (
        nn.AvgPool2d(2)(x).tolist() == F.avg_pool2d(x, 2).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    )
    assert nn.AdaptiveAvgPool2d(1)(x).item() == 7.5
    assert nn.Identity()(x) is x and nn.Unflatten(1, (1, 1))(x).shape == (1, 1, 1, 4, 4)


def test_initial_values_have_torchs_spread(torch):
    w = torch.empty(200, 300)
    init = torch.nn.init
    for fill, spread in (
        (lambda: init.kaiming_uniform_(w), (2 / 300) ** 0.5),
        (lambda: init.kaiming_normal_(w, mode="fan_out"), (2 / 200) ** 0.5),
        (lambda: init.xavier_uniform_(w), (2 / 500) ** 0.5),
        (lambda: init.xavier_normal_(w, gain=2.0), 2 * (2 / 500) ** 0.5),
    ):
        assert fill() is w and abs(w.std().item() / spread - 1) < 0.02


def test_padding_of_sequences(torch):
    padded = torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)
    assert padded.tolist() == [[1, 1, 0], [1, 1, 1]]


def test_encoder_is_its_layers(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    stack, x = nn.TransformerEncoder(layer, 2).eval(), torch.randn(1, 3, 4)
    wanted = stack.layers[1](stack.layers[0](x))
    assert torch.allclose(stack(x), wanted) and stack.layers[0] is not layer
