"""What every schedule does: cuts a batch into parts, has its order run them through the stages of
this rank, and gives back what the last stage made. Orders say when which part is computed, and
when it moves on."""

import abc

from ..._torch import is_grad_enabled
from .._pairs import batch_isend_irecv
from .microbatch import (
    detached,
    given_parts,
    merge_chunks,
    parts_of,
    split_args_kwargs_into_chunks,
)
from .stage import Told, divide_grads


class Schedule(abc.ABC):
    """The batch of a step in `n_microbatches` equal parts, for the `stages` of this rank. With
    `loss_fn(output, target)` backward follows, whose gradients are the mean over the parts
    (`scale_grads`) or their sum. Specs say how batches are cut and outputs joined."""

    def __init__(self, stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
                 output_merge_spec, scale_grads):  # fmt: skip
        self._stages, self._n_microbatches, self._loss_fn = stages, n_microbatches, loss_fn
        self._cuts, self._merge = (args_chunk_spec, kwargs_chunk_spec), output_merge_spec
        self.scale_grads = scale_grads
        self._check(n_microbatches)
        self._last = next((stage for stage in stages if stage.is_last), None)
        self._told = {training: {s: Told() for s in stages} for training in (False, True)}

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
            for stage in self._stages:
                _refuse_sharded(stage.submod)
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
        for stage in self._stages:
            stage.check_goes_on()
        n = self._n_microbatches
        if all(parts is None for parts in given):
            cut = split_args_kwargs_into_chunks(args, kwargs, n, *self._cuts)
            batch = *cut, parts_of(target, n)
        elif args or kwargs or target is not None:
            named = ["args"] * bool(args) + sorted(kwargs) + ["target"] * (target is not None)
            raise ValueError(
                f"arg_mbs, kwarg_mbs and target_mbs are the whole batch; {', '.join(named)} cannot "
                "be given beside them: put the parts of each into those lists"
            )
        else:
            batch = given_parts(n, *given)
        wanted = self._last is not None and self._loss_fn is not None
        if wanted and any(part is None for part in batch[2]):
            raise RuntimeError("target is None: the last stage needs it for the loss")
        return batch

    def _run(self, batch, losses, return_outputs, loss_kwargs, training):
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        self._args, self._kwargs, self._targets = batch
        self._losses, self._outputs, self._training = [], [], training
        self._returns, self._loss_kwargs = return_outputs, loss_kwargs or {}
        self._backwards = dict.fromkeys(self._stages, self._n_microbatches)  # to come
        try:
            self._pass(self._order if training else self._forward_only)
            if training and self.scale_grads:
                divide_grads(self._stages, self._n_microbatches)
            if self._last is None:
                return None
            if losses is not None:
                losses[:] = [loss.detach() for loss in self._losses]
            return merge_chunks(self._outputs, self._merge) if return_outputs else None
        finally:
            for stage in self._stages:
                stage.clear()
            self._args = self._kwargs = self._targets = self._losses = self._outputs = None
            self._loss_kwargs = None

    def _pass(self, order):
        """What is computed and moved; after an error no further step begins."""
        self._place = "its beginning"
        try:
            order(self._n_microbatches)
        except BaseException:
            for stage in self._stages:
                stage.failed_at(self._place)
            raise

    def _check(self, n):
        """Refuses a number of parts that this order cannot run."""
        if n < 1:
            raise ValueError(f"n_microbatches must be above 0, got {n}")

    @abc.abstractmethod
    def _order(self, n):
        """Runs all parts forward and backward."""

    @abc.abstractmethod
    def _forward_only(self, n):
        """Runs all parts forward."""

    # ---- what the orders are made of

    def _at(self, stage, index):
        self._place = f"stage {stage.stage_index}, part {index}"

    def _receives(self, stage, index):
        self._at(stage, index)
        return stage.forward_receives(index, self._told[self._training][stage])

    def _sends(self, stage, index):
        self._at(stage, index)
        return stage.forward_sends(index, self._training, self._told[self._training][stage])

    def _backward_receives(self, stage, index):
        self._at(stage, index)
        return stage.backward_receives(index)

    def _forward(self, stage, index):
        self._at(stage, index)
        given = self._args[index], self._kwargs[index], self._training
        output = stage.forward(index, *given)
        if not stage.is_last:
            return
        if self._returns:
            self._outputs.append(detached(output))
        if self._loss_fn is not None:
            self._losses.append(self._loss_fn(output, self._targets[index], **self._loss_kwargs))

    def _backward(self, stage, index):
        self._at(stage, index)
        loss = self._losses[index] if stage.is_last else None
        self._backwards[stage] -= 1
        stage.backward(index, loss, self._backwards[stage] == 0)
        if loss is not None:
            self._losses[index] = loss.detach()


def _refuse_sharded(module):
    from ..fsdp._module import FSDPModule  # seldom needed, and most of the import's time

    if isinstance(module, FSDPModule):
        raise NotImplementedError(
            "step: finalize_gradients=False is unsupported for a stage under fully_shard, whose "
            "gradients are reduced after each part"
        )


def begun(transfers):
    return batch_isend_irecv(transfers) if transfers else []


def done(works):
    for work in works:
        work.wait()


def going_on(works):
    """Those that have not ended; what another has failed with is raised."""
    left = []
    for work in works:
        if work.is_completed():
            work.wait()
        else:
            left.append(work)
    return left


def after(works, transfers):
    """Works of the transfers, which begin when those before have ended and let go of their part."""
    done(works)
    works.clear()
    return begun(transfers)
