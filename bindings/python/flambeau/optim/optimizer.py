"""Optimizer: parameter groups, state, state dicts and hooks; subclasses say how one group steps.

`param_groups` and `state` are plain dictionaries that programs read and change, as in PyTorch; a
step always goes by what they hold at that moment."""

import functools
from collections import defaultdict
from copy import deepcopy
from itertools import chain

from .._call import _NULL, _fast
from .._tensor import Tensor
from ..autograd import enable_grad, no_grad

required = object()


class _Hook:
    """What registering a hook returns."""

    def __init__(self, hooks, hook):
        self._hooks = hooks
        hooks[id(self)] = hook

    def remove(self):
        self._hooks.pop(id(self), None)


class Optimizer:
    """Base class; `params` is an iterable of parameters or of groups (dictionaries with
    `params`)."""

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but got "
                f"{params.type()}"
            )
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        self._before, self._after, self._step_count = {}, {}, 0
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _counted(cls.step)
        if {"step", "_update"} & set(cls.__dict__):
            cls._step_supports_amp_scaling = cls.__dict__.get("_step_supports_amp_scaling", False)

    def add_param_group(self, param_group):
        """Adds parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors "
                "in sets will change between runs. Please use a list instead."
            )
        params = list(params)
        if params and isinstance(params[0], tuple):  # named parameters
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}"
                )
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        param_group["params"] = params
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, value)
        if len(set(map(id, params))) != len(params):
            raise ValueError("some parameters appear more than once in a parameter group")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Forgets all gradients, or fills them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach().zero_()

    @no_grad()
    def step(self, closure=None):
        """One step by the gradients that are there; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for params, grads in _alike(group["params"]):
                self._update(group, params, grads)
        return loss

    def _update(self, group, params, grads):
        """Changes `params` in place; all have one dtype and device."""
        raise NotImplementedError

    # ---- hooks

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before every step."""
        return _Hook(self._before, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after every step."""
        return _Hook(self._after, hook)

    # ---- state

    def state_dict(self):
        """Groups and state with parameters numbered, as PyTorch writes them."""
        numbers = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append(
                {
                    **{k: v for k, v in group.items() if k != "params"},
                    "params": [numbers[id(p)] for p in group["params"]],
                }
            )
        state = {numbers[id(p)] if isinstance(p, Tensor) else p: v for p, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    @no_grad()
    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` of the same kind of optimizer gave."""
        groups = deepcopy(state_dict["param_groups"])
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(self.param_groups, groups)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        ours = chain.from_iterable(g["params"] for g in self.param_groups)
        by_number = dict(zip(chain.from_iterable(g["params"] for g in groups), ours))
        self.state = defaultdict(dict)
        for number, value in state_dict["state"].items():
            p = by_number.get(number)
            self.state[number if p is None else p] = (
                value if p is None else {k: _fitted(k, v, p) for k, v in value.items()}
            )
        for old, new in zip(self.param_groups, groups):
            new["params"] = old["params"]
        self.param_groups = groups

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._before, self._after, self._step_count = {}, {}, 0

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"


def _fitted(key, value, p):
    """State as loaded, on the parameter's device and in its dtype; the step count stays as it
    is."""
    if not isinstance(value, Tensor):
        return deepcopy(value)
    if key == "step":
        return value.detach().clone()
    return value.detach().to(p.device, p.dtype if p.is_floating_point() else None, copy=True)


def _counted(step):
    """Counts steps, for the schedulers' order check, and runs the hooks around them."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        if self._before:
            for hook in list(self._before.values()):
                changed = hook(self, args, kwargs)
                args, kwargs = (args, kwargs) if changed is None else changed
        found = step(self, *args, **kwargs)
        self._step_count += 1
        for hook in list(self._after.values()):
            hook(self, args, kwargs)
        return found

    return run


Optimizer.step = _counted(Optimizer.step)


def _alike(params):
    """Parameters that have a gradient, with it, apart by dtype and device."""
    found = {}
    for p in params:
        grad = p.grad
        if grad is not None:
            some = found.setdefault(
                (_fast.flam_tensor_dtype(p._h), _fast.flam_tensor_device(p._h)), ([], [])
            )
            some[0].append(p)
            some[1].append(grad)
    return found.values()


def handles(tensors):
    """What C takes for a list of tensors."""
    return [t._h for t in tensors]


def scaling(optimizer, p):
    """The cells of a GradScaler's step for the fused functions, on the parameter's device: what
    gradients are divided by, and whether to do nothing."""
    cells = (getattr(optimizer, name, None) for name in ("grad_scale", "found_inf"))
    optimizer._cells = [c if c is None else c.to(p.device, non_blocking=True) for c in cells]
    return [_NULL if c is None else c._h for c in optimizer._cells]


def is_skipped(optimizer):
    """Whether a GradScaler's step is to do nothing. Waits for the device."""
    found = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found.item())


def empty_like(p):
    """State for a parameter, not set."""
    from .. import empty

    return empty(p.shape, dtype=p.dtype, device=p.device)


def zeros_like(p):
    """State for a parameter, zero."""
    from .. import zeros

    return zeros(p.shape, dtype=p.dtype, device=p.device)


def check(name, value, ok):
    """Raises torch's text where an option is out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")
