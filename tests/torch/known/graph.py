"""What a program sees of the graph: views, versions, nodes' names, and what a second pass through
it does.
"""

from __future__ import annotations

from . import differs

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
