"""The comparer finds what it is there to find: each seeded difference by its kind, and none where
there is none. flambeau stands in both places, doctored in one.
"""

import flambeau
import numpy as np
import pytest

from tests.harness.table import ROWS
from tests.torch import calls, expressions, report, walk
from tests.torch.compare import Difference, Tolerance, differences
from tests.torch.differences import APART, Known
from tests.torch.library import Library

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
        ("only PyTorch raises", refuse(ValueError)),
    ],
)
def test_a_seeded_difference_is_found(kind, theirs):
    assert kind in kinds(flambeau.exp, theirs)
    assert kinds(flambeau.exp, flambeau.exp) == []


def test_what_is_within_the_tolerance_agrees():
    assert kinds(flambeau.exp, lambda x: x.exp() * 1.00001, absolute=1e-3) == []


def test_a_wrong_gradient_is_found():
    def half(x):
        return (x.exp() + x.exp().detach()) / 2

    assert kinds(flambeau.exp, half, gradient=True) == ["gradient"]
    assert kinds(flambeau.exp, half) == []
    assert kinds(flambeau.exp, lambda x: x.detach().exp(), gradient=True) == ["history", "gradient"]


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
    assert kinds(lambda x: x, lambda x: x.as_strided((1, 4), (9, 1)), operands=((1, 4),)) == []
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
