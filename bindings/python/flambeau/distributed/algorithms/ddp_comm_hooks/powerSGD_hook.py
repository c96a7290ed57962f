"""PowerSGD (Vogels et al., 2019, arXiv 1905.13727): a gradient as the product of two thin matrices,
which are all that ranks send; what that loses is added to the next gradient."""

import math

from .... import distributed as dist
from ...._torch import Generator, bfloat16, cat, float16, linalg, randn, zeros, zeros_like
from ._at_the_end import AtTheEnd
from .default_hooks import allreduce_hook

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hook keeps from step to step. Ranks make it with the same arguments."""

    def __init__(
        self,
        process_group,
        matrix_approximation_rank=1,
        start_powerSGD_iter=1000,
        min_compression_rate=2,
        use_error_feedback=True,
        warm_start=True,
        orthogonalization_epsilon=0,
        random_seed=0,
        compression_stats_logging_frequency=10000,
        batch_tensors_with_same_shape=False,
    ):
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = Generator().manual_seed(random_seed)
        self.error_dict, self.p_memory_dict, self.q_memory_dict = {}, {}, {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def maybe_increase_iter(self, bucket):
        """Counts a step when its last bucket comes."""
        if bucket.is_last():
            self.iter += 1

    def compression_stats(self):
        """(rate, elements before, elements after compression)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after


def _is_worth_it(matrix, rank, least_rate):
    n, m = matrix.shape
    rank = min(n, m, rank)
    return (n + m) * rank * least_rate < n * m


def _orthogonal(matrix, epsilon):
    if epsilon == 0:  # in float32 at least, because factorizations have no half precision
        wide = matrix.float() if matrix.dtype in (bfloat16, float16) else matrix
        return linalg.qr(wide)[0].to(matrix.dtype)
    columns = []
    for i in range(matrix.shape[1]):
        column = matrix[:, i : i + 1]
        column = column / (column.norm() + epsilon)
        columns.append(column)
        rest = matrix[:, i + 1 :]
        matrix = cat([matrix[:, : i + 1], rest - column @ (column.T @ rest)], 1)
    return cat(columns, 1)


def _sum(state, tensors):
    """The future of the tensors' sums over all ranks, as one message."""
    flat = cat([t.reshape(-1) for t in tensors])
    work = dist.all_reduce(flat, group=state.process_group, async_op=True)

    def parts():
        work.wait()
        found, at = [], 0
        for t in tensors:
            found.append(flat[at : at + t.numel()].view(t.shape))
            at += t.numel()
        return found

    return parts


def powerSGD_hook(state, bucket):
    """Averages a bucket whose matrices are compressed; `state`: a PowerSGDState."""
    group, buffer, index = state.process_group, bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    ranks = dist.get_world_size(group)
    errors = state.error_dict if state.use_error_feedback else {}
    if index in errors:
        buffer.add_(errors[index])
    elif state.use_error_feedback:
        errors[index] = zeros_like(buffer)
    given = buffer.clone() if state.use_error_feedback else None
    gradients = bucket.gradients()
    matrices, plain = [], []
    for g in gradients:
        matrix = g.reshape(g.shape[0], -1) if g.dim() > 1 else None
        worth = matrix is not None and _is_worth_it(
            matrix, state.matrix_approximation_rank, state.min_compression_rate
        )
        (matrices if worth else plain).append((g, matrix))
    right = _right_factors(state, index, [m for _, m in matrices])
    left = [m @ q for (_, m), q in zip(matrices, right)]
    state.total_numel_before_compression += buffer.numel()
    state.total_numel_after_compression += sum(t.numel() for t in (*left, *right)) + sum(
        g.numel() for g, _ in plain
    )
    wait_plain = _sum(state, [g for g, _ in plain]) if plain else list
    wait_left = _sum(state, left) if left else list
    state.maybe_increase_iter(bucket)

    def finish():
        for (g, _), total in zip(plain, wait_plain()):
            g.copy_(total / ranks)
        epsilon = state.orthogonalization_epsilon
        orthogonal = [_orthogonal(p, epsilon) for p in wait_left()]
        if orthogonal:
            found = _sum(state, [m.T @ p for (_, m), p in zip(matrices, orthogonal)])()
            factors = state.q_memory_dict[index] = [q / ranks for q in found]
            for (g, _), p, q in zip(matrices, orthogonal, factors):
                g.copy_((p @ q.T).view(g.shape))
        if given is not None:
            errors[index] = given - buffer
        return buffer

    return AtTheEnd(finish)


def batched_powerSGD_hook(state, bucket):
    """Averages a bucket as one square matrix, filled up with zeros: faster than `powerSGD_hook`,
    and it loses more; `state`: a PowerSGDState."""
    group, buffer, index = state.process_group, bucket.buffer(), bucket.index()
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(group, bucket)
    n, ranks = buffer.numel(), dist.get_world_size(group)
    side = math.isqrt(n - 1) + 1
    whole = zeros(side * side, dtype=buffer.dtype, device=buffer.device)
    whole[:n].copy_(buffer)
    if state.use_error_feedback and index in state.error_dict:
        whole.add_(state.error_dict[index])
    matrix = whole.view(side, side)
    (right,) = _right_factors(state, index, [matrix])
    left = matrix @ right
    state.total_numel_before_compression += n
    state.total_numel_after_compression += left.numel() + right.numel()
    wait_left = _sum(state, [left])
    state.maybe_increase_iter(bucket)

    def finish():
        left = _orthogonal(wait_left()[0], 0)
        right = _sum(state, [matrix.T @ left])()[0] / ranks
        state.q_memory_dict[index] = [right]
        found = (left @ right.T).reshape(-1)
        if state.use_error_feedback:
            state.error_dict[index] = whole - found
        return buffer.copy_(found[:n])

    return AtTheEnd(finish)


def _right_factors(state, index, matrices):
    """Those of the last step, or random ones, the same on every rank; orthogonal."""
    kept = state.q_memory_dict.get(index)
    shapes = [(m.shape[1], min(*m.shape, state.matrix_approximation_rank)) for m in matrices]
    if not state.warm_start or kept is None or [tuple(q.shape) for q in kept] != shapes:
        kept = [
            randn(*shape, generator=state.rng, device=state.rng.device).to(m.device, m.dtype)
            for shape, m in zip(shapes, matrices)
        ]
    return [_orthogonal(q, state.orthogonalization_epsilon) for q in kept]
