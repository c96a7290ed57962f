"""Every operation with complex operands is right or raises: a kernel of reals that read pairs as
numbers would do neither. NumPy's functions of the rows' references say what is right."""

import flambeau
import numpy as np
import pytest
from test_ops import NAMES

from tests.harness.cases import Case, function
from tests.harness.table import FLOATS, ROWS

# What takes complex operands and is right by the row's reference.
RIGHT = """
abs add addmm all allclose any as_strided as_strided_ atleast_1d atleast_2d atleast_3d baddbmm bmm
broadcast_tensors broadcast_to cat channel_shuffle chunk clone combinations contiguous copy_
count_nonzero detach diag diag_embed diagflat diagonal diff dot dsplit dsplit_at dstack einsum eq
equal expand expand_as fill_ fill_diagonal_ flatten flip fliplr flipud full_like gather gradient
hsplit hsplit_at hstack index index_add index_copy index_fill index_put_ index_select inner isclose
isfinite isinf isnan kron l1_loss linear masked_fill masked_scatter masked_select matmul mean
meshgrid mm movedim mul mv narrow ne neg nonzero nonzero_tuple ones_like outer pad permute
pixel_shuffle pixel_unshuffle positive ravel repeat repeat_interleave reshape reshape_as resize_
roll rot90 rsub scalar_bool scalar_f64 scalar_i64 scatter scatter_add select slice split
split_with_sizes square squeeze squeeze_ stack sub sum t t_ take take_along_dim tensor_split
tensor_split_at tensordot tile to transpose transpose_ unbind unflatten unfold_dim unsqueeze
unsqueeze_ vdot view view_as view_dtype vsplit vsplit_at vstack where zero_ zeros_like
""".split()
# Whose references are of reals only: tests/python/test_complex.py has the values.
ELSEWHERE = (
    "angle conj_physical cumsum div empty_like exp log reciprocal scalar_c128 sgn sqrt trace"
).split()


def complex_sample(case, dtype, device):
    """The operands, and as NumPy has them, the floating ones as complex numbers."""
    made, arrays = [], []
    for t, a, own in zip(case.tensors, case.arrays, case.dtypes):
        if own in FLOATS:
            a = (a + 1j * np.roll(a, 1)).astype(dtype)
            t = flambeau.tensor(a)
        made.append(t.to(device))
        arrays.append(a)
    return made, arrays


def first_floating(name):
    """A call with floating operands, or none."""
    row = ROWS[name]
    if row.creates or not any(d in FLOATS for d in row.dtypes):
        return None
    dtype = "float64" if "float64" in row.dtypes else next(d for d in row.dtypes if d in FLOATS)
    for sample in row.samples:
        for options in row.options:
            case = Case(row, sample, options, dtype)
            if any(d in FLOATS for d in case.dtypes):
                return case
    return None


def tensors_of(value):
    if isinstance(value, flambeau.Tensor):
        return [value]
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_right_or_raises(name, device):
    case = first_floating(name)
    if case is None:
        return  # of no operand that could be complex
    tensors, arrays = complex_sample(case, "complex128", device)
    before = [t.clone() for t in tensors]
    try:
        got = function(case.row)(*tensors, **case.options)
    except (RuntimeError, TypeError, ValueError) as refused:
        assert name not in RIGHT + ELSEWHERE, f"{case.what} of complex numbers: {refused}"
        for t, kept in zip(tensors, before):
            assert flambeau.equal(t, kept), f"{case.what} refused, and changed an operand"
        return
    if name in ELSEWHERE:
        return
    assert name in RIGHT, f"{case.what} takes complex numbers, and nothing says that it is right"
    with np.errstate(all="ignore"):
        want = case.row.ref(*arrays, **case.options)
    want = want if isinstance(want, (list, tuple)) else [want]
    if not isinstance(got, flambeau.Tensor) and not isinstance(got, (list, tuple)):
        assert got == want[0], case.what
        return
    found = tensors_of(got)
    assert len(found) == len(want)
    for g, w in zip(found, want):
        np.testing.assert_allclose(g.cpu().numpy(), w, 1e-10, 1e-12, err_msg=case.what)
