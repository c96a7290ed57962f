"""Errors: calls that only flambeau refuses, and calls that both refuse with another type of error
or at another time.
"""

from __future__ import annotations

from . import differs

differs(
    "(special.spherical_bessel_j0) "
    "(special.scaled_modified_bessel_k0) (special.scaled_modified_bessel_k1) "
    "(special.chebyshev_polynomial_t) (special.chebyshev_polynomial_u) "
    "(special.chebyshev_polynomial_v) (special.chebyshev_polynomial_w) "
    "(special.shifted_chebyshev_polynomial_t) (special.shifted_chebyshev_polynomial_u) "
    "(special.shifted_chebyshev_polynomial_v) (special.shifted_chebyshev_polynomial_w) "
    "(special.hermite_polynomial_h) (special.hermite_polynomial_he) "
    "(special.laguerre_polynomial_l) (special.legendre_polynomial_p)",
    "only flambeau raises",
    "the derivative of",
    "what has no gradient says so when it is called; PyTorch says it in backward",
)
differs(
    "(geqrf) (heaviside)",
    "error type",
    "the derivative of",
    "the same",
)
differs(
    "segment_reduce",
    "only flambeau raises",
    "offsets must lie from 0 to",
    "PyTorch reads behind the data",
)
differs(
    "dropout alpha_dropout feature_dropout feature_alpha_dropout embedding_renorm_",
    "error type",
    "missing . required positional arg",
    "the same with an operand that is refused instead",
)
differs(
    "*",
    "error type",
    r"operand \d |no operands|one more|nonsense=1|(dim|keepdim|dtype|axis)=\S*, PyTorch|"
    r"(dim|keepdim|dtype)=[^,]*: ",
    "a call that is wrong in itself: PyTorch's parser, its Python code and its kernels each "
    "complain in their own way",
)
differs(
    "*",
    "error type",
    r"PyTorch (IndexError|AssertionError) .*(Dimension specified as|Dimension out of range"
    r"|cannot be applied to a 0-dim|tuple index|select\(\): index|Padding_idx)",
    "an operand of the wrong shape: flambeau names the shape it wants (ShapeError), PyTorch trips "
    "over a dimension that is not there",
)
differs(
    "cross_entropy soft_margin_loss group_norm affine_grid interpolate pad",
    "error type",
    "PyTorch (NotImplementedError|ZeroDivisionError|ValueError)",
    "of two mistakes in one call flambeau names the shape first, PyTorch the dtype; and a wrong "
    "dtype is DtypeError, a wrong shape ShapeError for every op",
)
differs(
    "repeat index_add",
    "error type",
    "by keyword|Index is supposed to be a vector",
    "PyTorch's parser wants numbers here, and of two mistakes it names the other one",
)
differs(
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d adaptive_avg_pool1d "
    "adaptive_avg_pool2d",
    "only flambeau raises",
    "not implemented for|one floating point dtype",
    "convolution and adaptive pooling are floating point, or of int64; PyTorch's slow kernels take "
    "other integers, too",
)
differs(
    "addmm baddbmm bernoulli bilinear bmm einsum exponential_ geometric_ group_norm gumbel_softmax "
    "log_normal_ "
    "instance_norm linear linspace matmul mm mv normal_ randn randn_like "
    "scaled_dot_product_attention searchsorted tensordot embedding_renorm_",
    "only flambeau raises",
    "not implemented for|to have the same dtype|Expected a floating point",
    "a dtype that the op refuses is refused for tensors without elements, too, and for bool",
)
differs(
    "batch_norm bincount index_add cdist adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d take_along_dim soft_margin_loss "
    "scaled_dot_product_attention embedding_renorm_",
    "only flambeau raises",
    r"Negation|should contain|same length|out of (range|bounds)|inf norm"
    r"|Expected (.D|more|non-empty)"
    r"|to pool|inconsistent target size|do not broadcast|single memory location",
    "operands whose shapes do not fit, or places outside of the target, that PyTorch overlooks "
    "because one of them has no elements",
)
differs(
    "normalize",
    "only flambeau raises",
    "dim=None",
    "the norm of all elements is not said by None here",
)
differs(
    "ctc_loss",
    "only flambeau raises",
    "out of bounds",
    "a target that is no class; PyTorch reads beyond the log-probabilities",
)
differs(
    "linalg_det linalg_eigh linalg_eigvalsh linalg_matrix_norm linalg_norm linalg_solve "
    "linalg_solve_triangular linalg_svdvals",
    "only flambeau raises",
    "Low precision|same dtype|non-zero size|floating point|not implemented for",
    "half types and integers are refused for matrices without elements, too",
)
differs(
    "linalg_cholesky binomial",
    "error type",
    "PyTorch (backward|ValueError)",
    "a dtype without a form is DtypeError, and refused by the call itself",
)
differs(
    "(to)",
    "only flambeau raises",
    r"t\.to\(3\.5\)",
    "a float is no dtype, device or flag",
)
differs(
    "(indexing)",
    "only flambeau raises",
    r"t\[\[0\.5\]\]",
    "an index of floats; PyTorch cuts them off",
)
differs(
    "trapezoid cumulative_trapezoid",
    "error type",
    "dx is for points at equal distances",
    "of two arguments that exclude each other the library says so, and no parser",
)
differs(
    "(narrow)",
    "error type",
    "start",
    "PyTorch's parser takes any tensor for a number and its kernel refuses it",
)
differs(
    "(__rdiv__)",
    "error type",
    "AttributeError",
    "an operator that is called on a number is TypeError, as PyTorch says of the others",
)
differs(
    "prod inner",
    "only flambeau raises",
    "out tensor to have dtype|can't be cast",
    "PyTorch takes the dtype of out= for the dtype of the sum here, or a way that converts",
)
differs(
    "gaussian_nll_loss",
    "only flambeau raises",
    "operand 1",
    "a target is a tensor, as of every loss",
)
differs(
    "sample_dirichlet",
    "only flambeau raises",
    "at least one dimension",
    "of a number there is no distribution; PyTorch returns 1",
)
differs(
    "(special.airy_ai)",
    "only flambeau raises",
    "the derivative of",
    "neither has one: PyTorch says so in backward",
)
for _kind in "only flambeau raises", "error type":
    differs(
        "randperm",
        _kind,
        "n cannot be greater than",
        "a dtype that does not hold each number would give some of them twice",
    )
differs(
    "svd_lowrank",
    "only flambeau raises",
    "1000 at most",
    "the iterations are bounded, where PyTorch loops for hours",
)
differs(
    "(linalg.norm)",
    "only flambeau raises",
    "non-zero size",
    "the greatest of no elements is refused with out= as without",
)
differs(
    "(native_batch_norm)",
    "only flambeau raises",
    "argument 'out'",
    "a name for programs of old, which writes to no results that are given",
)
