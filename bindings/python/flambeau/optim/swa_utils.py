"""Averages of a model's weights over training: stochastic weight averaging and exponential moving
averages. Source: Izmailov et al., 2018, arXiv 1803.05407."""

import itertools
import math
from copy import deepcopy

from .._torch import int64, tensor
from ..autograd import no_grad
from ..nn import Module
from ..nn.modules.batchnorm import _BatchNorm
from ._schedule import LRScheduler, per_group

__all__ = (
    "AveragedModel SWALR get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn "
    "update_bn"
).split()


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay=0.999):
    """The exponential moving average of one tensor."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param, current_param, num_averaged):
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay=0.999):
    """The exponential moving average of lists of tensors, in place."""
    _check_decay(decay)

    @no_grad()
    def ema_update(ema_param_list, current_param_list, _):
        for ema, current in zip(ema_param_list, current_param_list, strict=True):
            if ema.is_floating_point():
                ema.lerp_(current, 1 - decay)
            else:
                ema.copy_(ema * decay + current * (1 - decay))

    return ema_update


def get_swa_avg_fn():
    """The plain average of one tensor."""

    @no_grad()
    def swa_update(averaged_param, current_param, num_averaged):
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn():
    """The plain average of lists of tensors, in place."""

    @no_grad()
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        share = 1 / (num_averaged + 1)
        for averaged, current in zip(averaged_param_list, current_param_list, strict=True):
            if averaged.is_floating_point():
                averaged.lerp_(current, float(share))
            else:
                averaged.copy_(averaged + (current - averaged) * share)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose weights are the average of those it was shown."""

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        if not self.use_buffers:
            return module.parameters()
        return itertools.chain(module.parameters(), module.buffers())

    @no_grad()
    def update_parameters(self, model):
        """Takes the model's present weights into the average."""
        ours, theirs = list(self._averaged(self.module)), []
        for mine, other in zip(ours, self._averaged(model)):
            theirs.append(other.detach().to(mine.device))
        ours = [p.detach() for p in ours[: len(theirs)]]
        if int(self.n_averaged) == 0:
            for mine, other in zip(ours, theirs):
                mine.copy_(other)
        else:
            self._average(ours, theirs)
        if not self.use_buffers:
            for mine, other in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(other.detach().to(mine.device))
        self.n_averaged += 1

    def _average(self, ours, theirs):
        if self.multi_avg_fn is not None:
            for mine, other in _alike(ours, theirs):
                self.multi_avg_fn(mine, other, self.n_averaged.to(mine[0].device))
            return
        average = self.avg_fn or get_swa_avg_fn()
        for mine, other in zip(ours, theirs):
            mine.copy_(average(mine, other, self.n_averaged.to(mine.device)))


def _alike(ours, theirs):
    """Both lists, apart by device and dtype."""
    found = {}
    for mine, other in zip(ours, theirs):
        lists = found.setdefault((mine.device, mine.dtype), ([], []))
        lists[0].append(mine)
        lists[1].append(other)
    return found.values()


@no_grad()
def update_bn(loader, model, device=None):
    """Computes the running statistics of all batch norms anew, from one pass over the loader."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta, was_training = [m.momentum for m in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    for batch in loader:
        if isinstance(batch, (list, tuple)):
            batch = batch[0]
        model(batch if device is None else batch.to(device))
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes from the present rate to `swa_lr` in `anneal_epochs`, and stays there."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """How much of the way is gone at share `t` of the epochs."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (
            self.anneal_func(max(0, min(1, s / max(1, self.anneal_epochs))))
            for s in (step - 1, step)
        )
        return [
            group["swa_lr"] * now + self._first_lr(group, before) * (1 - now)
            for group in self.optimizer.param_groups
        ]

    def _first_lr(self, group, gone):
        if gone == 1:
            return group["swa_lr"]
        return (group["lr"] - gone * group["swa_lr"]) / (1 - gone)
