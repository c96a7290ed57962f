"""Optimizer: parameter groups, state, state dicts and hooks; subclasses say how one group steps.

`param_groups` and `state` are plain dictionaries that programs read and change, as in PyTorch; a
step always goes by what they hold at that moment."""

import functools
from collections import OrderedDict, defaultdict

from .._call import _fast
from .._deprecated import warn
from .._tensor import Tensor
from ..autograd import enable_grad, no_grad
from ..utils.hooks import register
from ._parts import update_parts
from ._state import cell, packed, unpacked

required = object()
_HOOKS = (
    "step_pre_hook step_post_hook state_dict_pre_hook state_dict_post_hook "
    "load_state_dict_pre_hook load_state_dict_post_hook"
).split()
_global_before, _global_after = OrderedDict(), OrderedDict()


def register_optimizer_step_pre_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    return register(_global_before, hook)


def register_optimizer_step_post_hook(hook):
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    return register(_global_after, hook)


class Optimizer:
    """Base class; `params` is an iterable of parameters or of groups (dictionaries with
    `params`)."""

    _cell_names = ("step",)  # state that is one f32 on the parameter's device
    _elementwise = False  # whether an element's step asks nothing of the parameter's others

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}"
            )
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        self._set_hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _set_hooks(self):
        for kind in _HOOKS:
            self.__dict__[f"_optimizer_{kind}s"] = OrderedDict()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _hooked(cls.step)
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
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        param_group["params"] = _checked(param_group, list(params), self.defaults)
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, value)
        params = param_group["params"]
        if len(set(map(id, params))) != len(params):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information"
            )
        if self.param_groups and ("param_names" in param_group) != (
            "param_names" in self.param_groups[0]
        ):
            named = "with" if "param_names" in param_group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{named} names to the optimizer"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Forgets all gradients, or fills them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                grad = p.grad
                if grad is None:
                    continue
                if set_to_none:
                    p.grad = None
                elif grad.grad_fn is not None:
                    p.grad = grad.detach().zero_()
                else:
                    grad.requires_grad_(False)
                    grad.zero_()

    @no_grad()
    def step(self, closure=None):
        """One step by the gradients that are there; `closure` computes the loss anew."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for params, grads in _alike(group["params"]):
                if hasattr(params[0], "_local_tensor"):
                    update_parts(self, group, params, grads)
                elif group.get("differentiable"):
                    with enable_grad():
                        self._record(group, params, grads)
                else:
                    self._update(group, params, grads)
        return loss

    def _update(self, group, params, grads):
        """Changes `params` in place; all have one dtype and device."""
        raise NotImplementedError

    def _record(self, group, params, grads):
        """The same in operations that autograd records."""
        raise NotImplementedError(
            f"unsupported: {type(self).__name__}(differentiable=True); write the update with "
            "operations on tensors where its gradient is needed"
        )

    # ---- hooks

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before every step; it may return new ones."""
        return register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after every step."""
        return register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` before a state dict is made."""
        return register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` on a state dict; it may return another."""
        return register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls `hook(optimizer, state_dict)` before loading; it may return another."""
        return register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls `hook(optimizer)` after loading."""
        return register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # ---- state

    def state_dict(self):
        """Groups and state with parameters numbered, as PyTorch writes them."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        found = packed(self)
        return self._changed(self._optimizer_state_dict_post_hooks, found)

    def _changed(self, hooks, state_dict):
        """A state dict as hooks that may return another one leave it."""
        for hook in list(hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        return state_dict

    @no_grad()
    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` of the same kind of optimizer gave, PyTorch's included."""
        state_dict = self._changed(self._optimizer_load_state_dict_pre_hooks, dict(state_dict))
        state, groups = unpacked(self, state_dict)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._set_hooks()
        self.defaults = self.__dict__.get("defaults", {})
        for group in self.param_groups:  # options that older state lacks
            for name, value in self._later_options().items():
                group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p)
                for name in self._cell_names if own else ():
                    if name in own and not isinstance(own[name], Tensor):
                        own[name] = cell(own[name], p)

    def _later_options(self):
        """Switches that optimizers got over time, off."""
        return {
            k: self.defaults.get(k)
            for k in ("foreach", "maximize", "capturable", "differentiable", "fused")
            if k in self.defaults
        }

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params")
        return text + ")"


def _checked(param_group, params, defaults):
    """Parameters apart from their names, each of them one that can be changed."""
    names = [p[0] for p in params if isinstance(p, tuple)]
    if names:
        if len(names) != len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        param_group["param_names"] = names
        params = [p[1] for p in params]
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
            )
        if not defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")
    return params


def _hooked(step):
    """Runs the hooks around a step and notes, for the schedules, that there was one."""

    @functools.wraps(step)
    def run(self, *args, **kwargs):
        own = self.__dict__.get("_optimizer_step_pre_hooks", {})
        for hook in [*_global_before.values(), *own.values()] if own or _global_before else ():
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
            args, kwargs = changed
        found = step(self, *args, **kwargs)
        self._opt_called = True
        own = self.__dict__.get("_optimizer_step_post_hooks", {})
        for hook in [*own.values(), *_global_after.values()] if own or _global_after else ():
            hook(self, args, kwargs)
        return found

    run.hooked = True
    return run


Optimizer.step = _hooked(Optimizer.step)


def _alike(params):
    """Parameters that have a gradient, with it, apart by dtype and device."""
    found = {}
    for p in params:
        grad = p.grad
        if grad is not None:
            part = p._local_tensor if hasattr(p, "_local_tensor") else p
            kind = _fast.flam_tensor_dtype(part._h), _fast.flam_tensor_device(part._h), part is p
            some = found.setdefault(kind, ([], []))
            some[0].append(p)
            some[1].append(grad)
    return found.values()


# ---- for the rules


def check(name, value, ok):
    """Raises torch's text where an option is out of range."""
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def check_lr(lr):
    """A learning rate is a number, or a tensor that holds one."""
    check_single(lr)
    check("learning rate", lr, 0.0 <= lr)


def check_single(lr):
    """A learning rate that is a tensor has one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_betas(betas):
    """Shares of running means are in [0, 1)."""
    for i, beta in enumerate(betas):
        check(f"beta parameter at index {i}", beta, 0.0 <= beta < 1.0)


def check_fused(fused, foreach, differentiable):
    """One way of stepping can be asked for."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
