"""Modules: attributes, names, state dicts, moves, hooks, text; optimizers and schedules."""

import copy
from unittest.mock import MagicMock

import pytest


@pytest.fixture
def net(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def test_repr(torch, net):
    assert repr(net) == (
        "Sequential(\n  (0): Linear(in_features=3, out_features=4, bias=True)\n  (1): ReLU()\n"
        "  (2): Linear(in_features=4, out_features=1, bias=True)\n)"
    )
    assert repr(torch.nn.Dropout(0.2)) == "Dropout(p=0.2, inplace=False)"
    assert repr(torch.nn.MaxPool2d(2)) == (
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)"
    )
    assert repr(torch.nn.BatchNorm1d(3)) == (
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)"
    )
    assert repr(torch.nn.LayerNorm(3, bias=False)) == (
        "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"
    )
    assert repr(torch.nn.GroupNorm(1, 2)) == "GroupNorm(1, 2, eps=1e-05, affine=True, bias=True)"
    assert (
        repr(torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU()]))
        == "ModuleList(\n  (0-1): 2 x ReLU()\n)"
    )


def test_norms_without_bias(torch, device):
    module = torch.nn.BatchNorm1d(6, bias=False, device=device)
    module.reset_parameters()
    assert module(torch.arange(12.0, device=device).reshape(2, 6)).mean().abs().item() < 1e-5
    for norm in module, torch.nn.GroupNorm(2, 6, bias=False, device=device):
        assert [n for n, _ in norm.named_parameters()] == ["weight"]


def test_names(torch, net):
    assert [n for n, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert [n for n, _ in net.named_modules()] == ["", "0", "1", "2"]
    assert net.get_parameter("2.bias") is net[2].bias


def test_registration(torch):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.register_buffer("count", torch.zeros(1))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.scale = nn.Parameter(torch.ones(1))

    net = Net()
    assert list(net.state_dict()) == ["scale", "count", "layer.weight", "layer.bias"]
    net.layer = None
    assert [n for n, _ in net.named_parameters()] == ["scale"]
    with pytest.raises(TypeError, match="cannot assign 'torch.FloatTensor|cannot assign 'torch"):
        net.scale = torch.ones(1)
    del net.scale
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'scale'"):
        _ = net.scale
    with pytest.raises(AttributeError, match="before Module.__init__"):

        class Late(nn.Module):
            def __init__(self):
                self.layer = nn.Linear(1, 1)

        Late()


def test_load_state_dict_reports(torch, net):
    with pytest.raises(RuntimeError) as found:
        net.load_state_dict({"0.weight": torch.zeros(2, 2), "x": torch.zeros(1)})
    text = str(found.value)
    assert 'Missing key(s) in state_dict: "0.bias", "2.weight", "2.bias". ' in text
    assert 'Unexpected key(s) in state_dict: "x". ' in text
    assert "size mismatch for 0.weight: copying a param with shape torch.Size([2, 2])" in text
    other = copy.deepcopy(net)
    assert repr(other.load_state_dict(net.state_dict())) == "<All keys matched successfully>"


def test_moves_keep_parameters(torch, device, net):
    before = list(net.parameters())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.to(device)
    assert all(a is b for a, b in zip(before, net.parameters()))
    assert all(p.device.type == device for p in optimizer.param_groups[0]["params"])
    net.double()
    assert net[0].weight.dtype is torch.float64


def test_forward_hooks(torch, net):
    calls = []
    with net[0].register_forward_pre_hook(lambda m, args: calls.append("pre")):
        with net[0].register_forward_hook(lambda m, args, out: out * 0):
            assert net[0](torch.ones(1, 3)).tolist() == [[0, 0, 0, 0]]
    assert calls == ["pre"]
    assert any(net[0](torch.ones(1, 3)).tolist()[0])


def test_backward_hook(torch, net):
    seen = {}
    net[2].register_full_backward_hook(
        lambda m, gi, go: seen.update(gi=gi[0].shape, go=go[0].shape)
    )
    net(torch.ones(5, 3)).sum().backward()
    assert seen == {"gi": (5, 4), "go": (5, 1)}
    y = net[2](torch.ones(5, 4))
    assert type(y.grad_fn).__name__ == "BackwardHookFunctionBackward"
    with pytest.raises(
        RuntimeError, match="Output 0 of BackwardHookFunction is a view and is bein"
    ):
        y.add_(1)


def test_train_and_eval(torch):
    net = torch.nn.Sequential(torch.nn.Dropout(0.5))
    assert net.eval()[0].training is False
    assert net(torch.ones(4)).tolist() == [1, 1, 1, 1]
    assert net.train()[0].training is True


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("SGD", {}, [0.512, 1.024, 1.536]),
        ("SGD", {"momentum": 0.9}, [0.062, 0.124, 0.186]),
        ("SGD", {"momentum": 0.9, "nesterov": True}, [-0.10835, -0.2167, -0.32506]),
        ("Adam", {}, [0.70159, 1.70062, 2.70038]),
        ("Adam", {"weight_decay": 0.1}, [0.70159, 1.70062, 2.70038]),
        ("AdamW", {}, [0.69891, 1.69494, 2.69170]),
    ],
)
def test_three_steps(torch, device, name, options, expected):
    """The numbers are PyTorch's."""
    w = torch.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    optimizer = getattr(torch.optim, name)([w], lr=0.1, **options)
    for _ in range(3):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    assert w.tolist() == pytest.approx(expected, abs=1e-5)


def test_optimizer_state_round_trip(torch):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    (w * w).sum().backward()
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [0] and saved["param_groups"][0]["params"] == [0]
    again = torch.optim.Adam([w], lr=0.5)
    again.load_state_dict(saved)
    assert again.param_groups[0]["lr"] == 0.1
    assert again.state[w]["exp_avg"].tolist() == optimizer.state[w]["exp_avg"].tolist()


def test_optimizer_arguments(torch):
    with pytest.raises(ValueError, match="empty parameter list"):
        torch.optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=-1)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda s, o: s.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda s, o: s.LambdaLR(o, lambda e: 1 / (1 + e)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        (lambda s, o: s.CosineAnnealingLR(o, 4), [1, 0.85355, 0.5, 0.14645, 0]),
        (lambda s, o: s.MultiStepLR(o, [1, 3], 0.1), [1, 0.1, 0.1, 0.01, 0.01]),
        (lambda s, o: s.ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
    ],
)
def test_schedules(torch, make, expected):
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = make(torch.optim.lr_scheduler, optimizer)
    found = []
    for _ in expected:
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert found == pytest.approx(expected, abs=1e-5)


def test_optimizers_step_parameters_of_any_layout(torch):
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.5),
    ):
        results = []
        strided = torch.arange(6.0).reshape(3, 2).t()
        for w in (strided.contiguous(), strided):
            w = w.detach().requires_grad_()
            optimizer = make([w])
            for _ in range(3):
                optimizer.zero_grad()
                (w * w).sum().backward()
                optimizer.step()
            results.append(w.detach().tolist())
        assert results[0] == results[1]


def test_layer_norm_of_halves_takes_f32_weights(torch):
    F, x = torch.nn.functional, torch.tensor([[1.0, 3.0]], dtype=torch.float16)
    y = F.layer_norm(x, (2,), torch.full((2,), 2.0), torch.ones(2))
    assert y.dtype == torch.float16 and [round(v) for v in y[0].tolist()] == [-1, 3]
    with pytest.raises(RuntimeError, match="weight is f16"):
        F.layer_norm(x.float(), (2,), torch.ones(2, dtype=torch.float16))


def test_the_older_hook_before_loading(torch):
    module, seen = torch.nn.Linear(2, 2), []

    def hook(state_dict, prefix, local_metadata, strict, missing, unexpected, errors):
        seen.append((prefix, strict))
        state_dict.pop("extra")

    module._register_load_state_dict_pre_hook(hook)
    module.load_state_dict({**module.state_dict(), "extra": torch.ones(1)})
    assert seen == [("", True)]


def test_methods_are_named_after_module(torch):
    net = torch.nn.Linear(2, 1)
    text = "<bound method Module.parameters of Linear(in_features=2, out_features=1, bias=True)>"
    assert repr(net.parameters) == text
    assert "Module.load_state_dict" in repr(torch.nn.Module.load_state_dict)


def test_parameters_are_overwritten_where_asked(torch):
    future = torch.__future__
    module = torch.nn.Linear(2, 2)
    weight = module.weight
    module(torch.ones(1, 2)).sum().backward()
    future.set_overwrite_module_params_on_conversion(True)
    try:
        assert future.get_overwrite_module_params_on_conversion()
        module.double()
    finally:
        future.set_overwrite_module_params_on_conversion(False)
    assert weight.dtype is torch.float32 and weight.grad.dtype is torch.float32
    with pytest.raises(RuntimeError, match="weight is parameter weight"):
        module(torch.ones(1, 3).double())  # the library knows the new one's name
    assert module.weight is not weight and module.weight.dtype is torch.float64
    assert module.weight.grad.dtype is torch.float64 and module.weight.is_leaf
    new = module.weight
    module.float()
    assert module.weight is new and new.dtype is torch.float32


@pytest.fixture
def swapping(torch):
    future = torch.__future__
    assert not future.get_swap_module_params_on_conversion()
    future.set_swap_module_params_on_conversion(True)
    yield future
    future.set_swap_module_params_on_conversion(False)


def test_moved_parameters_are_swapped_where_asked(torch, swapping):
    assert swapping.get_swap_module_params_on_conversion()
    module = torch.nn.Linear(2, 2)
    weight, before = module.weight, module.weight.detach()
    module(torch.ones(1, 2)).sum().backward()
    module.double()
    assert module.weight is weight and type(weight) is torch.nn.Parameter and weight.is_leaf
    assert weight.dtype is weight.grad.dtype is torch.float64 and before.dtype is torch.float32
    with pytest.raises(RuntimeError, match="weight is parameter weight"):
        module(torch.ones(1, 3).double())


@pytest.mark.parametrize("assign", [False, True])
def test_loaded_tensors_are_swapped_where_asked(torch, swapping, assign):
    module, other = torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2)
    torch.nn.init.constant_(other.weight, 3)
    other.running_mean.fill_(4)
    weight, mean, given = module.weight, module.running_mean, other.state_dict()
    module.load_state_dict(given, assign=assign)
    assert module.weight is weight and type(weight) is torch.nn.Parameter and weight.requires_grad
    assert module.running_mean is mean and weight.tolist() == [3, 3] and mean.tolist() == [4, 4]
    assert (weight.data_ptr() == given["weight"].data_ptr()) == assign
    assert given["weight"].tolist() == [3, 3] and not given["weight"].requires_grad


def test_a_class_says_what_it_is_loaded_with(torch, swapping):
    class Doubled(torch.nn.Parameter):
        def module_load(self, other, assign=False):
            return other * 2

    module = torch.nn.Linear(2, 2)
    module.weight = Doubled(module.weight)
    module.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)})
    assert module.weight.tolist() == [[2, 2]] * 2 and module.bias.tolist() == [1, 1]


def test_what_passes_for_a_module_is_registered_as_one(torch):
    class Unfinished(torch.nn.Module):
        def __init__(self):
            pass

    layer = torch.nn.Linear(2, 2)
    layers = torch.nn.ModuleList([layer, layer])
    layers[1] = mock = MagicMock(layer, return_value=3)
    assert layers[1] is mock and layers[1](1) == 3
    parent = torch.nn.Module()
    parent.child = Unfinished()
    assert parent.child is dict(parent.named_children())["child"]
    with pytest.raises(AttributeError, match="'Unfinished' object has no attribute"):
        parent.child(torch.ones(2))


def test_a_prefix_is_taken_off_the_names_of_a_state(torch):
    from flambeau.nn.modules.utils import consume_prefix_in_state_dict_if_present

    plain = torch.nn.Sequential(torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 3))
    wrapped = torch.nn.Module()
    wrapped.module = plain
    state, wanted = wrapped.state_dict(), plain.state_dict()
    state["module_of_another_name"] = 1
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert state.pop("module_of_another_name") == 1 and list(state) == list(wanted)
    assert state._metadata == wanted._metadata
    consume_prefix_in_state_dict_if_present(state, "module.")
    plain.load_state_dict(state)
    bare = {"module.a": 1, "b": 2}
    consume_prefix_in_state_dict_if_present(bare, "module.")
    assert bare == {"a": 1, "b": 2}
