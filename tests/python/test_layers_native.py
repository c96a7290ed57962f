"""Layers' further forms: places that are asked for twice, weighted losses, whole numbers,
statistics of norms, lookups by frequency, and the classes that came with them."""

import flambeau as torch
import pytest
from flambeau.nn import functional as F


@pytest.mark.parametrize("flag", [{}, dict(return_indices=False), dict(return_indices=True)])
def test_pools_with_indices_give_both_whatever_the_flag(flag):
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    for values, places in (
        F.max_pool2d_with_indices(x, 2, **flag),
        F.adaptive_max_pool2d_with_indices(x, 2, **flag),
    ):
        assert values.flatten().tolist() == places.flatten().tolist() == [5, 7, 13, 15]


def test_pools_refuse_empty_planes_and_windows_that_overflow():
    with pytest.raises(RuntimeError, match="non-zero size"):
        F.max_pool1d(torch.zeros(0, 10), 2)
    with pytest.raises(RuntimeError, match="must be at most"):
        F.max_pool1d(torch.zeros(1, 2, 3), 8608480567731124087, 1, 1, 1250999896764)
    with pytest.raises(RuntimeError, match="pad"):
        F.max_pool2d(torch.zeros(1, 2, 3, 3), 2, padding=-1)
    assert F.avg_pool2d(torch.zeros(0, 2, 4, 4), 2).shape == (0, 2, 2, 2)


def test_whole_numbers_are_pooled_and_convolved():
    x = torch.tensor([[[1, 2, 3, -6]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[1, -1]]]  # truncated
    w = torch.tensor([[[1, 10]]])
    assert F.conv1d(x, w, torch.tensor([100])).tolist() == [[[121, 132, 43]]]
    assert F.conv_transpose1d(x, w).tolist() == [[[1, 12, 23, 24, -60]]]


def test_bytes_are_resampled_one_dimension_after_the_other():
    x = torch.tensor([[[[0, 255], [10, 20]]]], dtype=torch.uint8)
    y = F.interpolate(x, size=(2, 3), mode="bilinear", align_corners=True)
    assert y.dtype == torch.uint8
    assert y.flatten().tolist() == [0, 128, 255, 10, 15, 20]  # a half rounds up


def test_a_result_padded_by_a_stride_or_more():
    x, w = torch.randn(1, 1, 3, dtype=torch.float64), torch.randn(1, 1, 2, dtype=torch.float64)
    x.requires_grad_(), w.requires_grad_()
    y = F.conv_transpose1d(x, w, stride=2, output_padding=2, dilation=3)
    plain = F.conv_transpose1d(x, w, stride=2, dilation=3)
    assert y.shape[-1] == plain.shape[-1] + 2
    assert y[..., :-2].equal(plain) and not y[..., -2:].any()
    assert torch.autograd.gradcheck(
        lambda a, b: F.conv_transpose1d(a, b, stride=2, output_padding=2, dilation=3), (x, w)
    )


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_losses_take_weights_of_elements(name, reduction):
    loss = getattr(F, name)
    a, t, w = torch.randn(3, 4), torch.randn(3, 4), torch.rand(3, 4)
    parts = loss(a, t, reduction="none") * w
    over = parts.numel() if name == "huber_loss" else w.sum()
    wanted = {"none": parts, "sum": parts.sum(), "mean": parts.sum() / over}[reduction]
    torch.testing.assert_close(loss(a, t, reduction=reduction, weight=w), wanted)
    with pytest.raises(ValueError, match="same size"):
        loss(a, t, weight=w[0])
    with pytest.raises(ValueError, match="abc"):
        loss(a, t, weight=w, reduction="abc")


def test_ctc_takes_lengths_as_numbers_and_has_a_gradient():
    logits = torch.randn(5, 2, 4, requires_grad=True)
    targets = torch.tensor([[1, 2], [3, 1]])
    loss = torch.nn.CTCLoss()(logits.log_softmax(-1), targets, (5, 4), (2, 1))
    flat = F.ctc_loss(logits.log_softmax(-1), torch.tensor([1, 2, 3]), [5, 4], [2, 1])
    assert loss.equal(flat)
    loss.backward()
    assert not logits.grad[4, 1].any() and logits.grad[3, 1].any()
    long = F.ctc_loss(logits.log_softmax(-1), targets, (1, 4), (2, 1), reduction="none")
    assert long[0] == torch.inf
    none = F.ctc_loss(
        logits.log_softmax(-1), targets, (1, 4), (2, 1), reduction="none", zero_infinity=True
    )
    assert none[0] == 0 and none[1] == long[1]
    (slope,) = torch.autograd.grad(none[1], logits, create_graph=True)
    with pytest.raises(RuntimeError, match="ctc_loss_backward"):
        slope.square().sum().backward()


def test_fractional_pools_have_any_size():
    x = torch.randn(2, 3, 9, 8)
    y, at = F.fractional_max_pool2d(x, 2, output_ratio=0.5, return_indices=True)
    assert y.shape == (2, 3, 4, 4)
    assert x.flatten(2).gather(2, at.flatten(2)).equal(y.flatten(2))
    assert torch.nn.FractionalMaxPool3d(2, (3, 2, 1))(torch.randn(1, 2, 6, 5, 4)).shape[2:] == (
        3,
        2,
        1,
    )
    with pytest.raises(ValueError, match="output_size or an output_ratio"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(ValueError, match="only one of"):
        torch.nn.FractionalMaxPool2d(2, 3, 0.5)


def test_adaptive_softmax_is_a_softmax_over_all_classes():
    m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0)
    x, target = torch.randn(7, 8), torch.tensor([0, 9, 3, 2, 6, 5, 1])
    whole = m.log_prob(x)
    torch.testing.assert_close(whole.exp().sum(1), torch.ones(7))
    output, loss = m(x, target)
    torch.testing.assert_close(output, whole.gather(1, target.unsqueeze(1)).squeeze(1))
    torch.testing.assert_close(loss, -output.mean())
    torch.testing.assert_close(m(x[0], target[0]).output, output[0])
    assert m.predict(x).equal(whole.argmax(1))
    with pytest.raises(RuntimeError, match="Target values"):
        m(x[:1], torch.tensor([10]))


def test_lookups_divide_gradients_by_frequency():
    w = torch.randn(4, 2, requires_grad=True)
    at = torch.tensor([1, 1, 3, 1])
    (plain,) = torch.autograd.grad(F.embedding(at, w).square().sum(), w)
    counts = torch.tensor([1.0, 3.0, 1.0, 1.0]).unsqueeze(1)
    (scaled,) = torch.autograd.grad(F.embedding(at, w, scale_grad_by_freq=True).square().sum(), w)
    torch.testing.assert_close(scaled, plain / counts)
    bags = F.embedding_bag(at.reshape(2, 2), w, mode="sum", scale_grad_by_freq=True)
    (scaled,) = torch.autograd.grad(bags.sum(), w)
    torch.testing.assert_close(scaled, torch.tensor([[0.0, 0], [1, 1], [0, 0], [1, 1]]))
    with pytest.raises(NotImplementedError, match="sparse"):
        F.embedding(at, w, sparse=True)
    assert F.embedding(at, w.detach(), sparse=True).equal(w.detach()[at])


def test_norms_give_their_statistics():
    x = torch.randn(2, 4, 3, dtype=torch.float64)
    y, mean, rstd = torch.native_layer_norm(x, [4, 3], None, None, 1e-5)
    assert mean.shape == rstd.shape == (2, 1, 1)
    torch.testing.assert_close((x - mean) * rstd, y)
    y, mean, rstd = torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    torch.testing.assert_close((x - mean[:, None]) * rstd[:, None], y)
    y, mean, rstd = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    rows = (x.reshape(2, 2, 6) - mean.unsqueeze(-1)) * rstd.unsqueeze(-1)
    torch.testing.assert_close(rows.reshape(x.shape), y)


def test_numbers_for_words():
    x, grid = torch.randn(1, 2, 4, 4), torch.rand(1, 3, 3, 2)
    wanted = F.grid_sample(x, grid, "nearest", "border", True)
    assert torch.grid_sampler_2d(x, grid, 1, 1, True).equal(wanted)
    assert torch.constant_pad_nd(x, (1, -1), 3.0).equal(F.pad(x, (1, -1), value=3.0))
    with pytest.raises(RuntimeError, match="5D"):
        torch.grid_sampler_3d(x, grid, 0, 0, True)


@pytest.mark.parametrize("which", [("k",), ("v",), ("k", "v")])
@pytest.mark.parametrize("add_zero_attn", [False, True])
def test_keys_and_values_that_are_projected_already(which, add_zero_attn):
    """They give what the projection in the function does, whatever stands in their operands."""
    m = torch.nn.MultiheadAttention(8, 2, add_zero_attn=add_zero_attn).eval()
    torch.nn.init.normal_(m.in_proj_bias)
    query, source = torch.randn(4, 3, 8), torch.randn(5, 3, 8)
    attn_mask = torch.zeros(4, 5, dtype=torch.bool)
    attn_mask[:, 1] = True
    padding = torch.zeros(3, 5, dtype=torch.bool)
    padding[2, 3:] = True
    weights, biases = m.in_proj_weight.chunk(3), m.in_proj_bias.chunk(3)
    heads = {
        name: F.linear(source, w, b).reshape(5, 6, 4).transpose(0, 1)
        for name, w, b in zip("kv", weights[1:], biases[1:])
    }
    given = {f"static_{name}": heads[name] for name in which}
    operands = [torch.zeros_like(source) if name in which else source for name in "kv"]
    parts = (m.in_proj_weight, m.in_proj_bias, None, None, add_zero_attn, 0.5)
    out = (m.out_proj.weight, m.out_proj.bias, False)
    for masks in (
        {},
        {"attn_mask": attn_mask},
        {"attn_mask": attn_mask, "key_padding_mask": padding},
    ):
        found = F.multi_head_attention_forward(
            query, *operands, 8, 2, *parts, *out, **given, **masks
        )
        for a, b in zip(found, m(query, source, source, **masks)):
            torch.testing.assert_close(a, b)
    with pytest.raises(AssertionError, match="static keys and values of shape"):
        wrong = {name: value[1:] for name, value in given.items()}
        F.multi_head_attention_forward(query, *operands, 8, 2, *parts, *out, **wrong)


def test_a_convolution_along_time_is_one_of_planes():
    x, w, bias = torch.randn(7, 2, 3), torch.randn(3, 3, 4), torch.randn(4)
    wanted = F.conv1d(x.permute(1, 2, 0), w.permute(2, 1, 0), bias, padding=2).permute(2, 0, 1)
    for f in F.conv_tbc, torch.conv_tbc:
        torch.testing.assert_close(f(x, w, bias, 2), wanted)
    with pytest.raises(RuntimeError, match="time, batch, channels"):
        F.conv_tbc(x[0], w, bias)


def test_an_empty_batch_changes_no_statistics():
    m = torch.nn.BatchNorm2d(3)
    assert m(torch.zeros(0, 3, 2, 2)).shape == (0, 3, 2, 2)
    assert not m.running_mean.any()
    with pytest.raises(RuntimeError, match="channels to be greater than 0"):
        F.group_norm(torch.zeros(1, 0, 2), 1)
