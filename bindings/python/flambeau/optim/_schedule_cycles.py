"""Schedules that go up and down, the momentum against them: CyclicLR and OneCycleLR."""

import math
from functools import partial

from ._schedule import LRScheduler, check_optimizer, per_group, rate, saved_function, set_value


class _WithMomentum(LRScheduler):
    """Moves `momentum`, or the first of `betas`, of every group."""

    def _begin_momentum(self, optimizer, base_momentum, max_momentum, fresh):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        base = per_group("base_momentum", optimizer, base_momentum)
        most = per_group("max_momentum", optimizer, max_momentum)
        if fresh:
            for high, low, group in zip(most, base, optimizer.param_groups):
                self._set_momentum(group, high)
                group["max_momentum"], group["base_momentum"] = high, low
        return base, most

    def _set_momentum(self, group, momentum):
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Between `base_lr` and `max_lr`, up in `step_size_up` steps and down in `step_size_down`.
    Source: Smith, 2015, arXiv 1506.01186."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None,
                 mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9,
                 last_epoch=-1):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups):
                set_value(group, "lr", lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self.scale_mode = mode, gamma, scale_mode
        self._scale_fn_custom = scale_fn
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                optimizer, base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self):
        if self._scale_fn_custom is not None:
            return
        self._scale_fn_ref = {
            "triangular": _whole,
            "triangular2": _halved,
            "exp_range": partial(pow, self.gamma),
        }[self.mode]
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x):
        """How high the peak is, of the cycle or of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self._scale_fn_ref(x)

    def get_lr(self):
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            limits = zip(self.optimizer.param_groups, self.max_momentums, self.base_momentums)
            for group, high, low in limits:
                self._set_momentum(group, self._between(high, low, scale))
        return [self._between(*ends, scale) for ends in zip(self.base_lrs, self.max_lrs)]

    def _between(self, start, end, scale):
        values = self.total_size, self.step_ratio, end, scale
        return rate("cyclic", 0, start, self.last_epoch, values)

    def state_dict(self):
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        state["_scale_fn_custom"] = saved_function(state["_scale_fn_custom"])
        return state

    def load_state_dict(self, state_dict):
        saved = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if saved is not None:
            self._scale_fn_custom.__dict__.update(saved)
        self._init_scale_fn()


def _whole(x):
    return 1.0


def _halved(x):
    return 1 / 2.0 ** (x - 1)


class OneCycleLR(_WithMomentum):
    """One rise to `max_lr`, then a fall far below where it began. Source: Smith and Topin, 2017,
    arXiv 1708.07120."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
                 max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1):  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        most = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, most):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        at = self.last_epoch
        if at > self.total_steps:
            raise ValueError(
                f"Tried to step {at} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start, phase = 0.0, None
        for phase in self._schedule_phases:
            if at <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        rates, when = [], (start, phase["end_step"])
        form = "anneal_cosine" if self._anneal_func_type == "cos" else "anneal_linear"
        for group in self.optimizer.param_groups:
            values = group[phase["end_lr"]], *when
            rates.append(rate(form, 0, group[phase["start_lr"]], at, values))
            if self.cycle_momentum:
                values = group[phase["end_momentum"]], *when
                momentum = rate(form, 0, group[phase["start_momentum"]], at, values)
                self._set_momentum(group, momentum)
        return rates


def _total_steps(total_steps, epochs, steps_per_epoch):
    def positive(name, value):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
        return value

    if total_steps is not None:
        return positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return positive("epochs", epochs) * positive("steps_per_epoch", steps_per_epoch)


def _phases(pct_start, total, three_phase):
    names = "end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"

    def phase(*values):
        return dict(zip(names, values))

    high, low = "max_momentum", "base_momentum"
    rise = phase(float(pct_start * total) - 1, "initial_lr", "max_lr", high, low)
    if not three_phase:
        return [rise, phase(total - 1, "max_lr", "min_lr", low, high)]
    return [
        rise,
        phase(float(2 * pct_start * total) - 2, "max_lr", "initial_lr", low, high),
        phase(total - 1, "initial_lr", "min_lr", high, high),
    ]
