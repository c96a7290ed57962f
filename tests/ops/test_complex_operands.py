"""Every operation with complex operands is right or raises: a kernel of reals that read pairs as
numbers would do neither. NumPy's functions of the rows' references say what is right."""

import warnings

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


# Those that hand their operand through where nothing is to be dropped.
UNCHANGED = "alpha_dropout dropout feature_alpha_dropout feature_dropout".split()
# Where a real operand takes the real parts of complex ones, as in PyTorch.
DISCARDS = ("copy_", "fill_", "index_put_", "to")


def calls(row):
    """Every call of a row, with the places of its floating operands."""
    dtype = "float64" if "float64" in row.dtypes else next(d for d in row.dtypes if d in FLOATS)
    for sample, options in [(s, o) for s in row.samples for o in row.options] + list(row.pairs):
        case = Case(row, sample, options, dtype)
        yield case, tuple(i for i, own in enumerate(case.dtypes) if own in FLOATS)


def operands(case, places, device):
    """The operands, and as NumPy has them, those at the places as complex numbers."""
    made, arrays = list(case.tensors), list(case.arrays)
    for i in places:
        arrays[i] = (arrays[i] + 1j * np.roll(arrays[i], 1)).astype("complex128")
        made[i] = flambeau.tensor(arrays[i])
    return [t.to(device) for t in made], arrays


def tensors_of(value):
    if isinstance(value, flambeau.Tensor):
        return [value]
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


def bytes_of(tensors):
    return [t.cpu().contiguous().view(flambeau.uint8).numpy().tobytes() if t.dim() else t.item()
            for t in tensors]  # fmt: skip


def compare(case, got, arrays, what):
    """A result beside that of the row's reference."""
    name = case.row.name
    with np.errstate(all="ignore"), warnings.catch_warnings():
        lost = "ignore" if name in DISCARDS else "error"
        warnings.simplefilter(lost, np.exceptions.ComplexWarning)
        want = case.row.ref(*arrays, **case.options)
    want = want if isinstance(want, (list, tuple)) else [want]
    if not isinstance(got, (flambeau.Tensor, list, tuple)):
        assert got == want[0], what
        return
    found = tensors_of(got)
    assert len(found) == len(want), what
    for g, w in zip(found, want):
        if name not in DISCARDS:
            assert g.is_complex() == np.iscomplexobj(w), what
        elif not g.is_complex():
            w = np.real(w)
        np.testing.assert_allclose(g.cpu().numpy(), w, 1e-10, 1e-12, err_msg=what)


def right_or_refused(case, places, device):
    """Whether the call was taken; if so, it is right."""
    name, what = case.row.name, f"{case.what}, complex at {places}"
    tensors, arrays = operands(case, places, device)
    before = bytes_of(tensors)
    try:
        got = function(case.row)(*tensors, **case.options)
    except (RuntimeError, TypeError, ValueError):
        assert bytes_of(tensors) == before, f"{what} was refused, and changed an operand"
        return False
    if name in UNCHANGED:
        assert flambeau.equal(got, tensors[0]), what
    elif name in RIGHT:
        compare(case, got, arrays, what)
    elif tensors[0].numel():
        assert name in ELSEWHERE, f"{what} is taken, and nothing says that it is right"
    return True


@pytest.mark.parametrize("name", NAMES)
def test_it_is_right_or_raises(name, device):
    """With each set of options, where all floating operands are complex, and each one alone."""
    row = ROWS[name]
    if row.creates or not any(d in FLOATS for d in row.dtypes):
        return  # of no operand that could be complex
    taken = None
    for case, places in calls(row):
        alone = [(i,) for i in places] if len(places) > 1 else []
        for some in [places, *alone] if places else []:
            found = right_or_refused(case, some, device)
            taken = found if taken is None else taken
    if name in RIGHT + ELSEWHERE:
        assert taken is not False, f"{name} refuses complex numbers"
