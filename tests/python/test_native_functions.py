"""Functions of torch that take their arguments in another order than nn.functional's, and the
program's switches by their older names."""

import warnings

import pytest


@pytest.fixture
def x(torch, device):
    torch.manual_seed(2)
    return torch.randn(2, 4, 3, 3, device=device)


def test_norms(torch, x):
    F, w, b = torch.nn.functional, torch.rand(4, device=x.device), torch.rand(4, device=x.device)
    mean, var = torch.zeros(4, device=x.device), torch.ones(4, device=x.device)
    got = torch.batch_norm(x, w, b, mean, var, False, 0.1, 1e-5, True)
    assert torch.equal(got, F.batch_norm(x, mean, var, w, b))
    got = torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True)
    assert torch.equal(got, F.instance_norm(x, weight=w, bias=b))
    assert torch.equal(torch.group_norm(x, 2, w, b), F.group_norm(x, 2, w, b))
    assert torch.equal(torch.layer_norm(x, (3, 3)), F.layer_norm(x, (3, 3)))
    assert torch.norm_except_dim(x, 2, 1).shape == (1, 4, 1, 1)
    assert torch.allclose(torch.norm_except_dim(x, 2, -1), x.norm())
    assert torch.allclose(torch.frobenius_norm(x, (2, 3)), x.square().sum((2, 3)).sqrt())
    assert torch.allclose(torch.nuclear_norm(x.cpu()), torch.linalg.svdvals(x.cpu()).sum(-1))
    for norm in (torch.frobenius_norm, torch.nuclear_norm):
        out = torch.empty(0)
        assert norm(x.cpu(), (0, 1), out=out) is out and out.equal(norm(x.cpu(), (0, 1)))


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_losses_take_reductions_as_numbers(torch, device):
    F, x = torch.nn.functional, torch.randn(3, 2, device=device)
    y = torch.rand(3, 2, device=device)
    for number, word in enumerate(("none", "mean", "sum")):
        assert torch.equal(torch.kl_div(x, y, number), F.kl_div(x, y, reduction=word))
        got = torch.binary_cross_entropy_with_logits(x, y, None, None, number)
        assert torch.equal(got, F.binary_cross_entropy_with_logits(x, y, reduction=word))
        got = torch.poisson_nll_loss(x, y, True, False, 1e-8, number)
        assert torch.equal(got, F.poisson_nll_loss(x, y, reduction=word))
    with pytest.raises(ValueError, match="reduction must be one of 0 .none."):
        torch.kl_div(x, y, 3)


def test_tables_grids_and_convolutions(torch, x):
    F, table = torch.nn.functional, torch.randn(5, 2, device=x.device)
    at = torch.tensor([1, 4], device=x.device)
    assert torch.equal(torch.embedding(table, at), F.embedding(at, table))
    theta = torch.randn(2, 2, 3, device=x.device)
    grid = torch.affine_grid_generator(theta, (2, 4, 5, 5), False)
    assert torch.equal(grid, F.affine_grid(theta, (2, 4, 5, 5), align_corners=False))
    got = torch.grid_sampler(x, grid, 1, 2, True)
    assert torch.equal(got, F.grid_sample(x, grid, "nearest", "reflection", align_corners=True))
    w = torch.randn(4, 4, 2, 2, device=x.device)
    got = torch.convolution(x, w, None, [1, 1], [1, 0], [1, 1], False, [0, 0], 1)
    assert torch.equal(got, F.conv2d(x, w, padding=(1, 0)))
    got = torch.convolution(x, w, None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1)
    assert torch.equal(got, F.conv_transpose2d(x, w, stride=2, output_padding=1))


def test_switches(torch):
    assert [torch.is_signed(torch.zeros(1, dtype=d)) for d in (torch.uint8, torch.int8)] == [0, 1]
    torch.set_deterministic_debug_mode("warn")
    assert torch.get_deterministic_debug_mode() == 1
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode(2)
    assert torch.get_deterministic_debug_mode() == 2
    torch.set_deterministic_debug_mode("default")
    assert not torch.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.set_deterministic_debug_mode("loud")
    torch.set_anomaly_enabled(True)
    assert torch.is_anomaly_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled()


def test_warnings_may_be_given_always(torch):
    def told():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.set_default_tensor_type(torch.FloatTensor)
        return len(caught)

    told()
    assert told() == 0
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled() and told() == told() == 1
    torch.set_warn_always(False)


def test_a_generator_goes_to_an_offset(torch, device):
    g = torch.Generator(device).manual_seed(3)
    torch.rand(4, generator=g, device=device)
    at = g.get_offset()
    first = torch.rand(4, generator=g, device=device)
    assert at > 0 and torch.equal(torch.rand(4, generator=g.set_offset(at), device=device), first)
