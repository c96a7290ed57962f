"""A plain number stands for an operand where torch's parsers take one, and nowhere else: every
function of the package is given one in the place of each of its operands.
"""

import flambeau
import numpy
import pytest
from flambeau import _call
from flambeau._gen import ops

from tests.harness import ledger

GIVEN = {"int": 1, "size": 1, "double": 1.0, "bool": True, "ints": (1,), "doubles": (1.0,)}


def calls(torch):
    """(function, its operands by kind, arguments) of every function without other required ones."""
    for name, rows in vars(ops).items():
        function = getattr(ops, name[2:], None) if name.startswith("_S_") else None
        required = [r for r in rows if "o" not in r[3] and "v" not in r[3]] if function else []
        known = {**GIVEN, "tensor": torch.ones(2), "number": torch.ones(2)}
        if required and len(required) == len(rows) - sum("o" in r[3] for r in rows):
            if all(kind in known for _, kind, _, _ in required):
                yield function, required, {r[0]: known[r[1]] for r in required}


def test_operands_are_tensors_but_where_a_number_may_stand(torch):
    tried = 0
    for function, rows, arguments in calls(torch):
        for name, kind, _, _ in rows:
            if kind == "tensor":
                tried += 1
                with pytest.raises(TypeError, match=f"'{name}' .* must be Tensor, not int"):
                    function(**{**arguments, name: 2})
    assert tried > 400


def test_one_of_the_operands_is_a_tensor(torch):
    x = torch.ones(3, dtype=torch.int64)
    sums = (torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide)
    sums += (torch.subtract, torch.multiply, torch.divide, torch.true_divide)
    for function in (torch.pow, torch.remainder, torch.bitwise_and, torch.special.zeta, *sums):
        assert function(2, x).equal(function(torch.tensor(2), x)), function.__name__
        assert function(x, 2).shape == (3,)
        if function in sums:  # there numbers alone have a sum as well
            found, wanted = function(3, 2), function(torch.tensor(3), torch.tensor(2))
            assert found.equal(wanted) and found.dtype is wanted.dtype, function.__name__
            assert (function(3, 2.5) + torch.ones((), dtype=torch.half)).dtype is torch.float32
            continue
        with pytest.raises(TypeError):
            function(2, 3)
    assert torch.sub(2.5, x, alpha=2).tolist() == [0.5, 0.5, 0.5]
    assert torch.div(7, x * 2, rounding_mode="floor").tolist() == [3, 3, 3]
    assert torch.where(x > 0, 1, 2).tolist() == [1, 1, 1]
    assert torch.full((2,), 3).tolist() == [3, 3]
    assert torch.ones(2).copy_(2.0).tolist() == torch.ones(2).copy_(src=2).tolist() == [2.0, 2.0]


def test_an_operator_called_by_its_name_is_a_tensors(torch):
    """Also where a number comes first, as in functions that are read from the class."""
    x, tried = torch.ones(3, dtype=torch.int64), 0
    named = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
    for name in (f"__{side}{n}__" for n in (*named, "lshift", "rshift") for side in ("", "r", "i")):
        for other in x, 2, 2.5, numpy.float64(2):
            tried += 1
            with pytest.raises((TypeError, AttributeError)):
                getattr(torch.Tensor, name)(2, other)
    assert tried == 144


def numbered():
    """(generated function, its operands, which of them, kinds of number) of those that have a form
    in C for a number, and no option besides."""
    for row in ledger.functions().values():
        kinds = {"f64", "i64"} & set(row["forms"])
        name, operands = row["function"].removeprefix("flam_"), row["operands"]
        at = [i for i, p in enumerate(operands) if "number" in p]
        alone = len(at) == 1 and all(p["kind"] == "tensor" for p in operands)
        if kinds and alone and not row["options"] and (function := getattr(ops, f"_{name}", None)):
            yield function, operands, at[0], kinds


def result(function, dtypes, at, number):
    given = [flambeau.ones(2, dtype=dtype) for dtype in dtypes]
    given[at] = number
    return function(*given)


def test_where_c_takes_a_number_no_tensor_is_made_of_it(torch, monkeypatch):
    made, tried, scalar = [], 0, _call._scalar
    for part in ops.PARTS:
        if hasattr(part, "_scalar"):
            monkeypatch.setattr(part, "_scalar", lambda n: made.append(n) or scalar(n))
    for function, rows, at, kinds in numbered():
        for kind in kinds:
            dtype = torch.int64 if kind == "i64" else torch.float32
            dtypes = [torch.bool if p.get("dtypes") == ["bool"] else dtype for p in rows]
            found, tried = result(function, dtypes, at, 2 if kind == "i64" else 2.0), tried + 1
            assert not made, function.__name__
            wanted = result(function, dtypes, at, torch.tensor(2, dtype=dtype))
            assert found.equal(wanted) and found.dtype is wanted.dtype, function.__name__
    assert tried > 40
