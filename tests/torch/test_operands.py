"""The operands of a call taken apart and made again: with flambeau in the place of both
libraries."""

import flambeau as fl
import numpy as np
import pytest

from tests.torch.library import Library
from tests.torch.operands import Left, Operands, described


@pytest.fixture
def library():
    return Library(fl)


def again(library, *args, slopes=True, **kwargs):
    made = Operands(fl, args, kwargs, slopes)
    return made.given(made(library, requires_grad=True))


def test_values_dtypes_and_strides_return(library):
    gaps = fl.arange(24.0, dtype=fl.float64).reshape(4, 6)[1:, ::2].t()
    rows = fl.tensor([1, 2], dtype=fl.uint8).expand(3, 2)
    half = fl.tensor([0.5, -1.25], dtype=fl.bfloat16)
    (a, b), kwargs = again(library, gaps, [rows, 3], dim=(0, half))
    for t, made in ((gaps, a), (rows, b[0]), (half, kwargs["dim"][1])):
        assert (made.dtype, made.shape, made.stride()) == (t.dtype, t.shape, t.stride())
        assert np.array_equal(made.double().numpy(), t.double().numpy())
    assert b[1] == 3 and kwargs["dim"][0] == 0


def test_a_tensor_that_stands_twice_is_one(library):
    t = fl.ones(2, requires_grad=True)
    (a, b), kwargs = again(library, t, fl.ones(2), out=t)
    assert kwargs["out"] is a and b is not a
    assert a.requires_grad and not b.requires_grad


def test_the_call_runs_in_the_words_of_the_library(library):
    made = Operands(fl, (fl.tensor([1.5, -2.5]),), {"dtype": fl.int64}, False)
    assert made.call("Tensor.to")(library, *made(library)).tolist() == [1, -2]
    wide = made.precise(True)(library)
    assert wide[0].dtype == fl.float64


def test_what_no_library_is_asked_is_left_out():
    with pytest.raises(Left):
        Operands(fl, (fl.ones(1),), {"generator": fl.Generator()}, False)
    assert described((fl.ones(2, 3), 1), {"dim": [0]}) == "float32[2, 3], 1, dim=[0]"
