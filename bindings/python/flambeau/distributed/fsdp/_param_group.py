"""The parameters that are gathered together, in one buffer, and whose gradients are reduced
together.

A gather is begun ahead and waited for where the parameters are needed; a reduction goes on while
backward does, and ends where the next one begins, so that there are two buffers at most."""

import weakref

from ... import cuda
from ..._deprecated import warn
from ..._torch import empty, zeros
from ...autograd import no_grad
from .._collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from .._ops import ReduceOp, _make_nccl_premul_sum
from .._subgroups import split_group


class ParamGroup:
    """What one call of `fully_shard` manages."""

    def __init__(self, params, mesh, device, policy):
        self.params, self.device, self.policy = params, device, policy
        self.group, self.ranks = mesh.get_group(-1), mesh.size(-1)
        self.copies = mesh.get_group(0) if mesh.ndim > 1 else None  # ranks with the same parts
        self.reduces = self.reduces_copies = True
        self.frees_after_forward = self.frees_after_backward = True
        self.gathers_in_backward, self.reduces_unused = True, False
        self.factor, self.sums_only = None, False  # of gradients' sums; how they are exchanged
        self.hook, self.buffers = None, 1
        self.is_whole, self._coming = not params, []
        self._near = None  # the ranks that keep the whole between them from forward to backward
        self._kept = []  # and what this one keeps

    def set_frees_after_forward(self, frees):
        """Whether the whole parameters are freed after forward; a number of ranks keeps them."""
        self.frees_after_forward = frees is not False
        several = isinstance(frees, int) and not isinstance(frees, bool)
        self._near = _near(self.group, frees) if several else None

    # ---- parameters

    @no_grad()
    def begin_gather(self, as_kept=False, in_backward=False):
        """Begins to gather the parameters, unless they are there or coming; in the dtypes of the
        parts where they are gathered `as_kept`."""
        if self.is_whole or self._coming:
            return
        kept, self._kept = self._kept, []
        if in_backward and kept:
            for own, params in kept:
                self._begin(own, params, self._near)
            return
        alike = {}
        for p in self.params:
            p.adopt()
        self._check_elements()
        for p in self.params:
            dtype = None if as_kept else self.policy.param_dtype
            alike.setdefault(dtype or p.part.dtype, []).append(p)
        for dtype, params in alike.items():
            self._begin(self._packed(params, dtype), params, self.group)

    def _begin(self, own, params, group):
        every = empty(group.size() * own.numel(), dtype=own.dtype, device=self.device)
        work = all_gather_into_tensor(every, own, group, async_op=True)
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
    def gather(self, as_kept=False, in_backward=False):
        """Returns when the modules have the whole parameters."""
        self.begin_gather(as_kept, in_backward)
        coming, self._coming = self._coming, []
        while coming:
            work, _, every, params = coming.pop(0)
            work.wait()
            table, at = every.view(self.ranks, -1), 0
            for p in params:
                rows = table.narrow(1, at, p.padded).reshape(p.rows * self.ranks, *p.row_shape)
                p.put(rows)
                at += p.padded
            if self._near is not None and not in_backward:
                share = every.view(self._near.size(), -1)[self._near.rank()]
                self._kept.append((share.clone(), params))
        self.is_whole = True

    def end_gather(self):
        """Forgets what is coming and was not asked for."""
        coming, self._coming = self._coming, []
        for work, *_ in coming:
            work.wait()

    @no_grad()
    def free(self, until_backward=False):
        """The modules have the parts again."""
        self.end_gather()
        if not until_backward:
            self._kept = []
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

    def _absent(self, p):
        """The gradient of a parameter that has none, where it takes part all the same."""
        dtype = None
        if p.partial is not None and self.reduces and self.reduces_copies:
            dtype = p.partial.dtype
        elif self.reduces_unused and self.reduces and p.part.requires_grad:
            dtype = self.policy.reduce_dtype or self.policy.param_dtype or p.part.dtype
        return None if dtype is None else zeros(p.shape, dtype=dtype, device=self.device)

    @no_grad()
    def begin_reduce(self):
        """Takes the gradients that are there, frees the parameters and begins to reduce: a list of
        what to finish."""
        found = {}
        for p in self.params:
            grad = p.taken_gradient(self.policy.reduce_dtype)
            if grad is None:
                grad = self._absent(p)
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
        whole = zeros if any(p.rows * self.ranks != p.count for p, _ in pairs) else empty
        table, at = whole(self.ranks, width, dtype=dtype, device=self.device), 0
        params = [p for p, _ in pairs]
        while pairs:
            p, grad = pairs.pop(0)
            by_rows = p.by_rows(grad).reshape(p.count, p.row)
            for rank, rows in enumerate(by_rows.split(max(p.rows, 1))):
                table[rank, at : at + rows.numel()].copy_(rows.reshape(-1))
            at += p.padded
        own = empty(width, dtype=dtype, device=self.device)
        op = self.operations()[0]
        work = reduce_scatter_tensor(own, table.view(-1), op, self.group, async_op=True)
        return _Reduction(self, work, table, own, params)

    def operations(self):
        """How gradients are reduced over parts, how over copies, and what they are divided by
        then."""
        if self.sums_only:
            whole = self.ranks * (1 if self.copies is None else self.copies.size())
            return ReduceOp.SUM, ReduceOp.SUM, self.factor or whole
        if self.factor is None:
            return ReduceOp.AVG, ReduceOp.AVG, None
        return _make_nccl_premul_sum(1 / self.factor), ReduceOp.SUM, None


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
        _, op, divisor = self.group.operations()
        if copies is not None:
            all_reduce(self.own, op, copies)
        if self.group.hook is not None:
            _call(*self.group.hook, self.own)
        if divisor is not None:
            self.own.div_(divisor)
        for p, own in zip(self.params, rows):
            p.give(own)


def _call(hook, stream, reduced):
    """A program's hook, on its stream where it has one, in order with the current one."""
    if stream is None:
        hook(reduced)
        return
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        hook(reduced)
    cuda.current_stream().wait_stream(stream)


def checked_frees(asked, ranks):
    """What `reshard_after_forward` says for so many ranks: None, a bool or a number of ranks."""
    if asked is None or isinstance(asked, bool):
        return asked
    if not isinstance(asked, int):
        raise ValueError(
            "reshard_after_forward should be a bool or an int representing the group size to "
            f"reshard to, not {asked}"
        )
    if asked < 1 or ranks % asked:
        raise ValueError(
            f"If passing reshard_after_forward as an int, it should be a factor of {ranks}, not "
            f"{asked}"
        )
    if asked == 1:
        warn(
            "reshard_after_forward=1 (int) means resharding parameters to world size 1, instead of "
            "reshard_after_forward=True (bool)"
        )
    return {1: False, ranks: True}.get(asked, asked)


_divided = weakref.WeakKeyDictionary()  # group -> number of ranks -> this rank's of that many


def _near(group, count):
    """The group of `count` ranks that follow one another in which this one is; all ranks of the
    group call it."""
    made = _divided.setdefault(group, {})
    if count not in made:
        size = group.size()
        made[count] = split_group(group, [list(range(i, i + count)) for i in range(0, size, count)])
    return made[count]
