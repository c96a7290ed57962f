"""Orders for several stages on each rank. Interleaved 1F1B (Narayanan et al., 2021, arXiv
2104.04473): backwards as soon as they can be, earlier parts first. Looped BFS (Lamy-Poirier, 2022,
arXiv 2211.05953): all parts through a stage, then through the next.

Each rank knows the order of all, and from them the rounds in which they compute side by side. What
a round has made moves at its end, in one order on all ranks, so that no two of them wait for each
other; who is to have it begins to receive then, and waits when it computes with it."""

import abc

from ._schedule import Schedule, begun, done, going_on

FORWARD, BACKWARD = "F", "B"


class PipelineScheduleMulti(Schedule):
    """An order for as many stages on each rank, stage i on rank i modulo their number."""

    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None,
                 kwargs_chunk_spec=None, output_merge_spec=None, use_full_backward=None,
                 scale_grads=True, backward_requires_autograd=True):  # fmt: skip
        if not isinstance(stages, (list, tuple)):
            kind = type(stages).__name__
            raise TypeError(f"{type(self).__name__}: stages must be a list of stages, got a {kind}")
        if not stages:
            raise ValueError(f"{type(self).__name__}: stages is empty; give this rank's stages")
        if not backward_requires_autograd:
            raise NotImplementedError(
                f"{type(self).__name__}: backward_requires_autograd=False is unsupported: autograd "
                "runs the backward"
            )
        self._size = stages[0].group_size
        indices = sorted(stage.stage_index for stage in stages)
        all_here = list(range(stages[0].group_rank, stages[0].num_stages, self._size))
        if indices != all_here:
            raise ValueError(
                f"{type(self).__name__}: rank {stages[0].group_rank} of {self._size} has the "
                f"stages {all_here} of {stages[0].num_stages}, but got {indices}"
            )
        self._mine = {stage.stage_index: stage for stage in stages}
        super().__init__(list(stages), n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                         output_merge_spec, scale_grads)  # fmt: skip
        orders = [list(self._order_of(rank)) for rank in range(self._size)]
        forwards = [[a for a in order if a[0] == FORWARD] for order in orders]
        self._rounds = {False: rounds(forwards), True: rounds(orders)}

    @abc.abstractmethod
    def _order_of(self, rank):
        """What a rank computes, as (FORWARD or BACKWARD, stage, part)."""

    def _check(self, n):
        super()._check(n)
        if self._stages[0].num_stages % self._size:
            raise ValueError(
                f"num_stages {self._stages[0].num_stages} must be evenly divisible by the "
                f"{self._size} ranks of the group"
            )

    def _order(self, n):
        coming, sent = {}, []
        for actions in self._rounds[self._training]:
            for action in actions:
                if action[1] in self._mine:
                    self._at(self._mine[action[1]], action[2])
                    done(coming.pop(action, ()))
                    self._compute(*action)
            sent = going_on(sent)
            for action in actions:
                self._move(action, coming, sent)
        done(sent)

    _forward_only = _order

    def _compute(self, kind, index, part):
        (self._forward if kind == FORWARD else self._backward)(self._mine[index], part)

    def _move(self, action, coming, sent):
        """What an action has made goes to the stage that needs it, as far as this rank has one of
        the two."""
        kind, index, part = action
        forward = kind == FORWARD
        ahead = index + 1 if forward else index - 1
        maker, taker = self._mine.get(index), self._mine.get(ahead)
        if maker and taker:  # the only rank
            taker.take(forward, part, maker.made(forward, part, self._training))
        elif maker:
            sent += begun(self._sends(maker, part) if forward else maker.backward_sends(part))
        elif taker:
            receives = (self._receives if forward else self._backward_receives)(taker, part)
            coming[kind, ahead, part] = begun(receives)


def rounds(orders):
    """The actions of all ranks, by the rounds in which each that can computes one."""
    last = max(index for order in orders for _, index, _ in order)
    at, made, found = [0] * len(orders), set(), []
    while any(i < len(order) for i, order in zip(at, orders)):
        now = []
        for rank, order in enumerate(orders):
            if at[rank] < len(order) and _needs(*order[at[rank]], last) <= made:
                now.append(order[at[rank]])
                at[rank] += 1
        if not now:
            waiting = [order[i] for i, order in zip(at, orders) if i < len(order)]
            raise RuntimeError(f"the orders of the ranks wait for each other at {waiting}")
        made.update(now)
        found.append(now)
    return found


def _needs(kind, index, part, last):
    if kind == FORWARD:
        return {(FORWARD, index - 1, part)} if index else set()
    return {(FORWARD, index, part)} | ({(BACKWARD, index + 1, part)} if index < last else set())


def _check_sends(most):
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
        raise ValueError(f"max_outstanding_sends must be a non-negative integer, got {most!r}")


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """After the first forwards, one forward and one backward by turns; parts go through the stages
    in rounds of about as many as there are ranks, and all rounds are alike. The last five options
    count for nothing: receives begin as soon as there is something to receive, stages under
    `fully_shard` gather and reduce by themselves, and what has been sent is let go of."""

    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None,
                 kwargs_chunk_spec=None, output_merge_spec=None, scale_grads=True,
                 backward_requires_autograd=True, defer_pp_recv=False, max_active_stages=3,
                 unshard_lookahead="full", *, defer_reduce_grad_wait=False,
                 max_outstanding_sends=None):  # fmt: skip
        _check_sends(max_outstanding_sends)
        super().__init__(stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                         output_merge_spec, scale_grads=scale_grads,
                         backward_requires_autograd=backward_requires_autograd)  # fmt: skip

    def _check(self, n):
        super()._check(n)
        count = max(1, n // self._size)
        if n % count:
            raise ValueError(
                "Interleaved 1F1B requires the number of microbatches to be a multiple of the "
                f"number of rounds ({count}), but got {n}."
            )
        self._each = n // count

    def _order_of(self, rank):
        local, n = len(self._stages), self._n_microbatches
        stages = range(rank, local * self._size, self._size)
        forwards = _in_turns(FORWARD, stages, n, self._each)
        backwards = _in_turns(BACKWARD, stages[::-1], n, self._each)
        ahead = min((local - 1) * self._each + 2 * (self._size - 1 - rank), local * n)
        order = forwards[:ahead]
        for forward, backward in zip(forwards[ahead:], backwards):
            order += [forward, backward]
        return order + backwards[len(forwards) - ahead :]


def _in_turns(kind, stages, n, each):
    """All parts through these stages, so many through each by turns."""
    groups = (range(first, first + each) for first in range(0, n, each))
    return [(kind, index, part) for group in groups for index in stages for part in group]


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All parts through one stage after another, and back in the opposite order. The last five
    options count for nothing, as those of ScheduleInterleaved1F1B."""

    def __init__(self, stages, n_microbatches, loss_fn=None, output_merge_spec=None,
                 scale_grads=True, backward_requires_autograd=True, defer_pp_recv=False,
                 max_active_stages=3, unshard_lookahead="full", *, defer_reduce_grad_wait=False,
                 max_outstanding_sends=None):  # fmt: skip
        _check_sends(max_outstanding_sends)
        super().__init__(stages, n_microbatches, loss_fn, None, None, output_merge_spec,
                         scale_grads=scale_grads,
                         backward_requires_autograd=backward_requires_autograd)  # fmt: skip

    def _order_of(self, rank):
        n, stages = self._n_microbatches, range(rank, self._stages[0].num_stages, self._size)
        order = [(FORWARD, index, part) for index in stages for part in range(n)]
        return order + [(BACKWARD, i, part) for i in stages[::-1] for part in reversed(range(n))]
