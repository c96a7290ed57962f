"""A plain number stands for an operand where torch's parsers take one, and nowhere else: every
function of the package is given one in the place of each of its operands.
"""

import pytest
from flambeau._gen import ops

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
    for function in (torch.pow, torch.remainder, torch.bitwise_and, torch.special.zeta):
        assert function(2, x).shape == function(x, 2).shape == (3,)
        with pytest.raises(TypeError):
            function(2, 3)
    assert torch.where(x > 0, 1, 2).tolist() == [1, 1, 1]
    assert torch.full((2,), 3).tolist() == [3, 3]
    assert torch.ones(2).copy_(2.0).tolist() == torch.ones(2).copy_(src=2).tolist() == [2.0, 2.0]
