"""Warnings of the library: each is Python's own, at the program's line, on whatever thread; where
filters make an exception of it the call raises exactly that one and has written nothing."""

import threading
import warnings

import flambeau as torch
import pytest
from flambeau.nn import functional as F

from tests.harness import child
from tests.harness.functions import function


def _out():
    return torch.zeros(3)


def _rows():
    return torch.arange(12.0).reshape(6, 2).t()


_COMPLEX = torch.tensor([1 + 2j] * 3)

# (words, call on a target, target): what PyTorch warns of in its own engine
CALLS = [
    ("was resized since it had shape", lambda t: torch.add(torch.ones(6), 1, out=t), _out),
    ("was resized", lambda t: torch.max(torch.ones(6, 2), 1, out=(t, t.long())), _out),
    ("was resized", lambda t: torch.nonzero(torch.ones(6), out=t), lambda: _out().long()),
    ("computed number of elements 6", lambda t: torch.arange(6, out=t), _out),
    (
        "Use of index_fill_ on expanded tensors",
        lambda t: t.index_fill_(0, torch.tensor([0]), 1.0),
        lambda: torch.zeros(1).expand(6),
    ),
    (
        "Use of index_put_ on expanded tensors",
        lambda t: t.index_put_((torch.tensor([0]),), torch.ones(1)),
        lambda: torch.zeros(1).expand(6),
    ),
    (
        "Use of index_put_ on expanded tensors",
        lambda t: t.__setitem__(torch.tensor([0, 1]), torch.ones(2)),
        lambda: torch.zeros(1).expand(6),
    ),
    (
        "Use of masked_fill_ on expanded tensors",
        lambda t: t.masked_fill_(torch.ones(6, dtype=torch.bool), 1.0),
        lambda: torch.zeros(1).expand(6),
    ),
    ("from is out of bounds", lambda t: t.random_(-(2**24) - 1, 5), _out),
    ("to - 1 is out of bounds", lambda t: t.random_(0, 2**24 + 2), _out),
    (
        "to - 1 is out of bounds",
        lambda t: t.random_(0, 2050),
        lambda: torch.zeros(3, dtype=torch.float16),
    ),
    ("boundary tensor is non-contiguous", lambda t: torch.searchsorted(t, torch.ones(2, 3)), _rows),
    ("input value tensor is non-", lambda t: torch.searchsorted(t.contiguous(), t), _rows),
    (
        "requires_grad=True to a scalar",
        lambda t: torch.enable_grad()(lambda: float(t.requires_grad_()[0]))(),
        _out,
    ),
    ("discards the imaginary part", lambda t: t.copy_(_COMPLEX), _out),
    ("discards the imaginary part", lambda t: _COMPLEX.to(t.dtype), _out),
    ("discards the imaginary part", lambda t: t.__setitem__(0, _COMPLEX[0]), _out),
    ("std.*: degrees of freedom is <= 0", lambda t: t[:1].std(), _out),
    ("var.*: degrees of freedom is <= 0", lambda t: torch.var_mean(t, 0, correction=3), _out),
]


@pytest.fixture(autouse=True)
def always():
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    yield
    torch.set_warn_always(False)


def in_thread(call):
    """What a thread of its own raises, raised here."""
    failed = []

    def run():
        try:
            call()
        except Exception as problem:
            failed.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def in_backward(call):
    """From inside a backward pass, through a hook and through a Function."""

    def backward(ctx, g):
        with torch.no_grad():
            call()
        return g

    x = torch.ones(2, requires_grad=True)
    function(lambda ctx, x: x.clone(), backward)(x).sum().backward()


PLACES = [lambda call: call(), in_thread, in_backward]
IDS = ["here", "in a thread", "in a backward pass"]


@pytest.mark.parametrize("through", PLACES, ids=IDS)
@pytest.mark.parametrize("words, call, make", CALLS, ids=[c[0] for c in CALLS])
def test_the_library_warns_at_the_program_s_line(words, call, make, through):
    target = make()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        through(lambda: call(target))
    assert told and all(w.category is UserWarning for w in told)
    assert {(w.filename, w.lineno) for w in told} == {(__file__, call.__code__.co_firstlineno)}
    with pytest.warns(UserWarning, match=words):
        call(make())


@pytest.mark.parametrize("through", PLACES, ids=IDS)
@pytest.mark.parametrize("words, call, make", CALLS, ids=[c[0] for c in CALLS])
def test_a_warning_that_is_an_error_is_raised_and_nothing_is_written(words, call, make, through):
    target = make()
    kept = target.clone()
    version = target._version
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=words) as caught:
            through(lambda: call(target))
    assert type(caught.value) is UserWarning
    assert target.shape == kept.shape and torch.equal(target, kept) and target._version == version
    assert torch.ones(2).add_(1).sum() == 4  # no error is left pending


def test_a_handler_that_raises_is_what_the_call_raises(monkeypatch):
    problem = KeyError("the very object")

    def show(*_, **__):
        raise problem

    monkeypatch.setattr(warnings, "showwarning", show)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        with pytest.raises(KeyError) as caught:
            torch.add(torch.ones(6), 1, out=_out())
    assert caught.value is problem


def test_grids_say_what_their_corners_are():
    """Where nobody said what -1 and 1 are, and where a row of one pixel has no two ends."""
    x, theta = torch.randn(1, 1, 2, 2), torch.ones(1, 2, 3)
    sampled = lambda **how: F.grid_sample(x, torch.zeros(1, 1, 1, 2), **how)
    for f in sampled, lambda **how: F.affine_grid(theta, (1, 1, 2, 2), **how):
        with pytest.warns(UserWarning, match="align_corners=False since 1.3.0") as told:
            found = f()
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert found.equal(f(align_corners=False))
            f(align_corners=True)
    for size in (1, 1, 2, 1), (1, 1, 1, 2):
        with pytest.warns(UserWarning, match="documentation of affine_grid"):
            F.affine_grid(theta, size, align_corners=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            F.affine_grid(theta, size, align_corners=False)


def test_what_is_told_once_is_told_once():
    call, target = next(c for words, c, _ in CALLS if words.startswith("input value")), _rows()
    torch.set_warn_always(True)
    with pytest.warns(UserWarning):
        call(target)
    torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(target)


def test_numbers_and_casts_that_lose_nothing_do_not_warn():
    x = torch.ones((), requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with torch.no_grad():
            assert float(x) == 1 and complex(x) == 1
        assert _COMPLEX.bool().all() and _COMPLEX.to(torch.complex128).equal(_COMPLEX)
        (x * _COMPLEX).sum().abs().backward()  # a real leaf takes the real part
        assert x.grad.dtype == torch.float32


def test_results_are_those_without_the_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, call, make in CALLS:
            target = make()
            call(target)
        x = torch.zeros(1).expand(6)
        assert x.index_fill_(0, torch.tensor([0]), 2.0).tolist() == [2.0] * 6
        assert x.masked_fill_(torch.ones(6, dtype=torch.bool), 3.0).tolist() == [3.0] * 6
        assert x.index_put_((torch.tensor([0]),), torch.ones(1)).tolist() == [1.0] * 6


@pytest.mark.parametrize("name", "zeros ones empty rand randn eye linspace".split())
def test_functions_that_make_values_resize_without_a_warning(name):
    args = (0, 1, 6) if name == "linspace" else (6,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(torch, name)(*args, out=_out()).shape[0] == 6
        assert torch.arange(6, out=torch.zeros(2, 3)).shape == (2, 3)
        assert torch.arange(6, out=torch.zeros(0)).shape == (6,)
        assert torch.zeros(3).random_(-(2**24), 2**24 + 1).shape == (3,)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool, torch.int8, torch.float16])
def test_random_refuses_ends_that_a_dtype_does_not_reach(dtype):
    x = torch.zeros(3, dtype=dtype)
    with pytest.raises(RuntimeError, match="from is out of bounds for"):
        x.random_(-70000, 1)
    with pytest.raises(RuntimeError, match="to - 1 is out of bounds for"):
        x.random_(0, 70000)
    assert not x.any()


@pytest.mark.parametrize("value", ["handels", "nohandles"])
def test_a_setting_that_is_not_understood_is_told(value):
    told = child.python("-c", "import flambeau", FLAMBEAU_CHECK=value)
    assert told.returncode == 0
    assert f'FLAMBEAU_CHECK has "{value}"; accepted are' in told.stderr
