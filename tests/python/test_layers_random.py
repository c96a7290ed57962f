"""Layers that draw: what they keep, how often and at which scale; and what fits no golden value:
packed sequences, lazy layers, errors."""

import pytest


def test_channels_are_dropped_whole(torch, device):
    torch.manual_seed(0)
    x = torch.ones(40, 20, 3, 4, device=device)
    y = torch.nn.Dropout2d(0.25)(x)
    flat = y.flatten(2)
    assert (flat == flat[:, :, :1]).all()
    assert sorted(set(y.flatten().tolist())) == pytest.approx([0.0, 1 / 0.75])
    assert 0.2 < (flat[:, :, 0] == 0).float().mean().item() < 0.3
    assert torch.equal(torch.nn.Dropout2d(0.25).eval()(x), x)
    lonely = torch.nn.functional.dropout1d(torch.ones(50, 6, device=device), 0.5)
    assert (lonely == lonely[:, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance(torch, device):
    torch.manual_seed(0)
    for name in ("alpha_dropout", "feature_alpha_dropout"):  # off unless asked for
        assert (getattr(torch.nn.functional, name)(torch.ones(99, 9), 0.9) == 1).all()
    y = torch.nn.functional.alpha_dropout(torch.randn(20000, device=device), 0.3, True)
    assert abs(y.mean().item()) < 0.05
    assert abs(y.std().item() - 1) < 0.05
    z = torch.nn.FeatureAlphaDropout(0.5)(torch.ones(8, 4, 5, device=device))
    assert (z == z[:, :, :1]).all()


def test_rrelu_draws_slopes(torch, device):
    x = torch.full((1000,), -1.0, device=device, requires_grad=True)
    y = torch.nn.RReLU(0.1, 0.3)(x)
    assert -0.3 <= y.min().item() < y.max().item() <= -0.1
    y.sum().backward()
    assert torch.equal(x.grad, -y.detach())


def test_gumbel_softmax_samples_classes(torch, device):
    torch.manual_seed(0)
    logits = torch.log(torch.tensor([0.1, 0.6, 0.3], device=device)).expand(4000, 3)
    hard = torch.nn.functional.gumbel_softmax(logits, hard=True)
    assert ((hard == 0) | (hard == 1)).all()
    shares = hard.mean(0).tolist()
    assert shares == pytest.approx([0.1, 0.6, 0.3], abs=0.04)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_packed_sequences_are_the_sequences_one_by_one(torch, device, kind):
    rnn = torch.nn.utils.rnn
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True).double().to(device)
    lengths = [2, 5, 3]
    parts = [torch.randn(n, 3, dtype=torch.float64, device=device) for n in lengths]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    output, last = layer(packed)
    padded, sizes = rnn.pad_packed_sequence(output, padding_value=-7.0)
    assert sizes.tolist() == lengths
    assert (padded[2:, 0] == -7).all()
    hidden = last[0] if kind == "LSTM" else last
    for i, part in enumerate(parts):
        alone, state = layer(part)
        assert torch.allclose(padded[: lengths[i], i], alone)
        assert torch.allclose(hidden[:, i], state[0] if kind == "LSTM" else state)
    assert [p.tolist() for p in rnn.unpack_sequence(packed)] == [p.tolist() for p in parts]


def test_packing_says_what_is_wrong(torch):
    rnn = torch.nn.utils.rnn
    x = torch.zeros(4, 2, 3)
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_padded_sequence(x, [1, 3])
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(x, [3, 0])
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size"):
        torch.nn.LSTM(4, 2)(x)
    with pytest.raises(RuntimeError, match="Expected hidden size"):
        torch.nn.GRU(3, 2)(x, torch.zeros(1, 5, 2))


def test_lazy_layers_take_their_sizes_from_the_first_input(torch, device):
    net = torch.nn.Sequential(
        torch.nn.LazyConv2d(4, 3),
        torch.nn.LazyBatchNorm2d(),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(2),
    ).to(device)
    weight = net[3].weight
    with pytest.raises(RuntimeError, match="uninitialized"):
        _ = weight.shape
    assert net(torch.ones(2, 3, 5, 5, device=device)).shape == (2, 2)
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert net[3].weight is weight
    assert tuple(weight.shape) == (2, 36)
    fresh = torch.nn.LazyLinear(2)
    fresh.load_state_dict(torch.nn.Linear(7, 2).state_dict())
    assert fresh(torch.ones(1, 7)).shape == (1, 2)


def test_embedding_limits_norms_in_place(torch, device):
    table = torch.nn.Embedding(5, 3, max_norm=1.0).to(device)
    with torch.no_grad():
        table.weight.fill_(2.0)
    found = table(torch.tensor([1, 1, 4], device=device))
    assert found.norm(dim=1).tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)
    assert table.weight.norm(dim=1).tolist() == pytest.approx([3.4641, 1, 3.4641, 3.4641, 1], 1e-4)


def test_attention_weights_and_masks(torch, device):
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True).to(device).eval()
    x = torch.randn(3, 5, 8, device=device)
    hidden = torch.zeros(3, 5, dtype=torch.bool, device=device)
    hidden[:, 3:] = True
    y, weights = attention(x, x, x, key_padding_mask=hidden)
    assert weights.shape == (3, 5, 5)
    assert (weights[:, :, 3:] == 0).all()
    assert torch.allclose(weights.sum(-1), torch.ones(3, 5, device=device))
    short = attention(x, x[:, :3], x[:, :3], need_weights=False)[0]
    assert torch.allclose(y, short, atol=1e-6)
    later = torch.nn.Transformer.generate_square_subsequent_mask(5, device=device)
    causal = attention(x, x, x, attn_mask=later, average_attn_weights=False)[1]
    assert causal.shape == (3, 2, 5, 5)
    assert (causal.triu(1) == 0).all()


def test_layers_name_what_does_not_fit(torch):
    F = torch.nn.functional
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        F.group_norm(torch.ones(1, 5, 2), 2)
    with pytest.raises(RuntimeError, match="less than the corresponding input dimension"):
        F.pad(torch.ones(1, 1, 2), (2, 0), mode="reflect")
    with pytest.raises(ValueError, match="only one of size or scale_factor"):
        F.interpolate(torch.ones(1, 1, 4), size=2, scale_factor=2)
    with pytest.raises(RuntimeError, match="Padding value causes wrapping"):
        F.pad(torch.ones(1, 1, 2), (3, 0), mode="circular")
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.nn.Embedding(3, 2, sparse=True)


def test_attention_backends_are_a_scope(torch):
    from flambeau.nn import attention

    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        assert attention._cur_sdpa_kernel_backends() == [attention.SDPBackend.MATH]
    assert len(attention._cur_sdpa_kernel_backends()) > 1
    with pytest.raises(AssertionError, match="SDPBackend"), attention.sdpa_kernel("math"):
        pass
