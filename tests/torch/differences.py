"""What differs from PyTorch, and why it stays so. `make test-torch` fails on any other difference,
and on an entry that no longer differs: rows (or "*"), the kind, a part of the text, the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    rows: tuple
    kind: str
    text: str
    because: str
    always: bool = True  # False: what PyTorch returns is chance, and may agree

    def covers(self, difference):
        return (
            self.kind == difference.kind
            and (difference.row in self.rows or "*" in self.rows)
            and re.search(self.text, difference.text) is not None
        )


KNOWN = []

# Rows whose calls only flambeau's own interface has, and where PyTorch's results are compared.
APART = {
    row: where
    for rows, where in (
        (
            "lstm gru rnn_tanh rnn_relu multihead_attention multihead_attention_weights "
            "embedding_bag",
            "tests/python/test_layers_golden.py compares the layer with PyTorch's numbers",
        ),
        ("max_unpool1d max_unpool2d max_unpool3d", "tests/python/test_functions_golden.py"),
        ("slice", "what indexing is made of: the expressions have x[a:b]"),
        ("rpow", "what powers of a number are made of: the expressions have 2 ** x"),
        ("linear_cross_entropy", "tests/python/test_linear_cross_entropy.py"),
        (
            "cosine_window gaussian_window general_cosine_window exponential_window",
            "tests/python/test_signal.py: torch.signal.windows has them",
        ),
    )
    for row in rows.split()
}


def differs(rows, kind, text, because, always=True):
    KNOWN.append(Known(tuple(rows.split()), kind, text, because, always))


# ---- no gradient ---------------------------------------------------------------------------------

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
    "only PyTorch raises",
    "Expected reduction dim to be specified",
    "PyTorch looks for the least length where there are none",
)
differs(
    "segment_reduce",
    "only flambeau raises",
    "offsets must lie from 0 to",
    "PyTorch reads behind the data",
)

differs(
    "(floor_divide) (histogram) (histogramdd) (unique) (unique_consecutive)",
    "only PyTorch raises",
    "derivative for .* is not implemented",
    "slopes that are 0 wherever they exist, and those of elements that are picked",
)
differs(
    "(cdouble) (cfloat) (chalf) (complex) (polar) (linalg.polar) (stft) (view_as_complex) "
    "(to_sparse)",
    "name",
    "",
    "complex and sparse tensors are not there",
)
differs(
    "(linalg.eig) (linalg.eigvals)",
    "only flambeau raises",
    "complex",
    "the same",
)
differs(
    "(hash_tensor) (linalg.ldl_factor) (linalg.ldl_factor_ex) (linalg.ldl_solve) "
    "(linalg.matrix_sqrth) (special.airy_ai) (as_strided)",
    "name",
    "",
    "not there: no program has been seen to use it",
)

differs(
    "unravel_index",
    "error type",
    "integer dtype",
    "another dtype is a DtypeError wherever an operation has no form for it",
)

differs(
    "unravel_index",
    "stride",
    "",
    "PyTorch cuts its results from one tensor; flambeau's are tensors of their own",
)
differs("unravel_index", "base", "None, PyTorch another", "the same")
differs(
    "histogramdd_between",
    "base",
    "",
    "edges that were given come back as views of these",
)
differs(
    "gradient_at",
    "value",
    "nan|inf",
    "places of which some are equal: which of the divisions by 0 gives NaN is chance",
)

# ---- flambeau accepts more -----------------------------------------------------------------------

differs(
    "histogramdd",
    "only PyTorch raises",
    "size of bins must be equal to the innermost dimension",
    "a list of one number stands for every dimension, as in C and as the number alone",
)
differs(
    "*",
    "only PyTorch raises",
    r"not implemented for '\w+'|Integral inputs not supported|Unsupported input type encountered"
    r"|bool is not supported|value cannot be converted to type"
    r"|not support(ed)? for \w+ (dtype|type)",
    "PyTorch's CPU kernels lack these dtypes; flambeau's are made from one formula for all",
)
differs(
    "*",
    "only PyTorch raises",
    r"out=.*(to have dtype|[Dd]type|dtypes|outputs|tensor for result|can't be cast)",
    "a result is converted to the dtype of out= wherever it promotes to it, for every op alike",
)
differs(
    "*",
    "only PyTorch raises",
    r"(expected scalar type|[Ee]xpected .*(dtype|to match)|dtypes? match|same dtype"
    r"|Found dtype|can't be cast|must not be a floating point|dtype to be equal)",
    "operands of different dtypes are promoted where PyTorch asks for equal ones",
)
differs(
    "*",
    "only PyTorch raises",
    r"operand \d \S+: in call: (TypeError|AttributeError)|operand \d .*expected Tensor as element",
    "a number stands for a 0-d tensor wherever a call has another operand",
)
differs(
    "*",
    "only PyTorch raises",
    r"(keepdim=2|dim=\(0, 0\)|dim=None|dim=1.5): in call: (TypeError|RuntimeError|ValueError)",
    "flags and dimensions are taken by their truth or index, as Python does",
)
differs(
    "dropout alpha_dropout feature_dropout feature_alpha_dropout embedding_renorm_",
    "only PyTorch raises",
    "missing . required positional arg",
    "functions of torch have the defaults of their namesakes in torch.nn.functional",
)
differs(
    "dropout alpha_dropout feature_dropout feature_alpha_dropout embedding_renorm_",
    "error type",
    "missing . required positional arg",
    "the same with an operand that is refused instead",
)
differs(
    "hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss",
    "only PyTorch raises",
    "argument 'reduction' must be int|could not infer output dtype",
    "losses take their words for a reduction under every name, and the mean of integers",
)
differs(
    "hinge_embedding_loss cosine_embedding_loss triplet_margin_loss",
    "shape",
    r"^torch\.",
    "torch.* of these has no reduction unless told; flambeau's default is F's",
)
differs(
    "group_norm layer_norm lp_pool1d multilabel_margin_loss multilabel_soft_margin_loss scatter "
    "gaussian_nll_loss lstm_cell rnn_tanh_cell rnn_relu_cell max_pool3d max_pool3d_with_indices "
    "pixel_shuffle pixel_unshuffle soft_margin_loss conv3d batch_norm im2col "
    "instance_norm",
    "only PyTorch raises",
    "",
    "layouts, broadcasting and combinations of dtypes that PyTorch's implementation lacks",
)
differs(
    "copy_ transpose linalg_householder_product ormqr",
    "only PyTorch raises",
    "by keyword|missing . required positional arg|dim0=0, dim1=1|operand 0",
    "operands that PyTorch names otherwise or not at all: a program passes them by position",
)
differs(
    "acosh asinh atanh floor_divide binary_cross_entropy binary_cross_entropy_with_logits vander",
    "only PyTorch raises",
    "(derivative for|not differentiable with respect|modified by an inplace)",
    "PyTorch has no gradient here; flambeau has",
)
differs(
    "scatter scatter_add scatter_reduce",
    "only PyTorch raises",
    "in backward",
    "PyTorch cannot differentiate with respect to a src larger than its index; flambeau can",
)
differs(
    "index_fill",
    "only PyTorch raises",
    "in backward",
    "PyTorch forgets to wrap negative indices in the gradient of value",
)

differs(
    "cumulative_trapezoid trapezoid isin kron take_along_dim conv1d conv2d repeat_interleave_each "
    "repeat_interleave unique unique_consecutive prelu l1_loss "
    "binary_cross_entropy_with_logits diff logcumsumexp index_select where",
    "only PyTorch raises",
    "",
    "operands that broadcast, are 0-d, strided, empty, bool or of two dtypes, which PyTorch's "
    "implementation trips over",
)
differs(
    "glu split split_with_sizes repeat scatter transpose_ sum",
    "only PyTorch raises",
    "axis=|by keyword|dim0=|invalid combination",
    "axis, keywords and out= are taken by every function alike",
)

# ---- both raise, in other words ------------------------------------------------------------------

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
    "*",
    "error type",
    r"can't be cast to the desired output type",
    "a result that out= cannot hold is DtypeError for every op; PyTorch says TypeError in some",
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

# ---- only flambeau raises ------------------------------------------------------------------------

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
    r"Negation|should contain|same length|out of range|inf norm"
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

# ---- names ---------------------------------------------------------------------------------------

differs(
    "*",
    "name",
    r"^PyTorch has no torch\.\S+_$",
    "the generator derives the function form of every in-place method, PyTorch of some",
)
differs(
    "*",
    "name",
    r"^flambeau has no torch\.special\.\S+_$",
    "nor has PyTorch; the header derives the name",
)

# ---- strides and memory --------------------------------------------------------------------------

differs(
    "conv1d conv3d conv_transpose1d conv_transpose3d avg_pool1d max_pool1d max_pool1d_with_indices "
    "lp_pool1d adaptive_avg_pool1d adaptive_max_pool1d batch_norm pixel_shuffle pixel_unshuffle "
    "channel_shuffle",
    "stride",
    "channels last|permuted|gaps|stride 0",
    "where PyTorch takes a signal for an image of height 1, or its slow kernel of volumes",
)
differs(
    "einsum unique unique_consecutive mode gru_cell pixel_unshuffle",
    "stride",
    "",
    "an accident of how PyTorch arranges its intermediate results; flambeau's are in C order",
)
differs(
    "rot90 index index_reduce renorm scatter_reduce slice_scatter select_scatter diagonal_scatter "
    "rrelu logsigmoid index_fill masked_fill rand_like randn_like",
    "stride",
    "gaps|permuted|channels last|stride 0",
    "of operands in another order than C; each kernel of PyTorch decides by itself what it keeps",
)
differs(
    "alpha_dropout feature_alpha_dropout",
    "memory",
    "",
    "without training the operand comes back as a copy, as other results do",
)

# ---- values --------------------------------------------------------------------------------------

differs(
    "topk sort argsort kthvalue median_dim nanmedian_dim (topk) (sort) (argsort) (kthvalue) (mode)",
    "value",
    "",
    "which of equal elements comes first is not said, but for stable sorts; flambeau takes the "
    "first one",
)
differs(
    "(topk) (sort) (kthvalue) (mode) (median) (nanmedian)",
    "operand",
    "out=",
    "the same of the indices that are written",
    always=False,
)
differs(
    "topk sort kthvalue median_dim nanmedian_dim msort quantile nanquantile",
    "gradient",
    "",
    "goes to the element that was taken among equals",
)
differs(
    "as_strided_scatter (as_strided_scatter)",
    "gradient",
    "of operand 0",
    "elements that are replaced leave nothing of the operand: their slope is 0",
)
differs(
    "igamma igammac bessel_j0 bessel_j1 bessel_y0 bessel_y1",
    "value",
    "float64",
    "PyTorch's approximations end at some 1e-9",
)
differs(
    "ormqr",
    "value",
    "stride 0",
    "equal rows as reflections, whose factors do not make them orthogonal",
)
differs(
    "(norm) (linalg.norm) (linalg.vector_norm)",
    "gradient",
    "some, PyTorch not so",
    "the slope of a count is 0; PyTorch has none",
)
differs(
    "(polygamma) (special.polygamma)",
    "value",
    r"inf\)? at",
    "at the poles it is infinite; PyTorch's series comes near them",
)
differs(
    "(histc)",
    "value",
    "float16",
    "of half types PyTorch computes the bins in them, too",
)
differs(
    "(linalg.eigh)",
    "value",
    "UPLO='U'",
    "which sign an eigenvector has is not said",
)
differs(
    "(linalg.eigh)",
    "gradient",
    "UPLO='U'",
    "the same for its gradient",
)
differs(
    "(lerp)",
    "gradient",
    "float64",
    "PyTorch rounds a weight that is a number to float32",
)
differs(
    "hardsigmoid",
    "gradient",
    "float64",
    "PyTorch's 1/6 is one of float32",
)
differs(
    "norm",
    "gradient",
    "p=0",
    "the slope of a count is 0; PyTorch has none",
)
differs(
    "vander",
    "history",
    "",
    "a matrix of ones has a gradient, which is 0; PyTorch says that it has none where N=1",
)
differs(
    "vander",
    "gradient",
    "none|some",
    "the same for the gradient itself",
)
differs(
    "batch_norm",
    "value",
    "stride 0",
    "equal rows: their variance is rounding error alone, which eps divides",
)
differs(
    "binary_cross_entropy_with_logits huber_loss soft_margin_loss cosine_similarity "
    "hinge_embedding_loss grid_sample",
    "dtype",
    "",
    "of operands of two dtypes, and of integers, flambeau promotes; PyTorch's steps keep one",
)
differs(
    "bincount",
    "dtype",
    r"int64\[0\]",
    "PyTorch forgets the dtype of the weights where there is nothing to count",
)
differs(
    "block_diag",
    "dtype",
    "",
    "PyTorch leaves 0-d operands out of the promotion here, and not elsewhere where they become "
    "matrices",
)
differs(
    "einsum (einsum)",
    "dtype",
    "",
    "PyTorch adds up some integer results as int64, by the path it takes",
)
differs(
    "hardtanh linspace logspace",
    "value",
    "uint8|steps=",
    "negative bounds of an unsigned dtype: PyTorch wraps them around, flambeau compares numbers",
)
differs(
    "histc",
    "value",
    "float16",
    "PyTorch computes the bin in float16, flambeau in float32",
)
differs(
    "normal",
    "dtype",
    "",
    "integers for mean and std: PyTorch gives back an integer tensor where it is empty",
)
differs(
    "cosine_similarity",
    "gradient",
    "dim=0",
    "of vectors of two elements the gradient is rounding error alone",
)
differs(
    "cosine_similarity",
    "gradient",
    "eps=9",
    "where eps stands for a smaller norm, PyTorch's gradient pretends that it does not",
)
differs(
    "multi_margin_loss multilabel_margin_loss",
    "value",
    r"\[0, 4\]",
    "the mean of nothing is NaN; PyTorch returns memory that it has not written",
    always=False,
)
differs(
    "multilabel_soft_margin_loss",
    "value",
    r"float32\[4\], float32\[3, 4\]|float32\[3, 4\], float32\[2, 3, 4\]",
    "of operands that broadcast, PyTorch divides by the classes of another one",
)
differs(
    "multilabel_soft_margin_loss",
    "shape",
    "",
    "the same: it averages over another dimension",
)
differs(
    "pixel_unshuffle",
    "shape",
    "",
    "PyTorch returns a tensor without elements as it is",
)
for _kind in "value", "gradient":
    differs(
        "ctc_loss",
        _kind,
        "gaps",
        "PyTorch counts where a target begins among targets without gaps",
    )
differs(
    "ctc_loss",
    "only flambeau raises",
    "out of bounds",
    "a target that is no class; PyTorch reads beyond the log-probabilities",
)
differs(
    "scaled_dot_product_attention",
    "gradient",
    "stride 0",
    "equal keys: the gradient is rounding error alone",
)

# ---- linear algebra ------------------------------------------------------------------------------

differs(
    "cholesky_inverse cholesky_solve linalg_cholesky linalg_cholesky_ex linalg_cond "
    "linalg_cond_by_name linalg_eigh linalg_eigvalsh linalg_lstsq linalg_matrix_norm "
    "linalg_matrix_norm_by_name linalg_matrix_power linalg_matrix_rank linalg_multi_dot "
    "linalg_norm linalg_norm_by_name linalg_pinv linalg_solve_triangular linalg_vecdot logdet",
    "only PyTorch raises",
    "",
    "empty, broadcast and out= operands, and gradients through them, that LAPACK's wrappers refuse",
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
    "linalg_householder_product ormqr "
    "cholesky_inverse linalg_cholesky linalg_inv linalg_lstsq linalg_lu_solve (linalg.lstsq) "
    "linalg_matrix_power linalg_solve linalg_solve_triangular",
    "stride",
    "",
    "LAPACK leaves its results in Fortran's order; flambeau's are in C order",
)
differs(
    "linalg_qr linalg_svd",
    "value",
    "stride 0",
    "of a matrix without full rank any basis of what is left completes the factor",
)
differs(
    "linalg_det linalg_matrix_norm linalg_matrix_norm_by_name norm_by_name linalg_norm_by_name "
    "linalg_qr linalg_slogdet linalg_svd linalg_svdvals",
    "gradient",
    "",
    "of singular matrices: there is no gradient, or not one alone",
)
differs(
    "linalg_solve_ex",
    "shape",
    "",
    "info has one element per system that was solved; PyTorch has one per factored matrix",
)

# ---- beside the table ----------------------------------------------------------------------------

differs(
    "(shape)",
    "only PyTorch raises",
    r"t\.set_\(i\)",
    "set_ takes the other tensor's dtype, too",
)
differs(
    "(operators)",
    "error type",
    r"^~t",
    "DtypeError, as of every op without a form for a dtype; PyTorch says TypeError here",
)
differs(
    "(operators)",
    "dtype",
    r"np\.arange",
    "an array of integers promotes as a tensor of integers does; PyTorch leaves it to NumPy",
)
differs(
    "(to)",
    "only flambeau raises",
    r"t\.to\(3\.5\)",
    "a float is no dtype, device or flag",
)
differs(
    "(to)",
    "only PyTorch raises",
    r"t\.to\(torch\.float64, torch\.int64\)",
    "the last dtype counts",
)
differs(
    "(indexing)",
    "only flambeau raises",
    r"t\[\[0\.5\]\]",
    "an index of floats; PyTorch cuts them off",
)
differs(
    "(indexing)",
    "only PyTorch raises",
    "put",
    "a list or an array may be assigned as a tensor may",
)
differs(
    "(creation)",
    "only PyTorch raises",
    r"torch\.tensor\(\[t\]\)|torch\.zeros\(\)",
    "a list of tensors is stacked, and no sizes are those of a 0-d tensor",
)
differs(
    "(creation)",
    "error type",
    r"2 \*\* 63",
    "the library's error for a number that does not fit is one of RuntimeError",
)

# ---- PyTorch's own samples -----------------------------------------------------------------------

differs(
    "(aminmax) (cat) (kthvalue)",
    "only PyTorch raises",
    "overlap|single memory location",
    "a result is computed before it is written to out=, so that an overlap with an operand harms "
    "nothing; of two overlapping results the last one stays",
)
differs(
    "(cov) (nn.functional.normalize)",
    "gradient",
    "",
    "of operands whose gradient is rounding error alone",
)
differs(
    "(nn.functional.hardsigmoid)",
    "gradient",
    "float64",
    "PyTorch's 1/6 is one of float32",
)
differs(
    "(linalg.householder_product)",
    "history",
    r"\[0|, 0",
    "a result without elements has no history",
)
differs(
    "(masked_fill)",
    "error type",
    "1j",
    "there are no complex numbers",
)
differs(
    "(narrow)",
    "only PyTorch raises",
    "bool",
    "a bool tensor is taken by its number",
)
differs(
    "(sgn)",
    "only PyTorch raises",
    "ZeroTensor",
    "PyTorch's gradient is a tensor that cannot be read",
)
differs(
    "masked_select",
    "only PyTorch raises",
    "same scalar type",
    "a result is converted to the dtype of out= wherever it promotes to it, for every op alike",
)
differs(
    "ormqr",
    "only PyTorch raises",
    "same number of dimensions",
    "batches broadcast",
)
differs(
    "view_dtype",
    "only PyTorch raises",
    "stride",
    "a tensor without elements may be viewed in any dtype that divides its last dimension",
)
differs(
    "(pca_lowrank) (svd_lowrank)",
    "value",
    "svd|qr",
    "the signs of singular vectors are free, and bases of nearly dependent columns are rounding",
    always=False,
)

# ---- the graph -----------------------------------------------------------------------------------

differs(
    "(graph)",
    "value",
    r"^data of .*'1', PyTorch '0'",
    "a version counts the writes to memory, which .data shares",
)
differs(
    "(graph)",
    "value",
    "(Zero|Fill|Slice|Alias)Backward",
    "nodes of zero_, fill_ and x[:] have the names of what these are made of",
)
differs(
    "(graph)",
    "only flambeau raises",
    r"^(detach|data) of made in inference",
    "what detach() returns of a tensor of inference mode is one, too",
)
differs(
    "avg_pool1d avg_pool2d avg_pool3d interpolate adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d",
    "second backward",
    "works",
    "PyTorch saves the operand for its shape alone",
)
differs(
    "affine_grid as_strided_scatter col2im cumulative_trapezoid deg2rad frac gradient im2col "
    "rad2deg scaled_dot_product_attention trapezoid",
    "second backward",
    "is refused",
    "made of operations that save a factor or an index; one of its own in PyTorch",
)
