"""Forms that take a number, and plain forms of operations with an option: each does what the call
that they stand for does, with its errors and its place in the graph."""

import flambeau
import pytest
from flambeau._call import _number, _raise, wrap
from flambeau._library import blocking, fast

from tests.harness import ledger

VALUES = {"f64": (2.0, 0.5, -1.5), "i64": (2, 0, -3)}
FUNCTIONS = ledger.functions()
WITH_NUMBERS = [
    (name, kind) for name, row in FUNCTIONS.items() for kind in VALUES if kind in row["forms"]
]
EXTENDED = {row["extends"]: name for name, row in FUNCTIONS.items() if "extends" in row}
DTYPES = ("float32", "float16", "int64", "int32", "bool")


def entry(name):
    return getattr(blocking if FUNCTIONS.get(name, {}).get("blocks") else fast, name)


def outcome(name, arguments):
    """The result as text with its dtype and its node in the graph, or the error."""
    try:
        if name.endswith(("_", "_out")):
            t = wrap(fast.flam_tensor_retain, entry(name)(*arguments) or _raise())
        else:
            t = wrap(entry(name), *arguments)
    except (RuntimeError, TypeError, ValueError, IndexError) as e:
        return type(e).__name__, str(e).split("\n")[0]  # the call names the option
    node = t.grad_fn and t.grad_fn.name()
    return repr(t.tolist()), t.dtype, tuple(t.shape), node


def tensors(dtype, grad, device):
    made = flambeau.tensor([[1, 0, 3], [2, 5, 1]]).to(device, getattr(flambeau, dtype))
    return made.requires_grad_() if grad and made.is_floating_point() else made


def calls(name, number, dtype, grad, device):
    """The arguments with a number, and the same with tensors that hold it; what they point to."""
    held, plain, wrapped = [], [], []
    for p in FUNCTIONS[name]["operands"]:
        if "number" in p:
            held.append(_number(number))
            plain.append(number)
            wrapped.append(held[-1]._h)
        elif p["kind"] == "ints":
            plain += [[2, 3], 2]
            wrapped += [[2, 3], 2]
        else:
            bool_ = p.get("dtypes") == ["bool"]
            held.append(tensors("bool" if bool_ else dtype, grad, device))
            plain.append(held[-1]._h)
            wrapped.append(held[-1]._h)
    options = FUNCTIONS[name]["options"]
    defaults = [0] * len(options)  # in Python's C layer one by one
    return plain + defaults, wrapped + defaults, held


def in_place(name):
    return "inplace" in FUNCTIONS[name]["forms"]


def test_there_are_such_forms():
    assert len(WITH_NUMBERS) > 40 and len(EXTENDED) == 4


@pytest.mark.parametrize(("name", "kind"), WITH_NUMBERS)
def test_a_form_with_a_number_does_what_a_wrapped_number_does(name, kind, device):
    tail = "_" if name.endswith("_") else ""
    form = f"{name.removesuffix('_')}_{kind}{tail}"
    seen = []
    for number in VALUES[kind]:
        for dtype in DTYPES:
            for grad in (False, True) if not tail else (False,):
                plain, wrapped, _held = calls(name, number, dtype, grad, device)
                expected = outcome(name, wrapped)
                assert outcome(form, plain) == expected, (number, dtype)
                seen.append(expected)
    assert any(len(s) == 4 for s in seen)


@pytest.mark.parametrize(("name", "kind"), [f for f in WITH_NUMBERS if in_place(f[0])])
def test_in_place_it_does_what_a_wrapped_number_does(name, kind, device):
    for number in VALUES[kind]:
        for dtype in DTYPES:
            (plain, _, x), (_, wrapped, y) = (
                calls(name, number, dtype, False, device) for _ in range(2)
            )
            expected = outcome(f"{name}_", wrapped)
            assert outcome(f"{name}_{kind}_", plain) == expected, (number, dtype)
            assert repr(x[0].tolist()) == repr(y[0].tolist())


@pytest.mark.parametrize("name", EXTENDED)
def test_the_plain_form_has_the_default_of_the_one_with_the_option(name, device):
    more, seen = EXTENDED[name], []
    default = 0 if name == "flam_div" else 1
    for dtype in DTYPES:
        x, y = tensors(dtype, True, device), tensors(dtype, False, device)
        seen.append(outcome(name, (x._h, y._h)))
        assert seen[-1] == outcome(more, (x._h, y._h, default))
        if "out" in FUNCTIONS[name]["forms"]:
            out, other = (flambeau.empty(0, dtype=y.dtype, device=device) for _ in range(2))
            left = outcome(f"{name}_out", (y._h, y._h, out._h))
            assert left == outcome(f"{more}_out", (y._h, y._h, default, other._h))
        if in_place(name):
            a, b = y.clone(), y.clone()
            left = outcome(f"{name}_", (a._h, y._h))
            assert left == outcome(f"{more}_", (b._h, y._h, default))
            assert repr(a.tolist()) == repr(b.tolist())
    assert any(len(s) == 4 for s in seen)
