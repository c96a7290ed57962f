"""In which order a stage computes the parts of a batch and moves them on. GPipe (Huang et al.,
2018, arXiv 1811.06965): all forwards, then all backwards. 1F1B (Narayanan et al., 2019, PipeDream):
each backward as soon as it can be, so that a stage keeps as many parts as stages follow it, and no
more. Transfers that cross between two stages begin as one, in whichever order both name them."""

import abc

from ... import _refused
from .._pairs import batch_isend_irecv
from .microbatch import merge_chunks, parts_of, split_args_kwargs_into_chunks

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
        if n_microbatches < 1:
            raise ValueError(f"n_microbatches must be above 0, got {n_microbatches}")
        self._stage, self._n_microbatches, self._loss_fn = stage, n_microbatches, loss_fn
        self.scale_grads = scale_grads

    def step(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """One batch, whose `args` the first stage has and whose `target` the last. The last returns
        the output, and puts the parts' losses into the list `losses`."""
        return self._run(args, kwargs, target, losses, return_outputs, self._loss_fn is not None)

    def eval(self, *args, target=None, losses=None, return_outputs=True, **kwargs):
        """The same without gradients."""
        return self._run(args, kwargs, target, losses, return_outputs, False)

    def _run(self, args, kwargs, target, losses, return_outputs, training):
        n, last = self._n_microbatches, self._stage.is_last
        if last and self._loss_fn is not None and target is None:
            raise RuntimeError("target is None: the last stage needs it for the loss")
        self._args, self._kwargs = split_args_kwargs_into_chunks(args, kwargs, n)
        self._targets = parts_of(target, n)
        self._losses, self._outputs, self._training = [], [], training
        try:
            self._order(n)
            if training and self.scale_grads:
                self._stage.scale_grads(n)
            if last and losses is not None:
                losses[:] = [loss.detach() for loss in self._losses]
            return merge_chunks(self._outputs) if last and return_outputs else None
        finally:
            self._stage.clear()
            self._args = self._kwargs = self._targets = self._losses = self._outputs = None

    @abc.abstractmethod
    def _order(self, n):
        """Runs all parts."""

    # ---- what the orders are made of

    def _receives(self, index):
        return self._stage.forward_receives(index, self._training)

    def _sends(self, index):
        return self._stage.forward_sends(index, self._training)

    def _forward(self, index):
        given = self._args[index], self._kwargs[index], self._training
        output = self._stage.forward(index, *given)
        if self._stage.is_last:
            kept = output if not self._training else _detached(output)
            self._outputs.append(kept)
            if self._loss_fn is not None:
                self._losses.append(self._loss_fn(output, self._targets[index]))

    def _backward(self, index):
        self._stage.backward(index, self._losses[index] if self._stage.is_last else None)
        return self._stage.backward_sends(index)


def _detached(output):
    if isinstance(output, (tuple, list)):
        return tuple(map(_detached, output))
    return output.detach()


def _begun(transfers):
    return batch_isend_irecv(transfers) if transfers else []


def _done(works):
    for work in works:
        work.wait()


class ScheduleGPipe(PipelineScheduleSingle):
    """All forwards, then all backwards."""

    def _order(self, n):
        sent = []
        for i in range(n):
            _done(_begun(self._receives(i)))
            self._forward(i)
            sent += _begun(self._sends(i))
        for i in range(n) if self._training else ():
            _done(_begun(self._stage.backward_receives(i)))
            sent += _begun(self._backward(i))
        _done(sent)


class Schedule1F1B(PipelineScheduleSingle):
    """After as many forwards as stages follow, one backward and one forward by turns."""

    def _order(self, n):
        stage, sent = self._stage, []
        ahead = min(n, stage.num_stages - stage.stage_index) if self._training else n
        for i in range(ahead):
            _done(_begun(self._receives(i)))
            self._forward(i)
            if i < ahead - 1 or not self._training:
                sent += _begun(self._sends(i))
        if self._training:
            for i in range(ahead, n):
                done = i - ahead
                _done(_begun(self._sends(i - 1) + stage.backward_receives(done)))
                back = self._backward(done)
                _done(_begun(back + self._receives(i)))
                self._forward(i)
            first = n - ahead
            _done(_begun(self._sends(n - 1) + stage.backward_receives(first)))
            sent += _begun(self._backward(first))
            for i in range(first + 1, n):
                _done(_begun(stage.backward_receives(i)))
                sent += _begun(self._backward(i))
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
