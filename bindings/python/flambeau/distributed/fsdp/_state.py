"""When a module's parameters are gathered, freed and reduced: hooks around its forward and
backward.

The outermost module that is called is the root; it knows the order of the last forward, by which
the next module's parameters are gathered ahead, and ends each backward: gradients of modules whose
inputs need none are reduced there, and all reductions finished."""

import copy
from dataclasses import fields, is_dataclass

from ..._gen import api
from ..._tensor import Tensor
from ...autograd import Function, Variable, is_grad_enabled

IDLE, FORWARD, BACKWARD = range(3)


class Job:
    """What the modules below one root share."""

    def __init__(self, root, states):
        self.root, self.states = root, states
        self.order, self.last = [], []  # states as their forwards ran: now, and the time before
        self.reductions, self.ends = [], False

    def finish_reductions(self, most=0):
        """Until no more than so many are under way."""
        while len(self.reductions) > most:
            self.reductions.pop(0).finish()

    def abandon(self):
        """After a backward that failed: what it left is dropped."""
        self.reductions, self.ends = [], False
        for state in self.states:
            state.phase, state.calls = IDLE, 0
            state.group.drop_gradients()
            state.group.free()

    def end_backward(self):
        """After the backward pass."""
        self.ends = False
        for state in reversed(self.order or self.states):
            state.after_backward()
        for state in self.states:
            state.after_backward(last=True)
        self.finish_reductions()
        for state in self.states:
            state.phase, state.calls = IDLE, 0
        self.last, self.order = self.order or self.last, []


class State:
    """What `fully_shard` keeps of a module, or of several that it manages together."""

    def __init__(self, modules, group, policy):
        self.modules, self.group, self.policy = modules, group, policy
        self.job, self.phase = None, IDLE
        self.ahead, self.ahead_backward = None, None  # what the program wants gathered ahead
        self.stepped = None  # an event that the program waits for
        self.calls = 0  # of forward, whose backward is to come
        self.automatic = True  # whether it is freed after forward unless it is the root

    def find_job(self):
        """The root's; whoever is called first is the root."""
        if self.job is None:
            below = [state_of(m) for module in self.modules for m in module.modules()]
            states = [s for s in dict.fromkeys(below) if s is not None]
            self.job = Job(self, states)
            for state in states:
                state.job = self.job
            if self.automatic:
                self.group.frees_after_forward = False
        return self.job

    # ---- forward

    def before_forward(self, module, args, kwargs):
        job = self.find_job()
        if self.policy.cast_forward_inputs and self.policy.param_dtype is not None:
            args, kwargs = _each((args, kwargs), _cast_to(self.policy.param_dtype))
        if self.phase == BACKWARD and not api.backward_pass():
            job.abandon()
        if self.phase == BACKWARD:  # computed anew, for its gradient
            return args, kwargs
        if job.root is self:
            job.last, job.order = job.order or job.last, []
            if self.stepped is not None:
                self.stepped.wait()
                self.stepped = None
        self.phase = FORWARD
        self.group.gather()
        for state in self._next(self.ahead, job.last, 1):
            state.group.begin_gather()
        if is_grad_enabled():
            args, kwargs = self._watched(args, kwargs)
        return args, kwargs

    def _next(self, given, order, step):
        """The states that are gathered ahead."""
        if given is not None:
            return given
        if self not in order:
            return ()
        i = order.index(self) + step
        return order[i : i + 1] if i >= 0 else ()

    def _watched(self, args, kwargs):
        """Inputs that tell when their gradient is there: then the module's parameters have
        theirs."""
        found = []
        _each((args, kwargs), lambda t: found.append(t) if t.requires_grad else None)
        if not found or not self.group.params:
            return args, kwargs
        self.calls += 1
        passed = _Passed.apply(self, *(getattr(t, "_local_tensor", t) for t in found))
        passed = passed if isinstance(passed, tuple) else (passed,)
        known = {
            id(t): t._with_local(part) if hasattr(t, "_local_tensor") else part
            for t, part in zip(found, passed)
        }
        return _each((args, kwargs), lambda t: known.get(id(t), t))

    def after_forward(self, module, args, kwargs, found):
        if self.phase != BACKWARD:
            job, records = self.job, is_grad_enabled()
            if self not in job.order:
                job.order.append(self)
            if self.group.frees_after_forward or not records:
                self.group.free(until_backward=records)
            if job.root is self:
                for state in job.states:  # gathered ahead by an order that has changed
                    state.group.end_gather()
            self.phase = IDLE
            if records:
                self._watch(found)
        if self.policy.output_dtype is not None:
            found = _each(found, _cast_to(self.policy.output_dtype))
        return found

    def _watch(self, found):
        """Has the results tell when backward comes to them, which gathers the parameters and
        reduces their gradients."""
        kinds = []
        _each(found, self._hook, kinds.append)
        opaque = [kind for kind in kinds if kind not in _NO_TENSORS]
        trained = any(p.part.requires_grad for p in self.group.params)
        if opaque and trained and not any(issubclass(kind, Tensor) for kind in kinds):
            raise TypeError(
                f"fully_shard: no tensor was found in what {type(self.modules[0]).__name__} "
                f"returned, an object of {opaque[0].__name__}: backward would train nothing\n  "
                "forward may return tensors, tuples, lists, dicts and dataclasses of them"
            )

    # ---- backward

    def _hook(self, tensor):
        if tensor.requires_grad:
            tensor.register_hook(self.before_backward)
        return tensor

    def before_backward(self, grad):
        job = self.job
        if not job.ends:
            job.ends = True
            Variable._execution_engine.queue_callback(job.end_backward)
        first, self.phase = self.phase != BACKWARD, BACKWARD
        if self.group.gathers_in_backward:
            self.group.gather(in_backward=True)
        if first:
            for state in self._next(self.ahead_backward, job.order, -1):
                if state.phase != BACKWARD and state.group.gathers_in_backward:
                    state.group.begin_gather(in_backward=True)
        return grad

    def after_backward(self, last=False):
        """Its gradients are all there; those that other ranks may not have wait for the end, whose
        order is the same on all."""
        if self.group.reduces_unused and not last:
            return
        if any(p.whole is not None and p.whole.grad is not None for p in self.group.params):
            self.job.finish_reductions(self.group.buffers - 1)  # each has a buffer
        self.job.reductions += self.group.begin_reduce()


class _Passed(Function):
    """Tensors as they are; their gradients come after those of what was computed from them."""

    @staticmethod
    def forward(ctx, state, *tensors):
        ctx.state = state
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        ctx.state.calls -= 1
        if ctx.state.phase == BACKWARD and ctx.state.calls <= 0:  # a module may be called twice
            ctx.state.after_backward()
        return None, *grads


_NO_TENSORS = (type(None), bool, int, float, complex, str, bytes)


def state_of(module):
    """What `fully_shard` keeps of a module; None where it has not been given it."""
    return module.__dict__.get("_fsdp_state")


def _cast_to(dtype):
    return lambda t: t.to(dtype) if t.is_floating_point() else t


def _each(value, change, told=lambda kind: None):
    """Arguments or results with `change` done to their tensors; unchanged where it gives None.
    `told` is called with the type of each part that has no parts."""
    if isinstance(value, Tensor):
        told(type(value))
        changed = change(value)
        return value if changed is None else changed
    if isinstance(value, (tuple, list)):
        parts = [_each(part, change, told) for part in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    if isinstance(value, dict):
        made = {k: _each(v, change, told) for k, v in value.items()}
        return made if type(value) is dict else _refilled(value, made)
    if is_dataclass(value) and not isinstance(value, type):
        return _with_fields(value, lambda part: _each(part, change, told))
    told(type(value))
    return value


def _with_fields(value, change):
    """A dataclass with its fields changed: itself, or a copy, which is not initialized anew."""
    had = {f.name: getattr(value, f.name) for f in fields(value) if hasattr(value, f.name)}
    made = {name: change(part) for name, part in had.items()}
    if all(made[name] is had[name] for name in had):
        return value
    found = copy.copy(value)
    for name, part in made.items():
        object.__setattr__(found, name, part)  # it may be frozen
    return found


def _refilled(value, made):
    """A dictionary of a class of its own, such as a model's output."""
    for key, part in made.items():
        if part is not value[key]:
            value[key] = part
    return value
