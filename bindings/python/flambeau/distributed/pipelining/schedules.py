"""In which order a stage computes the parts of a batch and moves them on. GPipe (Huang et al.,
2018, arXiv 1811.06965): all forwards, then all backwards. 1F1B (Narayanan et al., 2019, PipeDream):
each backward as soon as it can be, so that a stage keeps as many parts as there are stages from it
on, and no more. Transfers that cross between two stages begin as one, in whichever order both name
them; others begin when those before have ended, so that one part at a time is held to be sent."""

import abc

from ... import _refused
from ..._torch import is_grad_enabled
from .._pairs import batch_isend_irecv
from .microbatch import (
    detached,
    given_parts,
    merge_chunks,
    parts_of,
    split_args_kwargs_into_chunks,
)
from .stage import Told

_OTHERS = (
    "PipelineActivationLiveness PipelineScheduleMulti ScheduleDualPipeV ScheduleInterleaved1F1B "
    "ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble "
    "analyze_pipeline_activation_liveness"
)
_WHY = "each rank has one stage; ScheduleGPipe and Schedule1F1B run those"
__all__ = [
    *"PipelineScheduleSingle Schedule1F1B ScheduleGPipe get_schedule_class".split(),
    *_OTHERS.split(),
]
globals().update(_refused.names("torch.distributed.pipelining", _OTHERS, _WHY))


class PipelineScheduleSingle(abc.ABC):
    """The batch of a step in `n_microbatches` equal parts. With `loss_fn(output, target)` backward
    follows, whose gradients are the mean over the parts (`scale_grads`) or their sum."""

    def __init__(self, stage, n_microbatches, loss_fn=None, args_chunk_spec=None,
                 kwargs_chunk_spec=None, output_merge_spec=None, scale_grads=True):  # fmt: skip
        given = args_chunk_spec, kwargs_chunk_spec, output_merge_spec
        if any(spec is not None for spec in given):
            raise NotImplementedError(
                f"{type(self).__name__}: chunk and merge specs are unsupported; tensors are cut "
                "and joined along their first dimension"
            )
        self._check(stage, n_microbatches)
        self._stage, self._n_microbatches, self._loss_fn = stage, n_microbatches, loss_fn
        self.scale_grads = scale_grads
        self._told = {training: Told() for training in (False, True)}

    def step(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None,
             arg_mbs=None, kwarg_mbs=None, target_mbs=None, finalize_gradients=True,
             **kwargs):  # fmt: skip
        """One batch, whose `args` the first stage has and whose `target` the last. The last returns
        the output, and puts the parts' losses into the list `losses`; `loss_kwargs` are arguments
        of `loss_fn`. A program that has cut the batch gives `arg_mbs`, `kwarg_mbs` and `target_mbs`
        instead, a list with an entry for each part."""
        training = self._loss_fn is not None
        if training and not is_grad_enabled():
            raise RuntimeError(
                "step() needs gradients for its backward, and they are off here, as under "
                "torch.no_grad(). Please call eval() instead."
            )
        if not finalize_gradients:
            _refuse_sharded(self._stage.submod)
        batch = self._parts(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs)
        return self._run(batch, losses, return_outputs, loss_kwargs, training)

    def eval(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None,
             arg_mbs=None, kwarg_mbs=None, target_mbs=None, finalize_gradients=True,
             **kwargs):  # fmt: skip
        """The same without gradients, of which there are none to finalize."""
        batch = self._parts(args, kwargs, target, arg_mbs, kwarg_mbs, target_mbs)
        return self._run(batch, losses, return_outputs, loss_kwargs, False)

    def _parts(self, args, kwargs, target, *given):
        """Lists of the parts' positional and named arguments and targets."""
        n = self._n_microbatches
        if all(parts is None for parts in given):
            batch = *split_args_kwargs_into_chunks(args, kwargs, n), parts_of(target, n)
        elif args or kwargs or target is not None:
            named = ["args"] * bool(args) + sorted(kwargs) + ["target"] * (target is not None)
            raise ValueError(
                f"arg_mbs, kwarg_mbs and target_mbs are the whole batch; {', '.join(named)} cannot "
                "be given beside them: put the parts of each into those lists"
            )
        else:
            batch = given_parts(n, *given)
        wanted = self._stage.is_last and self._loss_fn is not None
        if wanted and any(part is None for part in batch[2]):
            raise RuntimeError("target is None: the last stage needs it for the loss")
        return batch

    def _run(self, batch, losses, return_outputs, loss_kwargs, training):
        n, last = self._n_microbatches, self._stage.is_last
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        self._args, self._kwargs, self._targets = batch
        self._losses, self._outputs, self._training = [], [], training
        self._returns, self._loss_kwargs = return_outputs, loss_kwargs or {}
        try:
            if training:
                self._order(n)
                if self.scale_grads:
                    self._stage.scale_grads(n)
            else:
                _done(self._forwards(n))
            if last and losses is not None:
                losses[:] = [loss.detach() for loss in self._losses]
            return merge_chunks(self._outputs) if last and return_outputs else None
        finally:
            self._stage.clear()
            self._args = self._kwargs = self._targets = self._losses = self._outputs = None
            self._loss_kwargs = None

    def _check(self, stage, n):
        """Refuses a number of parts that this order cannot run."""
        if n < 1:
            raise ValueError(f"n_microbatches must be above 0, got {n}")

    @abc.abstractmethod
    def _order(self, n):
        """Runs all parts forward and backward."""

    # ---- what the orders are made of

    def _receives(self, index):
        return self._stage.forward_receives(index, self._told[self._training])

    def _sends(self, index):
        return self._stage.forward_sends(index, self._training, self._told[self._training])

    def _forward(self, index):
        given = self._args[index], self._kwargs[index], self._training
        output = self._stage.forward(index, *given)
        if not self._stage.is_last:
            return
        if self._returns:
            self._outputs.append(detached(output))
        if self._loss_fn is not None:
            self._losses.append(self._loss_fn(output, self._targets[index], **self._loss_kwargs))

    def _forwards(self, n):
        """The first `n` parts; the works of the last one's transfers."""
        sent = []
        for i in range(n):
            _done(_begun(self._receives(i)))
            self._forward(i)
            sent = _after(sent, self._sends(i))
        return sent

    def _backward(self, index):
        loss = self._losses[index] if self._stage.is_last else None
        self._stage.backward(index, loss)
        if loss is not None:
            self._losses[index] = loss.detach()
        return self._stage.backward_sends(index)


def _refuse_sharded(module):
    from ..fsdp._module import FSDPModule  # seldom needed, and most of the import's time

    if isinstance(module, FSDPModule):
        raise NotImplementedError(
            "step: finalize_gradients=False is unsupported for a stage under fully_shard, whose "
            "gradients are reduced after each part"
        )


def _begun(transfers):
    return batch_isend_irecv(transfers) if transfers else []


def _done(works):
    for work in works:
        work.wait()


def _after(works, transfers):
    """Works of the transfers, which begin when those before have ended and let go of their part."""
    _done(works)
    works.clear()
    return _begun(transfers)


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards."""

    def _order(self, n):
        sent = self._forwards(n)
        for i in range(n):
            _done(_begun(self._stage.backward_receives(i)))
            sent = _after(sent, self._backward(i))
        _done(sent)


class Schedule1F1B(PipelineScheduleSingle):
    """After as many forwards as there are stages from this one on, one backward and one forward by
    turns. There are as many parts as stages at least."""

    def _check(self, stage, n):
        super()._check(stage, n)
        if n < stage.num_stages:
            raise ValueError(
                f"Number of microbatches ({n}) must be greater than or equal to the number of "
                f"stages ({stage.num_stages}); ScheduleGPipe runs fewer"
            )

    def _order(self, n):
        stage = self._stage
        ahead = stage.num_stages - stage.stage_index
        sent = self._forwards(ahead - 1)
        _done(_begun(self._receives(ahead - 1)))
        self._forward(ahead - 1)
        _done(sent)
        sent.clear()
        for i in range(ahead, n):
            done = i - ahead
            _done(_begun(self._sends(i - 1) + stage.backward_receives(done)))
            _done(_begun(self._backward(done) + self._receives(i)))
            self._forward(i)
        first = n - ahead
        _done(_begun(self._sends(n - 1) + stage.backward_receives(first)))
        sent = _begun(self._backward(first))
        for i in range(first + 1, n):
            _done(_begun(stage.backward_receives(i)))
            sent = _after(sent, self._backward(i))
        _done(sent)


def get_schedule_class(schedule_name):
    """The class of a name such as "1F1B", in any case."""
    known = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}
    lower = schedule_name.lower()
    if lower in known:
        return known[lower]
    wanted = {f"schedule{lower}", lower}
    for name in _OTHERS.split():
        if name.lower() in wanted:
            return globals()[name]
    raise ValueError(f"Unknown schedule name: {schedule_name}. The valid options are 1F1B, GPipe")
