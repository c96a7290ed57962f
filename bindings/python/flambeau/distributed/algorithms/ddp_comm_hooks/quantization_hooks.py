"""Hooks that average a bucket of which ranks send bytes: each rank's gradients are rounded to 256
steps between their least and their largest, 0 among them, of all of them or of every row of
`bucket_size`. Every rank adds the terms in the order of the ranks."""

from .... import distributed as dist
from ...._torch import clamp, empty, finfo, float32, stack, uint8
from ._at_the_end import AtTheEnd

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_MOST = 255


def _steps(rows):
    """The size of a step and the step that is 0, of each row: torch's MinMaxObserver."""
    least, most = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    scale = ((most - least) / float(_MOST)).clamp(min=finfo(float32).eps)
    return scale, clamp(-(least / scale).round(), 0, _MOST)


def _gathered(group, own):
    """(what all ranks have, once `wait()` of the second is over)."""
    ranks = dist.get_world_size(group)
    flat = empty(ranks * own.numel(), dtype=own.dtype, device=own.device)
    work = dist.all_gather_into_tensor(flat, own.reshape(-1), group=group, async_op=True)
    return flat.view(ranks, *own.shape), work


def _mean(group, buffer, rows):
    scale, zero = _steps(rows)
    steps, told = _gathered(group, stack((scale, zero)))

    def finish():
        told.wait()
        own = clamp((rows / scale[:, None]).round() + zero[:, None], 0, _MOST).to(uint8)
        every, sent = _gathered(group, own)
        sent.wait()
        total = sum((q.to(float32) - z[:, None]) * s[:, None] for q, (s, z) in zip(every, steps))
        found = total.reshape(-1)[: buffer.numel()] / len(every)
        return buffer.copy_(found)

    return AtTheEnd(finish)


def quantization_pertensor_hook(process_group, bucket):
    """The mean, of one range for all of a bucket."""
    buffer = bucket.buffer()
    return _mean(process_group, buffer, buffer.to(float32).reshape(1, -1))


def quantization_perchannel_hook(process_group, bucket, bucket_size=512):
    """The mean, of a range for every `bucket_size` elements."""
    buffer = bucket.buffer()
    rows = buffer.new_zeros(-(-buffer.numel() // bucket_size) * bucket_size, dtype=float32)
    rows[: buffer.numel()].copy_(buffer)
    return _mean(process_group, buffer, rows.view(-1, bucket_size))
