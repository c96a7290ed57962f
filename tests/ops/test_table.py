"""The table is complete; the harness fails on wrong values, wrong gradients, missing rows."""

import dataclasses

import flambeau
import numpy as np
import pytest
from test_ops import NAMES

from tests.harness import checks, derivatives, faults, ledger, numeric, sharing
from tests.harness.cases import big_samples, cases, function
from tests.harness.table import FLOATS, INTS, ROWS


def test_tables_were_loaded():
    assert len(NAMES) > 100


def test_every_function_has_a_row():
    absent, unknown = checks.missing(ROWS)
    assert not absent, f"functions of the headers without a row: {absent}"
    assert not unknown, f"rows for functions that no header has: {unknown}"


def test_every_row_has_operands_that_threads_share():
    rows = [r for r in ROWS.values() if not (r.view or r.creates)]
    small = [r.name for r in rows if not big_samples(r) and r.name not in GEOMETRY]
    assert not small, f"rows that need big=: {small}"


# These change no element.
GEOMETRY = "as_strided_ empty_like resize_ squeeze_ t_ transpose_ unsqueeze_".split()


def test_a_missing_row_is_found():
    tables = {n: r for n, r in ROWS.items() if n != "gelu"}
    assert "gelu" in checks.missing(tables)[0]


def test_a_row_of_no_function_is_found():
    assert checks.missing({**ROWS, "gelu2": None})[1] == ["gelu2"]


def broken(name, **changes):
    return dataclasses.replace(ROWS[name], **changes)


def test_a_wrong_value_is_found(device):
    row = broken("exp", ref=lambda x: np.exp(np.asarray(x, float)) * (1 + 1e-5))
    with pytest.raises(AssertionError, match="ULP of float32"):
        checks.forward(row, device, "float32")


def test_a_wrong_dtype_is_found(device):
    with pytest.raises(AssertionError, match="dtype"):
        checks.forward(broken("eq", result=None), device, "float32")


class Wrong(flambeau.autograd.Function):
    """The square, with a slope that is wrong where its factor is not 2."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * x * ctx.factor, None


def test_a_wrong_gradient_is_found():
    derivatives.gradients(broken("square", call=lambda x: Wrong.apply(x, 2.0), second=False))
    with pytest.raises(AssertionError, match="gradient of operand 0"):
        derivatives.gradients(broken("square", call=lambda x: Wrong.apply(x, 2.0001), second=False))


def test_differences_of_many_elements_are_at_each_cases_own_places():
    size, most = 1000, numeric.MOST_DIFFERENCES
    found = [numeric.tried(size, f"case {i}") for i in range(40)]
    for places in found:
        assert len(set(places)) == most and places[0] == 0 and places[-1] == size - 1
    assert len(set().union(*map(set, found))) > 0.95 * size
    assert (numeric.tried(size, "case 0") == found[0]).all()
    for few in (0, 1, 2, most, most + 1):
        assert len(set(numeric.tried(few, "few"))) == min(few, most)


def test_a_wrong_second_derivative_is_found():
    def call(x):  # the slope's own slope is cut off
        return Wrong.apply(x, 2.0) if not x.requires_grad else x * x.detach() * 2 - (x * x).detach()

    with pytest.raises(AssertionError, match="second derivative of operand 0"):
        derivatives.gradients(broken("square", call=call))


def test_a_missing_error_is_found(device):
    with pytest.raises(pytest.fail.Exception):
        checks.wrong_dtypes(broken("abs", bad={"float64": "bool"}), device)


def test_a_result_that_depends_on_strides_is_found(device):
    def call(x):
        return x.exp() + (0.0 if x.is_contiguous() else 1.0)

    with pytest.raises(AssertionError):
        checks.layouts(broken("exp", call=call), device)


def test_a_result_that_depends_on_threads_is_found():
    call = lambda x: x.exp() + flambeau.get_num_threads() * 1e-6  # noqa: E731
    with pytest.raises(AssertionError, match="differs with two threads"):
        derivatives.threads(broken("exp", call=call))


def test_a_copy_in_place_of_a_view_is_found(device):
    with pytest.raises(AssertionError, match="does not show what is written"):
        sharing.shared(broken("view", call=lambda x, size: x.view(size).clone()), device)


def test_an_operand_as_result_is_found(device):
    with pytest.raises(AssertionError, match="its result is its operand"):
        sharing.copied(broken("exp", call=lambda x: x), device)


def test_a_swallowed_failure_is_found(device):
    def call(x):
        try:
            return x.exp()
        except RuntimeError:
            return x

    with pytest.raises(AssertionError, match="the call says nothing"):
        faults.failing_allocations(broken("exp", call=call), device)


def test_memory_that_a_failure_leaves_behind_is_found(device):
    left = []

    def call(x):
        left.append(x.clone())
        return x.exp()

    with pytest.raises(AssertionError, match="allocation . failed and left"):
        faults.failing_allocations(broken("exp", call=call), device)


def test_an_operand_that_a_failure_changes_is_found(device):
    with pytest.raises(AssertionError, match="allocation . failed, and an operand changed"):
        faults.failing_allocations(broken("exp", call=lambda x: x.add_(1).exp()), device)


def dtypes_of(kinds):
    """The dtypes that the ledger's words mean."""
    groups = {"floating": FLOATS, "integral": INTS, "bool": ("bool",)}
    short = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint"}
    meant = set()
    for word in kinds:
        letters = word.rstrip("0123456789")
        meant |= set(groups.get(word) or [short[letters] + word[len(letters) :]])
    return meant


# Refused only where all operands have this dtype, which a ledger of single operands cannot say.
TOGETHER = {"pow": {"bool"}, "addcdiv": {"int64"}}


def test_the_ledger_names_the_dtypes_that_are_taken():
    """Nothing that a row computes is missing from the ledger, nothing that it refuses is there."""
    checked, wrong = 0, []
    for row in ROWS.values():
        operands = [p for p in ledger.ops()[row.name]["operands"] if p["kind"] == "tensor"]
        fixed = not row.samples[0] or row.samples[0][0].dtype is not None
        kinds = operands[0].get("dtypes") if operands else None
        if not kinds or fixed or row.call or row.arrange or kinds[0].startswith("="):
            continue
        checked += 1
        taken = dtypes_of(kinds)
        if missing := set(row.dtypes) - taken:
            wrong.append(f"{row.name} takes {sorted(missing)}")
        if refused := set(row.bad) & taken - TOGETHER.get(row.name, set()):
            wrong.append(f"{row.name} refuses {sorted(refused)}")
    assert checked > 200
    assert not wrong, f"the header's words on dtypes are not true: {wrong}"


def outside(interval, integral):
    """Numbers on both sides of `[0, 1)`, as close to it as the kind of number lets them be."""
    low, high = (float(end) for end in interval[1:-1].split(", "))
    step = 1 if integral else 0.25
    if low != -np.inf:
        yield low if interval[0] == "(" else low - step
    if high != np.inf:
        yield high if interval[-1] == ")" else high + step


def bounded():
    for row in ROWS.values():
        for option in ledger.parameters(ledger.ops()[row.name]):
            integral = option["kind"] in ("int", "size", "ints")
            for number in outside(option["range"], integral) if "range" in option else ():
                yield row, option["name"], int(number) if integral else number


def test_what_is_outside_of_the_ledgers_range_is_refused(device):
    """Words like `at least 1` in a header are true, and it is the call that says so."""
    checked, taken = 0, []
    for row, name, number in bounded():
        case = next(iter(cases(row, row.dtypes[0])))
        checked += 1
        try:
            function(row)(*case.on(device), **{**case.keywords(device), name: number})
        except (RuntimeError, ValueError, IndexError) as refusal:
            assert str(refusal)
        else:
            taken.append(f"{row.name}: {name}={number}")
    assert checked > 20
    assert not taken, taken
