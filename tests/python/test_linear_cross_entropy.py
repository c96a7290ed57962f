"""linear_cross_entropy in chunks of rows: it gives what it gives as a whole, in every dtype, fold
and kind of target, in less memory, under autocast, and differentiably."""

import gc

import flambeau as torch
import pytest
from flambeau.nn import functional as F

from tests.harness.gen import api

N, FEATURES, CLASSES = 7, 3, 6
OPTIONS = torch.nn.LinearCrossEntropyOptions
CHUNKS = OPTIONS(batch_chunk_size=2), OPTIONS(chunking_method="aspect_ratio:2")
TOLERANCE = {"float32": (1e-5, 1e-6), "float64": (1e-12, 1e-12), "bfloat16": (2e-2, 2e-2)}


def operands(dtype, probabilities, device="cpu"):
    torch.manual_seed(0)
    made = [torch.randn(s, device=device) for s in ((N, FEATURES), (CLASSES, FEATURES), (CLASSES,))]
    leaves = [t.to(getattr(torch, dtype)).requires_grad_() for t in made]
    target = torch.tensor([0, 5, -100, 2, 2, 1, 3])
    if probabilities:
        target = torch.rand(N, CLASSES).to(leaves[0].dtype)
    return leaves, target.to(device)


def found(leaves, target, options, **more):
    x, w, b = leaves
    loss = F.linear_cross_entropy(x, w, target, linear_bias=b, options=options, **more)
    return [loss, *torch.autograd.grad(loss.float().square().sum(), leaves)]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_in_chunks_it_is_the_same(device, dtype, reduction, probabilities, smoothing):
    leaves, target = operands(dtype, probabilities, device)
    weight = torch.arange(1.0, 7.0).to(leaves[0].dtype).to(device)
    for more in ({}, dict(weight=weight), {} if probabilities else dict(ignore_index=2)):
        more = dict(more, reduction=reduction, label_smoothing=smoothing)
        if "ignore_index" in more:
            target = target.clamp(min=0)
        whole = found(leaves, target, None, **more)
        rtol, atol = TOLERANCE[dtype]
        scale = max(float(t.abs().max()) for t in whole)
        for options in CHUNKS:
            chunked = found(leaves, target, options, **more)
            torch.testing.assert_close(chunked, whole, rtol=rtol, atol=atol * scale)


def test_half_sums_over_chunks_round_once():
    x = torch.ones(4096, 1, dtype=torch.bfloat16, requires_grad=True)
    w = torch.zeros(2, 1, dtype=torch.bfloat16, requires_grad=True)
    target = torch.zeros(4096, dtype=torch.int64)
    loss = F.linear_cross_entropy(
        x, w, target, reduction="sum", options=OPTIONS(batch_chunk_size=1)
    )
    assert loss.item() == 2832.0  # 4096 log 2, rounded to bfloat16
    loss.backward()
    assert w.grad.flatten().tolist() == [-2048.0, 2048.0]


def test_all_logits_never_exist(device):
    n, features, classes = 1024, 32, 4096
    x = torch.randn(n, features, device=device, requires_grad=True)
    w = torch.randn(classes, features, device=device, requires_grad=True)
    target = torch.arange(n, device=device)

    def peak(options):
        gc.collect()
        api.memory_reset_peak_stats(device)
        before = api.memory_allocated(device)
        F.linear_cross_entropy(x, w, target, options=options).backward()
        most = api.memory_max_allocated(device) - before
        x.grad = w.grad = None
        return most

    logits = 4 * n * classes
    assert peak(None) > 1.9 * logits
    assert peak(OPTIONS(batch_chunk_size=64)) < 0.3 * logits
    assert peak(OPTIONS()) < 0.15 * logits


@pytest.mark.parametrize("probabilities", [False, True])
def test_it_can_be_differentiated_again(probabilities):
    leaves, target = operands("float64", probabilities)

    def seconds(options):
        loss = F.linear_cross_entropy(*leaves[:2], target, linear_bias=leaves[2], options=options)
        slopes = torch.autograd.grad(loss, leaves, create_graph=True)
        return torch.autograd.grad(sum(s.square().sum() for s in slopes), leaves)

    torch.testing.assert_close(seconds(CHUNKS[0]), seconds(None))


@pytest.mark.parametrize("probabilities", [False, True])
def test_autocast_makes_of_chunks_what_it_makes_of_the_whole(probabilities):
    leaves, target = operands("float32", probabilities)
    results = []
    for options in (None, CHUNKS[0]):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results.append(found(leaves, target, options))
    assert all(t.dtype is torch.float32 for t in results[1])
    torch.testing.assert_close(results[1], results[0], rtol=1e-2, atol=1e-3)


def test_only_what_wants_a_gradient_gets_one():
    leaves, target = operands("float32", False)
    for wanted in range(3):
        x, w, b = (t.detach().requires_grad_(i == wanted) for i, t in enumerate(leaves))
        F.linear_cross_entropy(x, w, target, linear_bias=b, options=CHUNKS[0]).backward()
        assert [t.grad is not None for t in (x, w, b)] == [i == wanted for i in range(3)]


def test_targets_that_want_a_gradient_get_one():
    leaves, target = operands("float64", True)
    slopes = []
    for options in (None, CHUNKS[0]):
        t = target.clone().requires_grad_()
        F.linear_cross_entropy(*leaves[:2], t, options=options).backward()
        slopes.append(t.grad)
    assert torch.equal(*slopes) and slopes[0].any()


def test_methods_of_chunking():
    for method in ("aspect_ratio:0", "aspect_ratio:x", "rows"):
        with pytest.raises(ValueError, match="chunking_method"):
            OPTIONS(chunking_method=method)
    leaves, target = operands("float32", False)
    whole = F.linear_cross_entropy(*leaves[:2], target)
    for method in (None, "auto", "aspect_ratio", "aspect_ratio:3"):
        loss = F.linear_cross_entropy(*leaves[:2], target, options=OPTIONS(chunking_method=method))
        torch.testing.assert_close(loss, whole)
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        F.linear_cross_entropy(*leaves[:2], target, reduction="batchmean")


def test_the_layer_is_both():
    m = torch.nn.LinearCrossEntropyLoss(5, 4, bias=True, label_smoothing=0.1)
    x, target = torch.randn(6, 5), torch.tensor([0, 1, 2, 3, 0, 1])
    wanted = F.cross_entropy(m.linear(x), target, label_smoothing=0.1)
    torch.testing.assert_close(m(x, target), wanted)


def test_without_features_every_class_is_as_likely(torch):
    target = torch.tensor([0, 4, 1, 2])
    found = torch.nn.functional.linear_cross_entropy(torch.ones(4, 0), torch.ones(5, 0), target)
    assert abs(found.item() - 1.6094379) < 1e-6
