"""DistributedDataParallel in mixed precision: forward and backward with copies of the parameters in
another dtype, gradients that are reduced in one of their own, and whole parameters for the
optimizer. The copies are recorded as casts, so that gradients come back in the parameters'
dtype."""

import dataclasses
import threading

from ... import distributed as dist
from ..._recomputed import around_recomputation
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
    sent = buffer.to(dtype) if buffer.is_floating_point() else buffer

    def widen(_):
        sent.div_(dist.get_world_size(group))
        return buffer if sent is buffer else buffer.copy_(sent)

    return dist.all_reduce(sent, group=group, async_op=True).get_future().then(widen)


def cast(ddp, args, kwargs):
    """The inputs in the parameters' dtype."""
    return _cast_forward_inputs(ddp.mixed_precision.param_dtype, *args, **kwargs)


def lowered(ddp):
    """A block in which the module has the copies in the place of its parameters; what stands in
    several places, in all of them. Recomputations in backward enter it again."""
    dtype, copies, places = ddp.mixed_precision.param_dtype, {}, []
    for path, module in ddp.module.named_modules() if dtype is not None else ():
        for name, p in module._parameters.items():
            full = f"{path}.{name}" if path else name
            if p is None or full in ddp.parameters_to_ignore or not p.is_floating_point():
                continue
            if p not in copies:
                copies[p] = p.to(dtype)
            places.append((module._parameters, name, copies[p]))
    return around_recomputation(_Lowered(places))


class _Lowered:
    """Puts copies into dictionaries of parameters; several that are in it at a time, such as
    backward's threads, have them until the last one leaves."""

    def __init__(self, places):
        self._places, self._inside, self._lock = places, 0, threading.Lock()

    def __enter__(self):
        with self._lock:
            if self._inside == 0:
                self._before = [parameters[name] for parameters, name, _ in self._places]
                for parameters, name, copy in self._places:
                    parameters[name] = copy
            self._inside += 1

    def __exit__(self, *_):
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for (parameters, name, _), p in zip(self._places, self._before):
                    parameters[name] = p
                del self._before
