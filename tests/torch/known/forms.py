"""What results look like where their numbers agree: dtype, shape, strides, shared memory, bases and
whether they have a history.
"""

from __future__ import annotations

from . import differs

differs(
    "unravel_index",
    "stride",
    "",
    "PyTorch cuts its results from one tensor; flambeau's are tensors of their own",
)
differs("(unravel_index)", "stride", "", "the same")
differs(
    "*",
    "base",
    "None, PyTorch another$",
    "where PyTorch makes a function of others, what they make along the way is its result's base; "
    "nobody can see it, and a result of flambeau stands for itself",
)
differs(
    "linalg_lstsq ormqr (triangular_solve) (linalg.lstsq)",
    "base",
    "another, PyTorch None$",
    "one of several results, or what the graph keeps for a gradient, shows a part of another",
)
differs(
    "(bfloat16) (bool) (byte) (char) (double) (float) (half) (int) (long) (short) (to) "
    "(empty_permuted)",
    "base",
    "another, PyTorch None$",
    "another order of memory is a view of what lies in C order",
)
differs(
    "(nn.functional.dropout3d) (ormqr) broadcast_tensors",
    "base",
    r"\d, PyTorch None$",
    "an operand that comes back is a view of it, and so is a part of one, whatever the name",
)
differs("movedim", "base", "None, PyTorch 0$", "of 0-d operands it is the operand itself")
differs(
    "(scatter)",
    "memory",
    "out=",
    "PyTorch writes to src as well and returns that",
)
differs(
    "histogramdd_between",
    "base",
    "",
    "edges that were given come back as views of these",
)
differs(
    "hinge_embedding_loss cosine_embedding_loss triplet_margin_loss",
    "shape",
    r"^torch\.",
    "torch.* of these has no reduction unless told; flambeau's default is F's",
)
differs(
    "conv1d conv3d conv_transpose1d conv_transpose3d avg_pool1d max_pool1d max_pool1d_with_indices "
    "lp_pool1d adaptive_avg_pool1d adaptive_max_pool1d batch_norm pixel_shuffle pixel_unshuffle "
    "channel_shuffle",
    "stride",
    "channels last|permuted|gaps|stride 0",
    "where PyTorch takes a signal for an image of height 1, or its slow kernel of volumes",
)
differs(
    "einsum unique unique_consecutive mode gru_cell pixel_unshuffle (unique) (unique_consecutive)",
    "stride",
    "",
    "an accident of how PyTorch arranges its intermediate results; flambeau's are in C order",
)
differs(
    "rot90 index index_reduce renorm scatter_reduce slice_scatter select_scatter diagonal_scatter "
    "rrelu logsigmoid index_fill masked_fill",
    "stride",
    "gaps|permuted|channels last|stride 0",
    "of operands in another order than C; each kernel of PyTorch decides by itself what it keeps",
)
for _rows, _kind in ("(unsafe_chunk) (unsafe_split)", "memory"), ("(unsafe_chunk)", "stride"):
    differs(
        _rows,
        _kind,
        "",
        "parts have memory of their own: one that is written in place leaves the others' gradients",
    )
differs(
    "vander",
    "history",
    "",
    "a matrix of ones has a gradient, which is 0; PyTorch says that it has none where N=1",
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
    "normal",
    "dtype",
    "",
    "integers for mean and std: PyTorch gives back an integer tensor where it is empty",
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
differs(
    "linalg_householder_product ormqr "
    "cholesky_inverse linalg_cholesky linalg_inv linalg_lstsq linalg_lu_solve (linalg.lstsq) "
    "linalg_matrix_power linalg_solve linalg_solve_triangular",
    "stride",
    "",
    "LAPACK leaves its results in Fortran's order; flambeau's are in C order",
)
differs(
    "linalg_solve_ex",
    "shape",
    "",
    "info has one element per system that was solved; PyTorch has one per factored matrix",
)
differs(
    "(operators)",
    "dtype",
    r"np\.arange",
    "an array of integers promotes as a tensor of integers does; PyTorch leaves it to NumPy",
)
differs(
    "(linalg.householder_product)",
    "history",
    r"\[0|, 0",
    "a result without elements has no history",
)
differs(
    "(native_group_norm)",
    "history",
    "",
    "means and deviations that come along are constants; PyTorch differentiates them",
)
