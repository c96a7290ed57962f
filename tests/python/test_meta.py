"""The device of tensors without elements: shapes, dtypes and gradients as anywhere else, no memory,
and an error that says so where elements are asked for."""

import copy
import io
import pickle
import warnings

import pytest


@pytest.fixture
def x(torch):
    return torch.empty(3, 4, device="meta")


def test_it_is_a_device_of_one(torch, x):
    assert x.device == torch.device("meta") and repr(x.device) == "device(type='meta')"
    assert x.is_meta and not x.is_cpu and not x.is_cuda and not torch.ones(1).is_meta
    assert x.data_ptr() == 0 and x.get_device() == -1 and not x.is_pinned()
    with pytest.raises(RuntimeError, match="there is one"):
        torch.empty(2, device="meta:1")


def test_how_it_prints(torch, x):
    assert repr(x) == "tensor(..., device='meta', size=(3, 4))"
    whole = torch.tensor([1, 2], device="meta")
    assert repr(whole) == "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    storage = "...\n[torch.storage.UntypedStorage(device=meta) of size 48]"
    assert repr(x.untyped_storage()) == storage
    assert "requires_grad=True" in repr(torch.nn.Linear(3, 4, device="meta").weight)


def test_it_takes_no_memory(torch):
    many = torch.empty(1 << 30, 1 << 20, device="meta")
    assert (many @ many.new_zeros(1 << 20)).shape == (1 << 30,)
    assert many.untyped_storage().nbytes() == 1 << 52


@pytest.mark.parametrize("how", ["item", "tolist", "cpu", "nonzero", "unique", "numpy", "bool"])
def test_elements_are_refused(torch, x, how):
    one = x.sum()
    asked = {
        "item": one.item,
        "tolist": x.tolist,
        "cpu": x.cpu,
        "nonzero": x.nonzero,
        "unique": x.unique,
        "numpy": x.numpy,
        "bool": lambda: bool(one),
    }
    kind, words = (RuntimeError, "meta tensor")
    if how == "numpy":
        kind, words = TypeError, "can't convert meta device type tensor to numpy"
    with pytest.raises(kind, match=words):
        asked[how]()


def test_devices_do_not_mix(torch, x):
    with pytest.raises(RuntimeError, match="meta"):
        x + torch.ones(4)
    assert (x + torch.tensor(2.0)).is_meta
    with pytest.raises(RuntimeError, match="no data"):
        torch.empty(3, 4).copy_(x)
    assert x.copy_(torch.ones(3, 4)) is x
    with pytest.raises(ValueError, match="Unknown device type meta"):
        x.__dlpack_device__()
    with pytest.raises(RuntimeError):
        torch.Generator("meta")


def test_nothing_is_drawn(torch):
    before = torch.get_rng_state()
    torch.randn(10, device="meta", generator=torch.default_generator).uniform_()
    torch.nn.Linear(20, 30, device="meta")
    assert before.equal(torch.get_rng_state())


def network(torch):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(),
        nn.LazyLinear(4),
    )


def test_a_step_of_training(torch):
    nn = torch.nn
    with torch.device("meta"):
        model = network(torch)
        loss = nn.functional.cross_entropy(model(torch.randn(2, 3, 8, 8)), torch.zeros(2).long())
    optimizer = torch.optim.Adam(model.parameters())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    for p in model.parameters():
        assert p.is_meta and p.grad.is_meta and p.grad.shape == p.shape
    assert optimizer.state[model[0].weight]["exp_avg"].is_meta


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "TransformerEncoderLayer", "MultiheadAttention"])
def test_shapes_are_those_of_the_cpu(torch, kind):
    found = []
    for device in "cpu", "meta":
        sizes = (8, 2) if kind[0] in "TM" else (8, 4)
        module = getattr(torch.nn, kind)(*sizes, device=device)
        given = [torch.zeros(5, 2, 8, device=device)] * (3 if kind[0] == "M" else 1)
        out = module(*given)
        out = out if isinstance(out, tuple) else (out,)
        flat = [t for part in out for t in (part if isinstance(part, tuple) else (part,))]
        assert all(t.device.type == device for t in flat)
        flat[0].sum().backward()
        found.append([t.shape for t in (*flat, *(p.grad for p in module.parameters()))])
    assert found[0] == found[1]


def test_a_module_gets_memory_and_values(torch):
    linear = torch.nn.Linear(3, 4, device="meta")
    with pytest.raises(NotImplementedError, match=r"Please use torch.nn.Module.to_empty\(\)"):
        linear.to("cpu")
    weight, values = linear.weight, torch.nn.Linear(3, 4).state_dict()
    with pytest.warns(UserWarning, match="which is a no-op"):
        linear.load_state_dict(values)
    assert linear.to_empty(device="cpu") is linear and linear.weight is weight
    assert weight.device.type == "cpu" and weight.requires_grad
    linear.load_state_dict(values)
    assert weight.equal(values["weight"])


def test_values_are_assigned(torch):
    linear, values = torch.nn.Linear(3, 4, device="meta"), torch.nn.Linear(3, 4).state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linear.load_state_dict(values, assign=True)
    assert linear(torch.ones(3)).device.type == "cpu" and linear.weight.requires_grad
    assert linear.weight.data_ptr() == values["weight"].data_ptr()


def test_what_is_assigned_needs_gradients_as_the_module_did(torch):
    linear = torch.nn.Linear(3, 4, device="meta").requires_grad_(False)
    given = dict(torch.nn.Linear(3, 4).named_parameters())
    linear.load_state_dict(given, assign=True)
    assert not linear.weight.requires_grad and linear.weight is given["weight"]


def test_initialisers_after_to_empty_are_those_of_a_new_module(torch):
    torch.manual_seed(3)
    wanted = torch.nn.Linear(3, 4)
    linear = torch.nn.Linear(3, 4, device="meta").to_empty(device="cpu")
    torch.manual_seed(3)
    linear.reset_parameters()
    assert linear.weight.equal(wanted.weight) and linear.bias.equal(wanted.bias)


def test_copies_and_files(torch, x):
    linear = torch.nn.Linear(3, 4, device="meta")
    strided = x.t().requires_grad_()
    for made in copy.deepcopy(strided), pickle.loads(pickle.dumps(strided)), saved(torch, strided):
        assert made.is_meta and made.shape == (4, 3) and made.stride() == strided.stride()
        assert made.requires_grad
    assert copy.deepcopy(linear).weight.is_meta
    assert saved(torch, linear.state_dict())["weight"].is_meta
    real = saved(torch, torch.nn.Linear(3, 4).state_dict(), map_location="meta")
    assert real["weight"].is_meta and real["weight"].shape == (4, 3)


def saved(torch, value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    return torch.load(io.BytesIO(file.getvalue()), **options)


def test_it_may_be_the_default(torch):
    torch.set_default_device("meta")
    try:
        assert torch.ones(2).is_meta and torch.nn.Linear(2, 2).weight.is_meta
        assert torch.arange(3).sum().shape == ()
    finally:
        torch.set_default_device(None)
    assert not torch.ones(2).is_meta


def test_what_is_no_tensor_of_the_program_does_not_follow_the_default(torch):
    w = torch.ones(2, requires_grad=True)
    scaler, optimizer = torch.amp.GradScaler("cpu"), torch.optim.LBFGS([w], max_iter=2)

    def loss():
        optimizer.zero_grad()
        found = (w * w).sum()
        found.backward()
        return found

    optimizer.step(loss)
    scales, state = scaler.state_dict(), optimizer.state_dict()
    torch.set_default_device("meta")
    try:
        points = torch.quasirandom.SobolEngine(2, scramble=True).draw(4)
        scaler.load_state_dict({**scales, "scale": 8.0})
        optimizer.load_state_dict(state)
        optimizer.step(loss)
    finally:
        torch.set_default_device(None)
    assert not points.is_meta and ((0 <= points) & (points < 1)).all()
    assert scaler.get_scale() == 8.0 and w.isfinite().all()


def test_views_share_and_storages_grow(torch, x):
    view = x[1:, 2]
    assert view.untyped_storage().nbytes() == x.untyped_storage().nbytes() == 48
    view.add_(1)
    assert x._version == 1
    assert x.resize_(5, 6).shape == (5, 6) and x.untyped_storage().nbytes() == 120


def test_where_a_shape_depends_on_elements(torch, x):
    for ask in (lambda: x[x > 0], lambda: torch.bincount(x.long().flatten())):
        with pytest.raises(RuntimeError, match="no data"):
            ask()
    assert x.masked_fill(x > 0, 1.0).shape == x.shape
    assert torch.where(x > 0, x, x).shape == x.shape
    assert [t.shape for t in x.sort()] == [x.shape] * 2
    assert torch.multinomial(x, 2).shape == (3, 2)
