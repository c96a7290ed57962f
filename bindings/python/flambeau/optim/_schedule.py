"""What all learning-rate schedules share: epochs, the groups' initial rates, state dicts.

A schedule gives the next rates from the present ones (`get_lr`, chained) or from the initial ones
(`_get_closed_form_lr`), by the library's formulas; `step` writes them into the groups. Attributes
are those of PyTorch, so that state dicts go both ways."""

import types

from .._deprecated import warn
from .._gen import api
from .._tensor import Tensor
from .optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available."
)
_DETAILS = (
    "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
    f"schedule. {_DETAILS}"
)

OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
    f"{_DETAILS}"
)


def values_of(optimizer, key):
    """One option of all groups; tensors are copied."""
    found = [group[key] for group in optimizer.param_groups]
    return [v.clone() if isinstance(v, Tensor) else v for v in found]


def rate(form, now, base, epoch, values, closed=True, initial=False):
    """The rate of an epoch by a formula of the library; tensors are read."""
    values = [float(v) for v in values]
    try:
        return api.schedule_rate(form, float(now), float(base), epoch, values, closed, initial)
    except ValueError as problem:  # the one that the classes' own values can cause
        raise ZeroDivisionError(str(problem)) from None


def set_value(group, key, value):
    """Sets an option, a tensor in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def per_group(name, optimizer, value):
    """One value per group, from one for all or a list."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [v.clone() if isinstance(v, Tensor) else v for v in value]


def check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _own_step(optimizer):
    """What a program has put in place of its class's `step`."""
    return vars(optimizer).get("step")


class LRScheduler:
    """Base of the schedules; `last_epoch` counts the steps taken, -1 before the first."""

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self._optimizer_step = _own_step(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                first = group["lr"]
                group.setdefault(
                    "initial_lr", first.clone() if isinstance(first, Tensor) else first
                )
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer."""
        left_out = "optimizer", "_optimizer_step"
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates last set, one per group."""
        return self._last_lr

    def get_lr(self):
        """The next learning rates, from the present ones."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Moves on by one epoch (or to `epoch`) and sets the learning rates."""
        if self._step_count == 1:
            if _own_step(self.optimizer) is not self._optimizer_step:
                warn(OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(TOO_EARLY)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        if epoch is None:
            self.last_epoch += 1
            compute = self.get_lr
        else:
            self.last_epoch = epoch
            compute = getattr(self, "_get_closed_form_lr", self.get_lr)
        self._set(compute)

    def _set(self, compute):
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`."
            )

    def _present(self):
        return values_of(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The old name of the base class."""


def saved_function(function):
    """What a state dict keeps of a function: the attributes of a callable object, nothing of a
    plain function."""
    if function is None or isinstance(function, types.FunctionType):
        return None
    return function.__dict__.copy()
