"""Hooks that average a bucket, in its own dtype or in half of the bytes; and wrappers that send the
bucket of another hook in half precision."""

from .... import distributed as dist
from ...._torch import bfloat16, float16

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook",
    "fp16_compress_wrapper",
]  # fmt: skip


def _sum(process_group, tensor):
    """The future of the sum over the ranks, in `tensor`."""
    work = dist.all_reduce(tensor, group=process_group, async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group, bucket):
    """What happens without a hook."""
    buffer = bucket.buffer()
    return _sum(process_group, buffer.div_(dist.get_world_size(process_group)))


def _compressed(dtype, process_group, bucket):
    buffer = bucket.buffer()
    share = (buffer / dist.get_world_size(process_group)).to(dtype)  # which fits where a mean does

    def widen(done):
        buffer.copy_(done.value())
        return buffer

    return _sum(process_group, share).then(widen)


def fp16_compress_hook(process_group, bucket):
    """The mean, sent as float16: each gradient is divided by the number of ranks, then rounded."""
    return _compressed(float16, process_group, bucket)


def bf16_compress_hook(process_group, bucket):
    """The mean, sent as bfloat16, whose range is that of float32."""
    return _compressed(bfloat16, process_group, bucket)


def _wrapper(hook, dtype, name):
    def wrapped(state, bucket):
        wide = bucket.buffer()
        bucket.set_buffer(wide.to(dtype))

        def widen(done):
            value = done.value()
            wide.copy_(value[0] if isinstance(value, (list, tuple)) else value)
            bucket.set_buffer(wide)
            return wide

        return hook(state, bucket).then(widen)

    wrapped.__name__ = name
    return wrapped


def fp16_compress_wrapper(hook):
    """`hook` on buckets that are cast to float16, whose result is cast back."""
    return _wrapper(hook, float16, "fp16_compress_wrapper_hook")


def bf16_compress_wrapper(hook):
    """`hook` on buckets that are cast to bfloat16, whose result is cast back."""
    return _wrapper(hook, bfloat16, "bf16_compress_wrapper_hook")
