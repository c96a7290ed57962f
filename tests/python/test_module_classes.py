"""What programs do with any class of torch.nn, done with every one: made by keyword, printed, made
into a subclass, copied, pickled, saved, loaded, moved, hooked. PyTorch's side is stored
(tests/golden/modules.py)."""

import copy
import gc
import inspect
import io
import json
import pathlib
import pickle
import warnings
from collections import OrderedDict

import pytest
from flambeau._gen import ops

from tests.golden import modules

STORED = json.loads(pathlib.Path(modules.__file__).with_suffix(".json").read_text("utf-8"))
NAMES = list(modules.CASES)
every_class = pytest.mark.parametrize("name", NAMES)


def made(torch, name):
    return getattr(torch.nn, name)(**modules.CASES[name])


def same_state(torch, a, b):
    a, b = a.state_dict(), b.state_dict()
    assert list(a) == list(b)
    for key in a:
        assert type(a[key]) is type(b[key])
        if not torch.nn.parameter.is_lazy(a[key]):
            assert torch.equal(a[key].cpu(), b[key].cpu()), key


def test_every_class_is_there(torch):
    found = {
        name
        for name in dir(torch.nn)
        if inspect.isclass(c := getattr(torch.nn, name)) and issubclass(c, torch.nn.Module)
    }
    assert found - {*NAMES, *modules.CONTAINERS} == set()
    assert set(NAMES) - found == set() and list(STORED) == NAMES


@every_class
def test_it_prints_and_holds_what_torch_does(torch, name):
    module, stored = made(torch, name), STORED[name]
    assert repr(module) == stored["repr"]
    assert modules.results(torch, name)["state"] == stored["state"]
    for key, value in stored["attributes"].items():
        mine = getattr(module, key)
        mine = list(mine) if isinstance(mine, tuple) else mine
        assert type(mine) is type(value) and mine == pytest.approx(value), key


@every_class
def test_a_mixin_before_or_behind_it_is_set_up_once(torch, name):
    kind = getattr(torch.nn, name)

    class Before:
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.before = getattr(self, "before", 0) + 1

    class Behind(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.behind = getattr(self, "behind", 0) + 1

    class Both(Before, kind, Behind):
        pass

    module = Both(**modules.CASES[name])
    assert module.before == 1 and module.behind == 1
    assert repr(module).startswith("Both(")


@every_class
def test_copies_and_files_hold_it_whole(torch, name):
    module = made(torch, name).eval()
    module.own = {"note": [1, 2]}
    for child in list(module.modules()):
        if hasattr(child, "activation"):
            child.activation = torch.nn.ReLU()
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    names = [n for n in vars(module) if n != "_flam"]  # the library's handle, made when asked for
    for other in copy.deepcopy(module), pickle.loads(pickle.dumps(module)), loaded:
        assert type(other) is type(module) and repr(other) == repr(module)
        assert other.own == {"note": [1, 2]} and other.own is not module.own
        assert not other.training and [n for n in vars(other) if n != "_flam"] == names
        same_state(torch, module, other)
        mine = {id(t) for t in [*module.parameters(), *module.buffers()]}
        assert not mine & {id(t) for t in [*other.parameters(), *other.buffers()]}


@every_class
def test_state_dicts_go_around(torch, name):
    module, other = made(torch, name), made(torch, name)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=not name.startswith("Lazy"))
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    same_state(torch, module, other)
    assign = made(torch, name)
    assign.load_state_dict(state, assign=True)
    same_state(torch, module, assign)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        other.load_state_dict({"nothing": torch.ones(1)})


@every_class
def test_moves_keep_parameters_and_ask_every_module(torch, device, name):
    module = made(torch, name)
    before, asked = list(module.parameters()), []
    for child in module.modules():
        plain = child._apply

        def _apply(fn, recurse=True, child=child, plain=plain):
            asked.append(child)
            return plain(fn, recurse)

        child._apply = _apply
    assert module.to(torch.float64) is module
    assert set(asked) == set(module.modules())
    module.to(device)
    for mine, was in zip(module.parameters(), before, strict=True):
        assert mine is was and mine.dtype == torch.float64 and mine.device.type == device


def watched(torch, module, events):
    """A module whose forward is replaced, with one hook of every kind."""
    module.forward = lambda x, scale=1: x * scale
    nn = torch.nn.modules.module
    note = lambda kind: lambda *given: events.append((kind, len(given)))  # noqa: E731
    everywhere = [
        nn.register_module_forward_pre_hook(note("all before")),
        nn.register_module_forward_hook(note("all after")),
        nn.register_module_full_backward_pre_hook(note("all gradients before")),
        nn.register_module_full_backward_hook(note("all gradients")),
    ]
    own = [
        module.register_forward_pre_hook(note("before"), with_kwargs=True),
        module.register_forward_pre_hook(note("first"), prepend=True),
        module.register_forward_hook(note("after"), with_kwargs=True, always_call=True),
        module.register_full_backward_pre_hook(note("gradients before")),
        module.register_full_backward_hook(note("gradients")),
    ]
    return everywhere + own


ORDER = [
    ("all before", 2), ("first", 2), ("before", 3), ("all after", 3), ("after", 4),
    ("all gradients before", 2), ("gradients before", 2), ("all gradients", 3), ("gradients", 3),
]  # fmt: skip


@every_class
def test_every_kind_of_hook_runs_and_goes(torch, name):
    module, events = made(torch, name), []
    handles = watched(torch, module, events)
    try:
        x = torch.ones(2, requires_grad=True)
        torch.nn.Module.__call__(module, x, scale=2).sum().backward()
        assert events == ORDER and x.grad.tolist() == [2.0, 2.0]
    finally:
        for handle in handles:
            handle.remove()
            handle.remove()
    groups = [g for n, g in vars(module).items() if "hooks" in n and isinstance(g, dict)]
    assert len(groups) >= 10 and not any(groups)
    torch.nn.Module.__call__(module, x).sum().backward()
    assert events == ORDER


def test_a_second_derivative_is_no_gradient_of_the_module(torch):
    loss, events = torch.nn.MSELoss(), []
    loss.register_full_backward_hook(lambda *given: events.append(given))
    x = torch.ones(3, requires_grad=True)
    (g,) = torch.autograd.grad(loss(x, torch.zeros(3)), x, create_graph=True)
    g.sum().backward()
    assert len(events) == 1 and x.grad is not None


def test_hooks_keep_what_forward_returns(torch):
    import collections

    Pair = collections.namedtuple("Pair", "a b")
    for wrap in (lambda y: {"y": y}), (lambda y: [y, y]), (lambda y: Pair(y, 1)), (lambda y: None):
        module = torch.nn.Module()
        module.forward = lambda x, wrap=wrap: wrap(x * 2)
        module.register_full_backward_hook(lambda *given: None)
        x = torch.ones(2, requires_grad=True)
        expected = wrap(x)
        if isinstance(expected, tuple):
            assert type(module(x)) is Pair
            continue
        with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
            assert type(module(x)) is type(expected)


def test_what_hooks_return_is_checked(torch):
    ones, x = torch.ones(3, 2), torch.ones(3, 2, requires_grad=True)
    for register, message in (
        ("register_full_backward_hook", "invalid number of grad_input, got 2, but expected 1"),
        ("register_full_backward_pre_hook", "invalid number of grad_output, got 2, but expected 1"),
    ):
        module = torch.nn.Linear(2, 2)
        getattr(module, register)(lambda *given: (ones, ones))
        with pytest.raises(RuntimeError, match=message):
            module(x).sum().backward()
    module = torch.nn.Linear(2, 2)
    module.register_full_backward_hook(lambda *given: (ones,))
    with pytest.raises(RuntimeError, match="where no input requires gradient"):
        module(x.detach()).sum().backward()
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks"):
        module.register_backward_hook(lambda *given: None)
    module = torch.nn.Linear(2, 2)
    module.register_forward_pre_hook(lambda *given: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        module(x)


def test_hooks_that_always_run(torch):
    seen = []

    def fails(*given):
        seen.append("fails")
        raise RuntimeError("in a hook")

    module = torch.nn.Linear(2, 2)
    module.register_forward_hook(fails)
    module.register_forward_hook(lambda *given: seen.append("later"), always_call=True)
    with pytest.raises(RuntimeError, match="in a hook"):
        module(torch.ones(1, 2))
    assert seen == ["fails", "later"]
    module.register_forward_hook(fails, always_call=True)
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="was silenced"):
        module(torch.ones(1, 3))


def test_hooks_of_all_modules_are_where_programs_replace_them(torch):
    nn = torch.nn.modules.module
    nn._global_is_full_backward_hook = None
    nn.register_module_forward_hook(lambda *given: 1 / 0)
    nn.register_module_backward_hook(lambda *given: 1 / 0)
    for name, value in list(vars(nn).items()):
        if name.startswith("_global_") and isinstance(value, dict):
            setattr(nn, name, {})
    nn._global_is_full_backward_hook = None
    torch.nn.ReLU()(torch.ones(2, requires_grad=True)).sum().backward()


def test_registrations_are_seen_and_changed(torch):
    nn, seen = torch.nn.modules.module, []
    other = torch.nn.Parameter(torch.zeros(1))
    handles = [
        nn.register_module_parameter_registration_hook(
            lambda module, name, value: seen.append(name) or (other if name == "mine" else None)
        ),
        nn.register_module_buffer_registration_hook(lambda module, name, value: seen.append(name)),
        nn.register_module_module_registration_hook(lambda module, name, value: seen.append(name)),
    ]
    try:
        module = torch.nn.Module()
        module.mine = torch.nn.Parameter(torch.ones(1))
        module.register_buffer("buffer", torch.ones(1))
        module.child = torch.nn.Module()
        module.add_module("second", torch.nn.Module())
    finally:
        for handle in handles:
            handle.remove()
    assert seen == ["mine", "buffer", "child", "second"] and module.mine is other


def test_the_call_of_a_regular_hook(torch):
    module, seen = torch.nn.Linear(2, 3), []
    handle = module.register_backward_hook(lambda m, given, made: seen.append(made[0].shape))
    module(torch.ones(4, 2)).sum().backward()
    assert seen == [(4, 3)]
    handle.remove()
    assert not module._backward_hooks


@pytest.mark.parametrize(
    "run, error, message",
    [
        (lambda nn, t: nn.Conv1d(1, 1, 3, stride=2, padding="same"), ValueError, "strided"),
        (lambda nn, t: nn.GroupNorm(4, 4)(t.ones(1, 4)), ValueError, "more than 1 value"),
        (lambda nn, t: nn.ReflectionPad1d(1)(t.ones(2, 0, 4)), RuntimeError, "2D or 3D"),
        (lambda nn, t: nn.ReplicationPad2d(1)(t.ones(2, 0, 4, 5)), RuntimeError, "3D or 4D"),
        (lambda nn, t: nn.Unfold(2)(t.ones(2, 0, 4, 4)), RuntimeError, "3D or 4D"),
        (lambda nn, t: nn.Dropout1d()(t.ones(2, 2, 2, 2)), RuntimeError, "2D or 3D"),
        (lambda nn, t: nn.ParameterList().extend(nn.Parameter(t.ones(2))), TypeError, "iterable"),
        (lambda nn, t: nn.Sequential(nn.ReLU()).insert(-5, nn.ReLU()), IndexError, "-5"),
        (lambda nn, t: nn.Sequential(nn.ReLU()).insert(0, 3), AssertionError, "of type"),
        (
            lambda nn, t: nn.EmbeddingBag(4, 3, mode="sum")(
                t.tensor([[1, 2]]), per_sample_weights=t.ones(1, 2, dtype=t.float64)
            ),
            RuntimeError,
            "same type",
        ),
    ],
)
def test_arguments_are_checked(torch, run, error, message):
    with pytest.raises(error, match=message):
        run(torch.nn, torch)


def test_norms_count_batches_only_while_they_track(torch):
    norm = torch.nn.BatchNorm1d(2)
    norm.track_running_stats = False
    norm(torch.randn(3, 2))
    assert norm.num_batches_tracked.item() == 0 and norm.running_mean.tolist() == [0, 0]


def test_lazy_modules_of_programs(torch):
    nn = torch.nn

    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.UninitializedParameter()
            self.shift = nn.UninitializedBuffer()

        def initialize_parameters(self, x, y=None):
            self.scale.materialize(x.shape[-1])
            self.shift.materialize((1,))

        def forward(self, x, y=None):
            return x * self.scale

    module, other = Scale(), Scale()
    assert module.has_uninitialized_params() and list(module.state_dict()) == ["scale", "shift"]
    module.load_state_dict(other.state_dict())
    assert module.has_uninitialized_params()
    with pytest.raises(RuntimeError, match="share memory on an uninitialized"):
        module.share_memory()
    assert module(torch.ones(2, 3), y=1).shape == (2, 3) and type(module) is Scale
    with pytest.raises(RuntimeError, match="shape of an uninitialized"):
        module.load_state_dict(other.state_dict())
    other.load_state_dict(module.state_dict())
    assert other.scale.shape == (3,)


def test_a_tensor_without_a_shape_is_taken_by_no_operation(torch):
    for lazy in torch.nn.UninitializedParameter(), torch.nn.UninitializedBuffer():
        for name in {*ops.TENSOR} - {*vars(torch.nn.parameter._Uninitialized)}:
            with pytest.raises((TypeError, ValueError, RuntimeError)):  # or arguments are missing
                getattr(lazy, name)()
        for call in (lambda t: t + 1, lambda t: torch.cat([t, t]), lambda t: 2 @ t, lambda t: t[0]):
            with pytest.raises(ValueError, match="uninitialized"):
                call(lazy)
        assert lazy.to("cpu") is lazy and lazy.half().dtype is torch.float16 and lazy.is_leaf


def test_lazy_layers_take_what_their_forward_takes(torch):
    layer = torch.nn.LazyConvTranspose2d(2, 3, stride=2)
    assert layer(torch.ones(1, 4, 3, 3), output_size=(8, 8)).shape == (1, 2, 8, 8)


def test_functional_calls_take_further_names(torch):
    module = torch.nn.Linear(2, 2)
    module.forward = lambda x: x * module.extra
    got = torch.func.functional_call(module, {"extra": torch.tensor(3.0)}, torch.ones(2))
    assert got.tolist() == [3.0, 3.0] and not hasattr(module, "extra")


def test_weights_of_recurrent_layers_are_given(torch):
    layer = torch.nn.LSTM(2, 2)
    layer._flat_weights = [torch.zeros_like(w) for w in layer._flat_weights]
    assert layer(torch.ones(1, 1, 2))[0].tolist() == [[[0.0, 0.0]]]
    layer.double()
    assert layer._flat_weights[0] is layer.weight_ih_l0


def test_shuffles_keep_the_order_of_memory(torch):
    x = torch.randn(2, 4, 2, 3).to(memory_format=torch.channels_last)
    for module in torch.nn.PixelShuffle(2), torch.nn.PixelUnshuffle(1), torch.nn.ChannelShuffle(2):
        assert module(x).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("wrap", [lambda y: ((y,),), lambda y: [[y]], lambda y: {"a": 1, "b": y}])
def test_regular_hooks_see_the_first_tensor_of_nested_results(torch, wrap):
    class Wraps(torch.nn.Module):
        def forward(self, x):
            self.made = x * 2
            return wrap(self.made)

    module, seen = Wraps(), []
    module.register_backward_hook(lambda _, given, made: seen.append(made[0].tolist()))
    module(torch.ones(2, requires_grad=True))
    module.made.sum().backward()
    assert seen == [[1, 1]]


def test_hooks_of_an_unpickled_module_are_kept(torch):
    last = torch.utils.hooks.RemovableHandle({}).id
    ahead = {last + n: print for n in range(1, 4)}  # numbers of another process
    assert torch.utils.hooks.RemovableHandle(ahead).id not in ahead


def test_a_handle_keeps_no_hook_alive_and_is_pickled_with_its_hooks(torch):
    module = torch.nn.Linear(1, 1)
    handle = module.register_forward_hook(print, with_kwargs=True)
    hooks = handle.hooks_dict_ref
    assert hooks() is module._forward_hooks
    copied, kept = pickle.loads(pickle.dumps((handle, hooks())))
    assert copied.hooks_dict_ref() is kept and list(kept) == [copied.id] == [handle.id]
    assert torch.utils.hooks.RemovableHandle.next_id > handle.id
    del module, kept
    gc.collect()
    assert hooks() is None
    handle.remove()  # nothing is left to take it from


def _several_operations(x):
    return x * 2 + 1


@pytest.mark.parametrize(
    "forward, told",
    [
        (lambda x: [x * 2], "does not return a single Tensor"),
        (lambda x: (x * 2, 3), "does not return a single Tensor"),
        (lambda x, other: x * 2, "does not take as input a single Tensor"),
        (lambda x: (x * 2, x * 3), "generated by different autograd Nodes"),
        (_several_operations, "contains multiple autograd Nodes"),
        (lambda x: x.detach() * 2, None),  # nothing to see
        (lambda x: x.exp(), None),  # one operation on what another one made
    ],
)
def test_a_regular_hook_says_what_it_does_not_see(torch, forward, told):
    class Runs(torch.nn.Module):
        def forward(self, *args):
            return forward(*args)

    module = Runs()
    module.register_backward_hook(lambda *_: None)
    args = [torch.ones(2, requires_grad=True).exp(), 3][: forward.__code__.co_argcount]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module(*args)
    assert [str(w.message) for w in seen if told and told in str(w.message)] or not (told or seen)


def test_constructors_show_their_arguments(torch):
    """Of every module class: what `inspect` shows binds as the constructor does."""
    for name in torch.nn.modules.__all__:
        kind = getattr(torch.nn, name)
        shown = list(inspect.signature(kind).parameters.values())
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in shown):
            continue
        with pytest.raises(TypeError, match="unexpected keyword argument 'surely_not_there'"):
            kind(surely_not_there=1, **{p.name: 1 for p in shown if p.default is p.empty})
        with pytest.raises(TypeError):
            kind(*[1] * (len(shown) + 1))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("batched", [False, True])
def test_channels_of_instance_norms(torch, n, batched):
    kind = getattr(torch.nn, f"InstanceNorm{n}d")
    x = torch.randn([3] * batched + [2] * (n + 1))
    with pytest.raises(ValueError, match=f"expected input's size at dim={int(batched)} to match"):
        kind(4, affine=True)(x)
    with pytest.warns(UserWarning, match="not used because affine=False"):
        assert torch.equal(kind(4)(x), kind(2)(x))
    assert kind(4)._get_no_batch_dim() == n + 1


def test_parameters_of_a_plain_dictionary_are_taken_by_name(torch):
    made = [torch.nn.Parameter(torch.ones(1)) for _ in range(4)]
    held = torch.nn.ParameterDict({"b": made[0], "a": made[1]})
    held.update({"d": made[2], "c": made[3]})
    assert [*held] == ["a", "b", "c", "d"]
    assert [*torch.nn.ParameterDict([("z", made[0]), ("a", made[1])])] == ["z", "a"]
    assert [*torch.nn.ParameterDict(OrderedDict(z=made[0], a=made[1]))] == ["z", "a"]


def test_names_that_python_cannot_spell_are_not_listed(torch):
    assert not [n for n in dir(torch.nn.Sequential(torch.nn.ReLU())) if n[0].isdigit()]


@pytest.mark.parametrize(
    "layer", ["Linear(2, 2)", "ReLU()", "Dropout()", "Softmax(-1)", "MaxPool1d(1)", "LayerNorm(2)"]
)
def test_too_many_arguments_are_counted(torch, layer):
    """They were taken for what a layer keeps in its own signature, or the layer had no name."""
    made = eval(f"torch.nn.{layer}")
    name = layer.partition("(")[0]
    said = rf"{name}.forward\(\) takes 2 positional arguments but 3 were given"
    with pytest.raises(TypeError, match=said):
        made(torch.ones(2, 2), 3)
