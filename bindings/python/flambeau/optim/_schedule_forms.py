"""Schedules that are one formula of the epoch."""

import math
from collections import Counter

from .._signed import kind, parameters
from ._schedule import LRScheduler, rate, saved_function


class _PerGroup(LRScheduler):
    """Holds one function per group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        if several and len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = list(lr_lambda) if several else [lr_lambda] * groups
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self):
        pass

    def state_dict(self):
        state = super().state_dict()
        state["lr_lambdas"] = [saved_function(f) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        functions = self.lr_lambdas
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for f, saved in zip(functions, state_dict["lr_lambdas"]):
            if saved is not None:
                f.__dict__.update(saved)


class LambdaLR(_PerGroup):
    """initial lr * lr_lambda(epoch)."""

    def get_lr(self):
        self._warn_outside_step()
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_PerGroup):
    """previous lr * lr_lambda(epoch)."""

    def _check_functions(self):
        for f in self.lr_lambdas:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._present()
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas)]


class _Form(LRScheduler):
    """A formula of the library, with the attributes that are its values."""

    _form, _takes = None, ()

    def get_lr(self):
        self._warn_outside_step()
        return self._rates(False)

    def _get_closed_form_lr(self):
        return self._rates(True)

    def _rates(self, closed):
        at, values = self.last_epoch, self._values()
        groups, bases = self.optimizer.param_groups, self.base_lrs
        if not closed:  # groups that came later go on from their rate
            bases = [*bases, *[math.nan] * (len(groups) - len(bases))]
        return [
            rate(self._form, group["lr"], base, at, values, closed, self._is_initial)
            for group, base in zip(groups, bases)
        ]

    def _values(self):
        return [getattr(self, name) for name in self._takes]


def _form(form):
    """Makes a schedule of a function with the signature of its constructor: what stands between the
    optimizer and `last_epoch` are the formula's values."""

    def make(signature):
        takes = parameters(signature)[1:-1]
        return kind(signature.__name__, _Form, signature, _begin, _form=form, _takes=takes)

    return make


def _begin(above, self, given):
    optimizer, last_epoch = given.pop("optimizer"), given.pop("last_epoch")
    vars(self).update(given)
    above(optimizer, last_epoch)


@_form("step")
def StepLR(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
    """Multiplies by `gamma` every `step_size` epochs."""


class MultiStepLR(_Form):
    """Multiplies by `gamma` at each milestone."""

    _form = "multi_step"

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _values(self):
        return self.gamma, *self.milestones.elements()


@_form("constant")
def ConstantLR(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
    """Scaled by `factor` until epoch `total_iters`."""
    if factor > 1.0 or factor < 0:
        raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")


@_form("linear")
def LinearLR(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
    """From `start_factor` to `end_factor` of the initial rate over `total_iters` epochs."""
    if start_factor > 1.0 or start_factor <= 0:
        raise ValueError(
            "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."
        )
    if end_factor > 1.0 or end_factor < 0:
        raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")


@_form("exponential")
def ExponentialLR(self, optimizer, gamma, last_epoch=-1):
    """Multiplies by `gamma` every epoch."""


@_form("polynomial")
def PolynomialLR(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
    """Falls to 0 in `total_iters` epochs by a power of what is left of them."""


class CosineAnnealingLR(_Form):
    """Half a cosine from the initial rate to `eta_min` in `T_max` epochs. Source: Loshchilov and
    Hutter, 2016, arXiv 1608.03983."""

    _form, _takes = "cosine", ("T_max", "eta_min")

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        rates = self._rates(self._step_count == 1 and self.last_epoch > 0 and not self._is_initial)
        if any(map(math.isnan, rates[len(self.base_lrs) :])):
            raise ValueError("a group that was added later has no initial lr to go up to again")
        return rates


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine, begun anew after `T_0` epochs and then after `T_mult` times as many each time.
    Source: Loshchilov and Hutter, 2016, arXiv 1608.03983."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        values = self.T_i, self.eta_min
        return [rate("cosine", 0, base, self.T_cur, values) for base in self.base_lrs]

    def step(self, epoch=None):
        """Moves on by one epoch, or to `epoch`, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)

    def _place(self, epoch):
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
