"""What a program sees of the graph: views, versions, nodes' names, and what a second pass through
it does.
"""

from __future__ import annotations

from . import differs

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
    "(mode) (nn.functional.dropout) (nn.functional.linear_cross_entropy) (nn.functional.pad) "
    "(ormqr) (sgn) dropout sign",
    "second backward",
    "works",
    "PyTorch saves operands that the gradient does not need, or whose elements are none",
)
differs(
    "*",
    "value",
    "full_backward.*None.*PyTorch 'full_backward",
    "an argument that asks for no gradient has none in a layer's hook; PyTorch computes it",
)
differs(
    "gradient scaled_dot_product_attention (gradient)",
    "second backward",
    "is refused",
    "made of operations that save a factor or an index; one of its own in PyTorch",
)
differs(
    "(empty) (kron) (native_batch_norm) (nn.functional.batch_norm)",
    "version",
    "counts another version",
    "what is written counts a write, out= and running statistics alike",
)
differs(
    "(conj_physical) (nn.functional.dropout3d) (scatter) fill_diagonal_",
    "version",
    "as it was",
    "where nothing is written no write is counted; and the operand is not written to besides out=",
)
