"""Values and gradients: where PyTorch's are rounding, chance, or wrong at a singular place."""

from __future__ import annotations

from . import differs

differs(
    "gradient_at",
    "value",
    "nan|inf",
    "places of which some are equal: which of the divisions by 0 gives NaN is chance",
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
differs("airy_ai", "value", "", "PyTorch's has some seven digits; flambeau's agrees with mpmath")
differs(
    "ormqr",
    "value",
    "stride 0",
    "equal rows as reflections, whose factors do not make them orthogonal",
)
differs(
    "(norm) (linalg.norm) (masked.normalize)",
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
    "addcdiv",
    "gradient",
    r"addcdiv_\(bfloat16\[\]",
    "what comes by the result and what comes by the divisor itself nearly cancel",
    always=False,
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
    "linspace logspace",
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
for _kind in "value", "gradient":
    differs(
        "ctc_loss",
        _kind,
        "gaps",
        "PyTorch counts where a target begins among targets without gaps",
    )
differs(
    "scaled_dot_product_attention",
    "gradient",
    "stride 0",
    "equal keys: the gradient is rounding error alone",
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
    "(pca_lowrank) (svd_lowrank)",
    "value",
    "svd|qr",
    "the signs of singular vectors are free, and bases of nearly dependent columns are rounding",
    always=False,
)
differs(
    "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "value",
    "",
    "PyTorch computes windows in their dtype, where half types cannot tell the points apart",
)
differs(
    "trapezoid",
    "value",
    "bfloat16",
    "PyTorch rounds each area to the half type before it adds them",
)
for _kind in "value", "gradient":
    differs(
        "(special.bessel_j0) (special.bessel_j1) (special.bessel_y0) (special.bessel_y1)",
        _kind,
        "float64",
        "PyTorch's approximations are good to 1e-7 only",
    )
    differs(
        "(svd) (linalg.svd)",
        _kind,
        "some=False|full_matrices|svd",
        "the signs of singular vectors are free, and any basis completes the factor",
    )
differs(
    "(polygamma) (special.polygamma)",
    "operand",
    r"inf\)? at",
    "at the poles it is infinite; PyTorch's series comes near them",
)
differs(
    "(ormqr)",
    "gradient",
    "some, PyTorch not so",
    "of empty operands the gradient has no elements; PyTorch has none",
)
differs(
    "median_dim nanmedian_dim",
    "value",
    "stride 0",
    "of rows that repeat themselves PyTorch returns memory that it has not written",
    always=False,
)
differs(
    "(histc)",
    "operand",
    "float16",
    "of half types PyTorch computes the bins in them, too",
)
differs(
    "(order)",
    "value",
    "nan",
    "rows with NaN: PyTorch's comparison calls NaN and any number equal, which is no order",
)
