"""The parameters that are gathered together, in one buffer, and whose gradients are reduced
together.

A gather is begun ahead and waited for where the parameters are needed; a reduction goes on while
backward does, and ends where the next one begins, so that there are two buffers at most."""

from ..._torch import empty, zeros
from ...autograd import no_grad
from .._collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from .._ops import ReduceOp


class ParamGroup:
    """What one call of `fully_shard` manages."""

    def __init__(self, params, mesh, device, policy):
        self.params, self.device, self.policy = params, device, policy
        self.group, self.ranks = mesh.get_group(-1), mesh.size(-1)
        self.copies = mesh.get_group(0) if mesh.ndim > 1 else None  # ranks with the same parts
        self.reduces = self.reduces_copies = True
        self.frees_after_forward = self.frees_after_backward = True
        self.is_whole, self._coming = not params, []

    # ---- parameters

    @no_grad()
    def begin_gather(self, as_kept=False):
        """Begins to gather the parameters, unless they are there or coming; in the dtypes of the
        parts where they are gathered `as_kept`."""
        if self.is_whole or self._coming:
            return
        alike = {}
        for p in self.params:
            p.adopt()
        self._check_elements()
        for p in self.params:
            dtype = None if as_kept else self.policy.param_dtype
            alike.setdefault(dtype or p.part.dtype, []).append(p)
        for dtype, params in alike.items():
            own = self._packed(params, dtype)
            every = empty(self.ranks * own.numel(), dtype=dtype, device=self.device)
            work = all_gather_into_tensor(every, own, self.group, async_op=True)
            self._coming.append((work, own, every, params))

    def _check_elements(self):
        absent = [p.name() for p in self.params if p.part.is_meta]
        if absent:
            raise RuntimeError(
                "FSDP parameters should be materialized from meta device before training, but the "
                f"following were still on meta device: {absent}\nFor example, call "
                "module.to_empty(device) to materialize to device and call "
                "module.reset_parameters() on each module to initialize values."
            )

    def _packed(self, params, dtype):
        """This rank's rows of all parameters, each padded to the same number on all ranks."""
        rows = params[0].local()
        alone = len(params) == 1 and rows.numel() == params[0].padded
        if alone and rows.dtype is dtype and rows.device == self.device:
            return rows
        own = empty(sum(p.padded for p in params), dtype=dtype, device=self.device)
        at = 0
        for p in params:
            rows = p.local()
            own[at : at + rows.numel()].copy_(rows)
            own[at + rows.numel() : at + p.padded].zero_()
            at += p.padded
        return own

    @no_grad()
    def gather(self, as_kept=False):
        """Returns when the modules have the whole parameters."""
        self.begin_gather(as_kept)
        coming, self._coming = self._coming, []
        while coming:
            work, _, every, params = coming.pop(0)
            work.wait()
            table, at = every.view(self.ranks, -1), 0
            for p in params:
                rows = table.narrow(1, at, p.padded).reshape(p.rows * self.ranks, *p.shape[1:])
                p.put(rows)
                at += p.padded
        self.is_whole = True

    def end_gather(self):
        """Forgets what is coming and was not asked for."""
        coming, self._coming = self._coming, []
        for work, *_ in coming:
            work.wait()

    @no_grad()
    def free(self):
        """The modules have the parts again."""
        self.end_gather()
        if self.is_whole and self.params:
            for p in self.params:
                p.free()
            self.is_whole = False

    def take_back(self):
        """What was written into the whole parameters."""
        for p in self.params if self.is_whole else ():
            p.take_back()

    # ---- gradients

    def drop_gradients(self):
        """Forgets whole gradients, which no reduction has taken."""
        for p in self.params:
            p.kept = p.partial = None
            if p.whole is not None:
                p.whole.grad = None

    @no_grad()
    def begin_reduce(self):
        """Takes the gradients that are there, frees the parameters and begins to reduce: a list of
        what to finish."""
        found = {}
        for p in self.params:
            grad = p.taken_gradient(self.policy.reduce_dtype)
            if grad is None and p.partial is not None and self.reduces and self.reduces_copies:
                grad = zeros(p.shape, dtype=p.partial.dtype, device=self.device)
            if grad is None:
                continue
            if self.reduces:
                found.setdefault(grad.dtype, []).append((p, grad))
            else:
                p.kept = grad
            del grad
        if self.frees_after_backward:
            self.free()
        return [self._reduction(dtype, pairs) for dtype, pairs in found.items()]

    def _reduction(self, dtype, pairs):
        width = sum(p.padded for p, _ in pairs)
        whole = zeros if any(p.rows * self.ranks != p.shape[0] for p, _ in pairs) else empty
        table, at = whole(self.ranks, width, dtype=dtype, device=self.device), 0
        params = [p for p, _ in pairs]
        while pairs:
            p, grad = pairs.pop(0)
            for rank, rows in enumerate(grad.reshape(p.shape[0], p.row).split(max(p.rows, 1))):
                table[rank, at : at + rows.numel()].copy_(rows.reshape(-1))
            at += p.padded
        own = empty(width, dtype=dtype, device=self.device)
        work = reduce_scatter_tensor(own, table.view(-1), ReduceOp.AVG, self.group, async_op=True)
        return _Reduction(self, work, table, own, params)


class _Reduction:
    """Gradients under way; it keeps their buffer until they have come. Copies of parts average them
    with what earlier backwards left, or leave them to a later one."""

    def __init__(self, group, work, table, own, params):
        self.group, self.work, self.table, self.own, self.params = group, work, table, own, params

    @no_grad()
    def finish(self):
        self.work.wait()
        self.table = None
        copies, later = self.group.copies, not self.group.reduces_copies
        rows = self.own.split([p.padded for p in self.params])
        if copies is not None and later:
            for p, own in zip(self.params, rows):
                p.keep_partial(own)
            return
        for p, own in zip(self.params, rows):
            if p.partial is not None:
                own.add_(p.partial)
                p.partial = None
        if copies is not None:
            all_reduce(self.own, ReduceOp.AVG, copies)
        for p, own in zip(self.params, rows):
            p.give(own)
