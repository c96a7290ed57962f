"""The comparer finds what it is there to find: each seeded difference by its kind, and none where
there is none. flambeau stands in both places, doctored in one.
"""

import os
import time

import flambeau
import numpy as np
import pytest

from tests.harness.table import ROWS
from tests.torch import apart, calls, expressions, hooks, report, ties, walk
from tests.torch.compare import Difference, Tolerance, differences
from tests.torch.differences import APART
from tests.torch.known import Known
from tests.torch.library import Library
from tests.torch.shares import Shares

OURS, THEIRS = Library(flambeau), Library(flambeau)
walk.read_table()


def kinds(ours, theirs, absolute=0.0, operands=((3, 4),), gradient=False):
    """The kinds of difference between two functions of tensors that require a gradient or not."""
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.5, 2, shape) for shape in operands]
    call = calls.Call(
        "row",
        "call",
        "a call",
        calls.Operands(arrays, ["float32"] * len(arrays), "dense", [None] * len(arrays)),
        lambda library, *ts: (ours if library is OURS else theirs)(*ts),
        Tolerance(2, lambda dtype: absolute),
        (True,) * len(arrays) if gradient else (),
    )
    a, b = (lib.outcome(call.make, call.invoke, call.differentiable) for lib in (OURS, THEIRS))
    return [kind for kind, _ in differences(a, b, call.tolerance)]


def refuse(error):
    def f(x):
        raise error("no")

    return f


@pytest.mark.parametrize(
    "kind,theirs",
    [
        ("value", lambda x: x.exp() * 1.00001),
        ("dtype", lambda x: x.exp().double()),
        ("shape", lambda x: x.exp()[None]),
        ("stride", lambda x: x.t().exp().contiguous().t()),
        ("memory", lambda x: x.copy_(x.exp())),
        ("result", lambda x: [x.exp()]),
        ("result", lambda x: float(x.exp().sum())),
        ("base", lambda x: x.exp()[:]),
        ("version", lambda x: x.add_(0).exp().clone()),
        ("only PyTorch raises", refuse(ValueError)),
    ],
)
def test_a_seeded_difference_is_found(kind, theirs):
    assert kind in kinds(flambeau.exp, theirs)
    assert kinds(flambeau.exp, flambeau.exp) == []


def test_what_is_left_in_an_operand_is_compared():
    def adds(n):
        return lambda x: (x.add_(n).clone() * 0).abs()

    assert kinds(adds(1), adds(1)) == []
    assert kinds(adds(1), adds(2)) == ["operand"]


def test_a_process_that_dies_or_never_ends_is_a_finding():
    def work(name):
        if name == "dies":
            os._exit(3)
        if name == "waits":
            time.sleep(60)
        return name * 2

    found = dict(apart.each(["a", "dies", "waits", "b"], work, jobs=2, patience=2))
    assert (found["a"], found["b"]) == ("aa", "bb")
    assert "3" in str(found["dies"]) and "2 s" in str(found["waits"])


def test_a_call_counts_where_its_differences_belong():
    def counted(slopes, *found):
        shares = Shares()
        shares.call("forward", "exp", [difference(kind=k, text=t) for k, t in found], slopes)
        return shares.agree["forward"], shares.agree["gradients"], shares.total["gradients"]

    assert counted(True) == (1, 1, 1)
    assert counted(False) == (1, 0, 0)
    assert counted(True, ("stride", "")) == (1, 1, 1)
    assert counted(True, ("value", "")) == (0, 0, 0)
    assert counted(True, ("gradient", "")) == (1, 0, 1)
    assert counted(True, ("second backward", "")) == (1, 0, 1)
    assert counted(True, ("only flambeau raises", "in backward: RuntimeError")) == (1, 0, 1)
    assert counted(True, ("only flambeau raises", "in call: RuntimeError")) == (0, 0, 0)


def test_a_call_that_needs_a_feature_left_out_is_counted_nowhere():
    for row, total in ("(stft)", 0), ("(exp)", 1):
        shares = Shares()
        absent = difference(row=row, kind="name", text="flambeau has no torch.it")
        shares.call("forward", row, [absent], False)
        assert (shares.agree["forward"], shares.total["forward"]) == (0, total)


def other_places(x, step):
    """Sorted with every index moved on."""
    values, indices = x.sort()
    return values, (indices + step) % x.shape[-1]


@pytest.mark.parametrize(
    "what,spelling,found",
    [
        ("equal", "torch.sort", []),
        ("equal", "torch.unique", ["value"]),  # says which place it is
        ("equal", "Tensor.sort(stable=True)", ["value"]),
        ("different", "torch.sort", ["value"]),
    ],
)
def test_which_of_equal_elements_is_taken_does_not_count(what, spelling, found):
    name, _, options = spelling.partition("(")
    row = [1.0, 1.0, 1.0] if what == "equal" else [1.0, 2.0, 3.0]
    call = calls.Call(
        *("row", name, options),
        lambda library: [flambeau.tensor([row, row])],
        lambda library, x: x.sort() if library is OURS else other_places(x, 1),
        Tolerance(0, lambda dtype: 0.0),
    )
    a, b = (lib.outcome(call.make, call.invoke) for lib in (OURS, THEIRS))
    ties.settle(call, a, b, THEIRS)
    kinds = [kind for kind, _ in differences(a, b, call.tolerance)]
    assert [k for k in kinds if k == "value"] == found


def test_a_share_below_its_bar_fails_the_run(capsys):
    found = walk.Found(calls={"(exp)": 100})
    for agrees, status in (97, 0), (96, 1):
        found.shares = Shares()
        for i in range(100):
            found.shares.one("forward", "exp", i < agrees)
        assert report.shown(found, "2", whole=False) == status
    assert "96.00%" in capsys.readouterr().out


def test_what_is_within_the_tolerance_agrees():
    assert kinds(flambeau.exp, lambda x: x.exp() * 1.00001, absolute=1e-3) == []


def test_a_wrong_gradient_is_found():
    def half(x):
        return (x.exp() + x.exp().detach()) / 2

    assert kinds(flambeau.exp, half, gradient=True) == ["gradient"]
    assert kinds(flambeau.exp, half) == []
    assert kinds(flambeau.exp, lambda x: x.detach().exp(), gradient=True) == ["history", "gradient"]


def test_a_second_pass_that_ends_otherwise_is_found():
    assert kinds(lambda x: x + x, lambda x: x * 2, gradient=True) == ["second backward"]


def test_a_gradient_of_another_operand_is_found():
    two = ((3,), (3,))
    assert kinds(lambda x, y: x * y, lambda x, y: x * y, operands=two, gradient=True) == []
    wrong = kinds(lambda x, y: x * y, lambda x, y: x * y.detach(), operands=two, gradient=True)
    assert wrong == ["gradient"]


def test_errors_agree_where_what_catches_one_catches_the_other():
    assert kinds(refuse(ValueError), refuse(ValueError)) == []
    assert kinds(refuse(NotImplementedError), refuse(RuntimeError)) == []
    assert kinds(refuse(RuntimeError), refuse(NotImplementedError)) == ["error type"]
    assert kinds(refuse(TypeError), flambeau.exp) == ["only flambeau raises"]


def test_strides_of_one_element_do_not_count():
    seen = kinds(lambda x: x, lambda x: x.as_strided((1, 4), (9, 1)), operands=((1, 4),))
    assert seen == ["base"]
    assert kinds(lambda x: x, lambda x: x, operands=((0, 4),)) == []


def test_a_row_stands_for_calls_of_every_sort():
    said = [c.what for c in calls.of_row(ROWS["add"])]
    for part in (
        *("torch.add(", "Tensor.add(", "Tensor.add_(", "by keyword", " out=float64[0]", " gaps"),
        *(
            " stride 0",
            "float32[3, 4], int64[3, 4]",
            "nonsense=1",
            "operand 1 None",
            "float32[0, 4]",
        ),
    ):
        assert any(part in what for what in said), f"no call has {part!r}"
    assert any(c.differentiable == (True, True) for c in calls.of_row(ROWS["add"]))


@pytest.mark.parametrize("name", ["exp", "add", "sum", "index", "topk", "batch_norm", "einsum"])
def test_a_library_agrees_with_itself(name):
    found = walk.Found()
    walk.row_into(found, OURS, THEIRS, ROWS[name])
    assert found.calls[name] > 50 and found.differences == []


def test_every_row_is_compared_or_named():
    without = {name for name, row in ROWS.items() if not calls.forms(row)}
    assert without <= set(APART) <= set(ROWS)


def test_expressions_agree_with_themselves():
    found = walk.Found()
    expressions.into(found, OURS, THEIRS)
    assert sum(found.calls.values()) > 300 and found.differences == []


def difference(**changes):
    return Difference(**{"row": "exp", "kind": "value", "text": "torch.exp(float32[3])"} | changes)


@pytest.mark.parametrize(
    "known,status",
    [
        ([], 1),
        ([Known(("exp",), "value", r"torch\.exp", "a reason")], 0),
        ([Known(("*",), "value", "float32", "a reason")], 0),
        ([Known(("exp", "log"), "value", "", "a reason")], 1),  # log does not differ
        ([Known(("exp",), "dtype", "", "a reason")], 1),
        ([Known(("exp",), "value", "float64", "a reason")], 1),
        ([Known(("*",), "value", "", "one"), Known(("*",), "value", "log", "gone")], 1),
    ],
)
def test_the_run_fails_on_differences_that_are_not_named_and_names_that_do_not_differ(
    known, status, monkeypatch, capsys
):
    monkeypatch.setattr(report, "KNOWN", known)
    found = walk.Found(calls={"exp": 7}, differences=[difference()])
    assert report.shown(found, "2") == status
    assert "calls compared" in capsys.readouterr().out


def test_a_form_in_place_that_writes_elsewhere_is_found(monkeypatch):
    seen = 0
    for call in (c for c in calls.valid(ROWS["mul"]) if c.spelling == "Tensor.mul_"):
        monkeypatch.undo()
        whole = THEIRS.outcome(call.make, call.invoke, call.differentiable)
        monkeypatch.setattr(flambeau.Tensor, "mul_", lambda t, by: t.mul(by))
        broken = OURS.outcome(call.make, call.invoke, call.differentiable)
        if not whole.raised and call.make.arrays[0].size:
            assert list(differences(broken, whole, call.tolerance))
            seen += 1
    assert seen


def test_a_hook_that_is_called_once_more_is_found(monkeypatch):
    once, given = flambeau.Tensor.register_hook, ("recorded", "tensor", "looks", "twice")
    whole = hooks.observed(THEIRS, *given)
    monkeypatch.setattr(flambeau.Tensor, "register_hook", lambda t, f: (once(t, f), once(t, f))[1])
    assert hooks.observed(OURS, *given)[0] != whole[0]
