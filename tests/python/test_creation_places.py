"""Every creation function with every choice of order, page-locked memory, gradient and `out=`
together: none is forgotten because of another."""

import copy
import inspect
import itertools

import numpy as np
import pytest

SHAPE = 2, 3, 4, 5
ARGUMENTS = {"full": (SHAPE, 1.5), "full_like": (1.5,), "randint": (5, SHAPE), "randint_like": (5,)}
LINES = {
    "arange": (6.0,),
    "linspace": (0, 1, 6),
    "logspace": (0, 1, 6),
    "eye": (3,),
    "range": (1, 6),
} | {"randperm": (6,)}
OWN_SHAPE = {"empty_strided", "new_empty_strided", "tensor", "from_file", "normal"}


def functions(torch, parameter):
    """torch's functions that have a parameter of that name beside `dtype` and `device`."""
    for name in sorted(dir(torch)):
        f = getattr(torch, name)
        if not callable(f) or isinstance(f, type) or name[0] == "_" or name.endswith("_window"):
            continue
        names = inspect.signature(f).parameters.keys()
        if {parameter, "dtype", "device", "requires_grad"} <= names and name not in OWN_SHAPE:
            yield name, f, names


def made(torch, name, f, **options):
    if name.endswith("_like"):
        like = torch.zeros(SHAPE).permute(0, 2, 3, 1)[:, ::2]
        return f(like, *ARGUMENTS.get(name, ()), **options), like.shape
    if name in LINES:
        return f(*LINES[name], **options), None
    return f(*ARGUMENTS.get(name, (SHAPE,)), **options), SHAPE


def strides(torch, shape, order):
    return torch.empty(shape).contiguous(memory_format=order).stride()


def test_every_choice_beside_every_other(torch):
    seen = set()
    for name, f, names in functions(torch, "pin_memory"):
        orders = [None]
        if "memory_format" in names:
            orders += [torch.contiguous_format, torch.channels_last]
        pins = (False, True) if torch.cuda.is_available() else (False,)
        for order, pinned, grad in itertools.product(orders, pins, (False, True)):
            if name in LINES and order is torch.channels_last:
                continue
            options = {} if order is None else {"memory_format": order}
            found, shape = made(
                torch,
                name,
                f,
                pin_memory=pinned,
                requires_grad=grad,
                dtype=torch.float64,
                **options,
            )
            what = name, order, pinned, grad
            assert (found.is_pinned(), found.requires_grad, found.is_leaf) == (
                pinned,
                grad,
                True,
            ), what
            assert found.dtype is torch.float64 and found.grad_fn is None, what
            if shape is not None:
                assert found.shape == shape, what
                wanted = None if order is None else strides(torch, shape, order)
                assert wanted is None or found.stride() == wanted, what
            seen.add(name)
    assert len(seen) > 15, seen


def test_values_are_those_without_the_choice(torch):
    for name, f, names in functions(torch, "memory_format"):
        if "rand" in name or "empty" in name or name in LINES:
            continue
        plain, _ = made(torch, name, f)
        other, _ = made(torch, name, f, memory_format=torch.channels_last)
        assert torch.equal(plain, other), name


def test_a_like_does_not_read_its_operand(torch):
    x = torch.zeros(SHAPE)
    x.requires_grad_()
    for name, f, names in functions(torch, "memory_format"):
        if name.endswith("_like"):
            found = f(x, *ARGUMENTS.get(name, ()), memory_format=torch.channels_last)
            assert found.stride() == (60, 1, 15, 3) and found.grad_fn is None, name


def test_out_names_the_place(torch):
    with pytest.raises(RuntimeError, match="'memory_format' argument is incompatible with 'out'"):
        torch.empty(SHAPE, out=torch.empty(0), memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="device type cuda does not match device type of out"):
        torch.zeros(3, out=torch.empty(3), device="cuda:0")
    out = torch.empty(3)
    assert torch.zeros(3, out=out, device="cpu") is out


def test_page_locked_copies_keep_their_order(torch):
    if not torch.cuda.is_available():
        pytest.skip("page-locked memory needs a device: the suite on simulated ones runs it")
    x = torch.arange(120.0).reshape(SHAPE)
    for t in (x, x.contiguous(memory_format=torch.channels_last), x.permute(3, 1, 0, 2)):
        pinned = t.pin_memory()
        assert pinned.is_pinned() and pinned.stride() == t.stride() and torch.equal(pinned, t)
    assert torch.equal(x[:, ::2].pin_memory(), x[:, ::2])
    assert torch.equal(x[:1].expand(SHAPE).pin_memory(), x[:1].expand(SHAPE))


def from_others(torch):
    """Every way to a tensor whose memory something else made."""
    array = np.ones(3, np.float32)
    yield "from_numpy", lambda: torch.from_numpy(array)
    yield "as_tensor", lambda: torch.as_tensor(array)
    yield "asarray", lambda: torch.asarray(array)
    yield "frombuffer", lambda: torch.frombuffer(bytearray(8), dtype=torch.float32)
    yield "from_dlpack", lambda: torch.from_dlpack(array)
    yield "set_", lambda: torch.tensor([]).set_(torch.ones(3).untyped_storage())
    yield "Tensor", lambda: torch.Tensor([1, 2])
    yield "deepcopy", lambda: copy.deepcopy(torch.ones(2))
    if torch.cuda.is_available():
        yield "pin_memory", lambda: torch.ones(2).pin_memory()


def test_inference_mode_marks_what_it_makes_whoever_gave_the_memory(torch):
    for name, make in from_others(torch):
        assert not torch.is_inference(make()), name
        with torch.inference_mode():
            assert torch.is_inference(make()), name
