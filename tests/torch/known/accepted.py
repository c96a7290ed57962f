"""Calls that PyTorch refuses and flambeau makes: dtypes, layouts, operands and keywords that one
formula for all of them takes, where PyTorch's kernels and parsers each have their own limits.
"""

from __future__ import annotations

from . import differs

differs(
    "segment_reduce",
    "only PyTorch raises",
    "Expected reduction dim to be specified",
    "PyTorch looks for the least length where there are none",
)
differs(
    "(floor_divide) (histogram) (histogramdd)",
    "only PyTorch raises",
    "derivative for .* is not implemented",
    "slopes that are 0 wherever they exist, and those of elements that are picked",
)
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
    "hinge_embedding_loss margin_ranking_loss cosine_embedding_loss triplet_margin_loss",
    "only PyTorch raises",
    "argument 'reduction' must be int|could not infer output dtype",
    "losses take their words for a reduction under every name, and the mean of integers",
)
differs(
    "group_norm layer_norm lp_pool1d multilabel_margin_loss multilabel_soft_margin_loss scatter "
    "gaussian_nll_loss max_pool3d max_pool3d_with_indices "
    "pixel_shuffle pixel_unshuffle soft_margin_loss conv3d batch_norm im2col "
    "instance_norm",
    "only PyTorch raises",
    "",
    "layouts, broadcasting and combinations of dtypes that PyTorch's implementation lacks",
)
differs(
    "copy_ linalg_householder_product ormqr",
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
    "cumulative_trapezoid trapezoid isin kron take_along_dim conv1d conv2d "
    "repeat_interleave unique unique_consecutive prelu l1_loss "
    "binary_cross_entropy_with_logits diff",
    "only PyTorch raises",
    "",
    "operands that broadcast, are 0-d, strided, empty, bool or of two dtypes, which PyTorch's "
    "implementation trips over",
)
differs(
    "glu repeat scatter sum",
    "only PyTorch raises",
    "axis=|by keyword|dim0=|invalid combination",
    "axis, keywords and out= are taken by every function alike",
)
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
    "(indexing)",
    "only PyTorch raises",
    "put",
    "a list or an array may be assigned as a tensor may",
)
differs(
    "(aminmax) (cat) (kthvalue)",
    "only PyTorch raises",
    "overlap|single memory location",
    "a result is computed before it is written to out=, so that an overlap with an operand harms "
    "nothing; of two overlapping results the last one stays",
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
    "(gradient)",
    "only PyTorch raises",
    "spacing argument of length 1",
    "a list of one number stands for every dimension, as in C and as the number alone",
)
differs(
    "hamming_window kaiser_window",
    "only PyTorch raises",
    "invalid combination",
    "options are taken by keyword without those that stand before them",
)
differs(
    "prod",
    "only PyTorch raises",
    "out=",
    "the product of all elements takes out= as every function does",
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
