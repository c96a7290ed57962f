"""`torch._dynamo._trace_wrapped_higher_order_op`: of it, the block around masks of attention."""

import contextlib


class TransformGetItemToIndex(contextlib.nullcontext):
    """Lets torch's `vmap` index by a tensor of one element; it always may here, where `vmap` calls
    the function per example."""
