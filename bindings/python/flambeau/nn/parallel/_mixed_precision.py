"""DistributedDataParallel in mixed precision: forward and backward with copies of the parameters in
another dtype, gradients that are reduced in one of their own, and whole parameters for the
optimizer. The copies are recorded as casts, so that gradients come back in the parameters'
dtype."""

import contextlib
import dataclasses

from ... import distributed as dist
from ...distributed.utils import _cast_forward_inputs
from . import _buckets


@dataclasses.dataclass
class _MixedPrecision:
    """Dtypes: of parameters and inputs while the module computes, of gradients while they are
    reduced (default: the former), and of buffers. None: as they are. Floating point only."""

    param_dtype: object = None
    reduce_dtype: object = None
    buffer_dtype: object = None


def set_up(ddp):
    """Casts a module's buffers, and has its gradients reduced in their dtype."""
    asked = ddp.mixed_precision
    for name, buffer in ddp.module.named_buffers():
        skipped = asked.buffer_dtype is None or name in ddp.parameters_to_ignore
        if not skipped and buffer.is_floating_point():
            buffer.data = buffer.to(asked.buffer_dtype)
    reduced = asked.reduce_dtype or asked.param_dtype
    if reduced is not None:
        _buckets.register(ddp, (ddp.process_group, reduced), _mean)


def _mean(state, bucket):
    group, dtype = state
    buffer = bucket.buffer()
    sent = buffer.to(dtype)

    def widen(_):
        sent.div_(dist.get_world_size(group))
        return buffer if sent is buffer else buffer.copy_(sent)

    return dist.all_reduce(sent, group=group, async_op=True).get_future().then(widen)


def cast(ddp, args, kwargs):
    """The inputs in the parameters' dtype."""
    return _cast_forward_inputs(ddp.mixed_precision.param_dtype, *args, **kwargs)


@contextlib.contextmanager
def lowered(ddp):
    """A block in which the module has the copies in the place of its parameters; what stands in
    several places, in all of them."""
    dtype, copies, before = ddp.mixed_precision.param_dtype, {}, []
    try:
        for path, module in ddp.module.named_modules() if dtype is not None else ():
            for name, p in module._parameters.items():
                full = f"{path}.{name}" if path else name
                if p is None or full in ddp.parameters_to_ignore or not p.is_floating_point():
                    continue
                if p not in copies:
                    copies[p] = p.to(dtype)
                before.append((module._parameters, name, p))
        for parameters, name, p in before:
            parameters[name] = copies[p]
        yield
    finally:
        for parameters, name, p in before:
            parameters[name] = p
