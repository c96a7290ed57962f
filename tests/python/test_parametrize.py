"""Weights computed from others: parametrizations, weight and spectral norm in both forms, pruning,
batch norms folded away."""

import copy

import pytest


@pytest.fixture
def nn(torch):
    torch.manual_seed(0)
    return torch.nn


@pytest.fixture
def P(nn):
    return nn.utils.parametrize


@pytest.fixture
def Symmetric(nn):
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).t()

        def right_inverse(self, x):
            return x.triu()

    return Symmetric


def test_a_parametrized_weight(torch, nn, P, Symmetric):
    layer = nn.Linear(3, 3)
    P.register_parametrization(layer, "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.t())
    assert P.is_parametrized(layer) and P.is_parametrized(layer, "weight")
    assert not P.is_parametrized(layer, "bias")
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert type(layer).__name__ == "ParametrizedLinear"
    assert P.type_before_parametrizations(layer) is nn.Linear
    layer(torch.ones(1, 3)).sum().backward()
    grad = layer.parametrizations.weight.original.grad
    assert grad.tril(-1).abs().sum() == 0 and grad.abs().sum() > 0
    value = torch.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    layer.weight = value
    assert torch.equal(layer.weight, value)
    other = nn.Linear(3, 3)
    P.register_parametrization(other, "weight", Symmetric())
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other.weight, value)
    clone = copy.deepcopy(layer)
    assert torch.equal(clone.weight, value)
    assert clone.parametrizations.weight.original is not layer.parametrizations.weight.original
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        layer.__getstate__()
    P.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and torch.equal(layer.weight, value)
    assert isinstance(layer.weight, nn.Parameter) and not hasattr(layer, "parametrizations")


def test_caching_computes_once(torch, nn, P):
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2

    layer = P.register_parametrization(nn.Linear(2, 2), "weight", Counted())
    calls.clear()
    with P.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    assert layer.weight is not layer.weight
    assert len(calls) == 3


def test_parametrizations_in_a_row_and_their_originals(torch, nn, P):
    class Scaled(nn.Module):
        def __init__(self, by):
            super().__init__()
            self.by = by

        def forward(self, x):
            return x * self.by

        def right_inverse(self, x):
            return x / self.by

    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    P.register_parametrization(layer, "weight", Scaled(2.0))
    assert torch.equal(layer.weight, before)
    P.register_parametrization(layer, "weight", Scaled(4.0))
    assert torch.equal(layer.weight, before * 4)
    layer.weight = before
    assert torch.equal(layer.parametrizations.weight.original, before / 8)
    P.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert torch.equal(layer.weight, before / 8)


def test_what_parametrizations_refuse(torch, nn, P):
    class Longer(nn.Module):
        def forward(self, x):
            return x[:1]

    class Double(nn.Module):
        def forward(self, x):
            return x.double()

    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="may not change the shape"):
        P.register_parametrization(layer, "weight", Longer())
    with pytest.raises(ValueError, match="may not change the dtype"):
        P.register_parametrization(layer, "weight", Double())
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        P.register_parametrization(layer, "wait", Double())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        P.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and not P.is_parametrized(layer)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(torch, nn, dim):
    layer, old = nn.Linear(3, 2), nn.Linear(3, 2)
    old.load_state_dict(layer.state_dict())
    before = layer.weight.detach().clone()
    nn.utils.parametrizations.weight_norm(layer, dim=dim)
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm"):
        nn.utils.weight_norm(old, dim=dim)
    lengths = layer.parametrizations.weight.original0
    assert lengths.shape == old.weight_g.shape == {0: (2, 1), 1: (1, 3), None: ()}[dim]
    assert torch.allclose(layer.weight, before) and torch.allclose(old.weight, before)
    x = torch.ones(1, 3)
    with torch.no_grad():
        lengths.mul_(2), old.weight_g.mul_(2)
    assert torch.allclose(layer(x), x @ (2 * before).t() + layer.bias)
    assert torch.allclose(old(x), layer(x))
    layer(x).sum().backward(), old(x).sum().backward()
    assert torch.allclose(lengths.grad, old.weight_g.grad)
    layer.load_state_dict(old.state_dict())  # the older names
    nn.utils.remove_weight_norm(old)
    assert [n for n, _ in old.named_parameters()] == ["bias", "weight"]
    assert torch.allclose(old.weight, 2 * before)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(old)


def test_spectral_norm(torch, nn):
    layer, old = nn.Linear(4, 3), nn.Linear(4, 3)
    old.load_state_dict(layer.state_dict())
    before = layer.weight.detach().clone()
    nn.utils.parametrizations.spectral_norm(layer, n_power_iterations=5)
    nn.utils.spectral_norm(old, n_power_iterations=5)
    x = torch.randn(2, 4)
    for _ in range(30):
        layer(x), old(x)
    for module in layer, old:
        weight = module.weight.detach()
        power = torch.ones(4)
        for _ in range(200):
            power = weight.t() @ (weight @ power)
            power = power / power.norm()
        assert (weight @ power).norm().item() == pytest.approx(1, abs=1e-4)
    ratio = (before / layer.weight.detach()).flatten()
    assert torch.allclose(ratio, ratio[0].expand(12))
    layer(x).sum().backward()
    assert layer.parametrizations.weight.original.grad.shape == (3, 4)
    assert {"parametrizations.weight.0._u", "parametrizations.weight.0._v"} <= set(
        layer.state_dict()
    )
    assert set(old.state_dict()) == {"bias", "weight_orig", "weight_u", "weight_v"}
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    nn.utils.remove_spectral_norm(old)
    assert set(old.state_dict()) == {"bias", "weight"}
    with pytest.raises(ValueError, match="n_power_iterations to be positive"):
        nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


def test_spectral_norm_reads_states_of_before_it_kept_both_vectors(torch, nn):
    x, made = torch.randn(2, 4), lambda: nn.utils.spectral_norm(nn.Linear(4, 3))
    layer = made()
    layer(x)
    new = layer.eval().state_dict()
    assert new._metadata[""]["spectral_norm"] == {"weight.version": 1}
    old = {name: value.clone() for name, value in new.items() if name != "weight_v"}
    old["weight"] = layer.weight.detach().clone()
    unmarked = dict(new)  # as a program makes it
    for state in new, old, unmarked:
        found = made().eval()
        found.load_state_dict(state)
        torch.testing.assert_close(found(x), layer(x), rtol=1e-4, atol=1e-5)
    del old["weight_orig"]
    assert "weight_orig" in made().load_state_dict(old, strict=False).missing_keys
    with pytest.raises(RuntimeError, match='Missing.*"weight_orig"'):
        made().load_state_dict(old)
    plain = nn.utils.remove_spectral_norm(made())
    assert "spectral_norm" not in plain.state_dict()._metadata[""]
    plain.load_state_dict(nn.Linear(4, 3).state_dict())


def test_pruning(torch, nn):
    prune = nn.utils.prune
    layer = nn.Linear(4, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, -2, 3, -4], [0.5, 6, -7, 8]]))
    prune.l1_unstructured(layer, "weight", amount=3)
    assert layer.weight.tolist() == [[0, 0, 3, -4], [0, 6, -7, 8]]
    assert set(layer.state_dict()) == {"bias", "weight_orig", "weight_mask"}
    assert prune.is_pruned(nn.Sequential(layer))
    prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
    assert layer.weight.tolist() == [[0, 0, 0, 0], [0, 6, -7, 8]]
    layer(torch.ones(1, 4)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[0] * 4, [0, 1, 1, 1]]
    prune.remove(layer, "weight")
    assert not prune.is_pruned(layer) and isinstance(layer.weight, nn.Parameter)
    assert layer.weight.tolist() == [[0, 0, 0, 0], [0, 6, -7, 8]]
    prune.random_unstructured(layer, "weight", amount=0.25)
    assert int(layer.weight_mask.sum()) == 6
    with pytest.raises(ValueError, match="should either be a float in the range"):
        prune.l1_unstructured(layer, "bias", amount=1.5)
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(layer, "bias")


def test_global_pruning(torch, nn):
    prune = nn.utils.prune
    a, b = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        a.weight.copy_(torch.tensor([[1.0, 4.0]])), b.weight.copy_(torch.tensor([[2.0, 3.0]]))
    pairs = [(a, "weight"), (b, "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=2)
    assert (a.weight.tolist(), b.weight.tolist()) == ([[0, 4]], [[0, 3]])


def test_fusing_batch_norm(torch, nn):
    def seasoned(norm):
        norm.running_mean.normal_(), norm.running_var.uniform_(0.5, 2)
        nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
        return norm.eval()

    conv, norm = nn.Conv2d(3, 5, 2).eval(), seasoned(nn.BatchNorm2d(5))
    fused, x = nn.utils.fuse_conv_bn_eval(conv, norm), torch.randn(2, 3, 6, 6)
    assert torch.allclose(fused(x), norm(conv(x)), atol=1e-5)
    linear, norm = nn.Linear(3, 4, bias=False).eval(), seasoned(nn.BatchNorm1d(4))
    fused, x = nn.utils.fuse_linear_bn_eval(linear, norm), torch.randn(7, 3)
    assert torch.allclose(fused(x), norm(linear(x)), atol=1e-5)
    with pytest.raises(AssertionError, match="Fusion only for eval"):
        nn.utils.fuse_conv_bn_eval(conv.train(), norm)


def test_clipping(torch, nn):
    p, q = (nn.Parameter(torch.zeros(2)) for _ in range(2))
    p.grad, q.grad = torch.tensor([3.0, 0.0]), torch.tensor([0.0, -4.0])
    assert nn.utils.get_total_norm([p.grad, q.grad]).item() == 5
    assert nn.utils.clip_grad_norm_([p, q], 1.0).item() == 5
    assert torch.allclose(p.grad, torch.tensor([0.6, 0.0]), atol=1e-6)
    assert nn.utils.clip_grad_norm_(iter([p, q]), 9.0, float("inf")).item() == pytest.approx(0.8)
    nn.utils.clip_grad_value_([p, q], 0.5)
    assert p.grad.tolist() == [0.5, 0] and q.grad.tolist() == [0, -0.5]
    q.grad = torch.tensor([float("nan"), 1.0])
    with pytest.raises(RuntimeError, match="for gradients from `parameters` is non-finite"):
        nn.utils.clip_grad_norm_([p, q], 1.0, error_if_nonfinite=True)
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        nn.utils.clip_grad_norm([p], 1.0)
    with pytest.warns(UserWarning, match="empty generator"):
        assert nn.utils.clip_grad_norm_((x for x in ()), 1.0).item() == 0
    r = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    p.grad, r.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0], dtype=torch.float64)
    assert nn.utils.clip_grad_norm_([p, r], 1.0).item() == 5
    assert r.grad.item() == pytest.approx(0.8, rel=1e-5)


def test_one_vector(torch, nn):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(torch.arange(9.0), net.parameters())
    assert net[1].weight.tolist() == [[6, 7]] and net[1].bias.tolist() == [8]
    with pytest.raises(TypeError, match="expected torch.Tensor"):
        nn.utils.vector_to_parameters([1.0], net.parameters())


MAPS = ["matrix_exp", "cayley", "householder"]


@pytest.mark.parametrize("orthogonal_map", MAPS)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 5, 3)])
def test_orthogonal(torch, nn, orthogonal_map, shape):
    module = nn.Module()
    module.weight = nn.Parameter(torch.randn(shape, dtype=torch.float64))
    nn.utils.parametrizations.orthogonal(module, "weight", orthogonal_map)

    def is_orthogonal():
        w = module.weight if shape[-2] >= shape[-1] else module.weight.mT
        return torch.allclose(w.mT @ w, torch.eye(w.shape[-1], dtype=w.dtype), atol=1e-12)

    assert is_orthogonal()
    target = torch.linalg.qr(torch.randn(max(shape[-2:]), min(shape[-2:]), dtype=torch.float64)).Q
    target = target if shape[-2] >= shape[-1] else target.mT
    module.weight = target.expand(shape)
    assert torch.allclose(module.weight, target)
    start = torch.randn(shape, dtype=torch.float64)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (module.weight - start).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and is_orthogonal()
    again = nn.Module()
    again.weight = nn.Parameter(torch.randn(shape, dtype=torch.float64))
    nn.utils.parametrizations.orthogonal(again, "weight", orthogonal_map)
    again.load_state_dict(module.state_dict())
    assert again.weight.equal(module.weight)


def test_orthogonal_without_a_base(torch, nn):
    target = torch.linalg.qr(torch.randn(5, 3)).Q
    layer = nn.utils.parametrizations.orthogonal(
        nn.Linear(3, 5), orthogonal_map="householder", use_trivialization=False
    )
    layer.weight = target
    assert torch.allclose(layer.weight, target, atol=1e-6)
    assert torch.autograd.gradcheck(
        layer.parametrizations.weight[0], torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    )
    other = nn.utils.parametrizations.orthogonal(
        nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False
    )
    with pytest.raises(NotImplementedError, match="not possible to assign"):
        other.weight = torch.eye(3)
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="qr")
    with pytest.raises(ValueError, match="Expected a matrix"):
        nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), "bias")
