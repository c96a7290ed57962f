"""Backward hooks of a module: full ones, functions on the gradients of its inputs and outputs, and
regular ones, on those of the operation that made its result.

Of full hooks, one identity function stands before the module and one behind it; their backward
passes see the gradients."""

from ..._deprecated import warn
from ..._tensor import Tensor
from ...autograd.function import Function


class BackwardHookFunction(Function):  # programs see the name: it is a `grad_fn` of their tensors
    @staticmethod
    def forward(ctx, notify, *tensors):
        ctx.notify = notify
        ctx.set_materialize_grads(False)
        return tuple(t.view(t.shape) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        found = ctx.notify(grads)
        return (None, *(grads if found is None else found))


class BackwardHooks:
    """The state of one call: the outputs' gradients wait for the inputs'."""

    def __init__(self, module, hooks, before):
        self.module, self.hooks, self.before, self.grad_output = module, hooks, before, None

    def _through(self, values, notify):
        """The values, watched where they require a gradient; and those places."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places:
            return values, places
        watched = BackwardHookFunction.apply(notify, *(values[i] for i in places))
        changed = list(values)
        for i, t in zip(places, watched):
            changed[i] = t
        named = hasattr(values, "_fields")  # a tuple with names stays one
        return (type(values)(*changed) if named else tuple(changed)), places

    def watch_inputs(self, args):
        self.n_inputs = len(args)
        args, self.inputs = self._through(args, self._inputs_done)
        return args

    def watch_outputs(self, result):
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
            return result
        single = isinstance(result, Tensor)
        values = (result,) if single else result
        self.n_outputs = len(values)
        self.outputs = [
            i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad
        ]
        values, _ = self._through(values, self._outputs_done)
        return values[0] if single else values

    def _outputs_done(self, grads):
        packed = _packed(grads, self.outputs, self.n_outputs)
        for hook in list(self.before):
            changed = hook(self.module, packed)
            if changed is not None:
                packed = changed if isinstance(changed, tuple) else (changed,)
                _check_count("pre hook", "grad_output", packed, self.n_outputs)
        self.grad_output = packed
        if not self.inputs:
            if self.hooks:
                self._without_inputs()
            self.grad_output = None
        return tuple(packed[i] for i in self.outputs)

    def _without_inputs(self):
        warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See https://docs.pytorch.org/docs/main/"
            "generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for "
            "more details."
        )
        for hook in list(self.hooks):
            found = hook(self.module, (None,) * self.n_inputs, self.grad_output)
            if found is not None and (
                isinstance(found, Tensor) or any(g is not None for g in found)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _inputs_done(self, grads):
        # A gradient that came to the inputs without passing the outputs, as a second derivative's
        # does, is none of the module's.
        if self.grad_output is None:
            return grads
        packed = _packed(grads, self.inputs, self.n_inputs)
        for hook in list(self.hooks):
            changed = hook(self.module, packed, self.grad_output)
            if changed is not None:
                packed = changed if isinstance(changed, tuple) else (changed,)
                _check_count("hook", "grad_input", packed, self.n_inputs)
        self.grad_output = None
        return tuple(packed[i] for i in self.inputs)


def _check_count(what, of, grads, n):
    if len(grads) != n:
        raise RuntimeError(
            f"Backward {what} returned an invalid number of {of}, got {len(grads)}, but expected "
            f"{n}"
        )


def _packed(grads, places, n):
    """Gradients in their places among `n` values, None in the others."""
    found = [None] * n
    for i, grad in zip(places, grads):
        found[i] = grad
    return tuple(found)


def watch_last(module, hooks, args, result):
    """Regular hooks see the gradients of the operation that made the (first) result; a warning says
    what they do not see."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next((v for v in first.values() if isinstance(v, Tensor)), None)
        else:
            first = first[0] if isinstance(first, (list, tuple)) and first else None
        if first is None:
            return
    if first.grad_fn is None:
        return
    missing = _unseen(args, result, first.grad_fn)
    if missing:
        told = (
            "is deprecated and will be removed in future versions. This hook will be missing some"
        )
        warn(
            f"Using {missing[0]} {told} {missing[1]}. Please use register_full_backward_hook to "
            "get the documented behavior.",
            FutureWarning,
        )
    for hook in hooks:
        first.grad_fn.register_hook(lambda given, seen, hook=hook: hook(module, given, seen))


def _unseen(args, result, node):
    """Where a regular hook does not see all gradients: why, and which of them."""
    results = result if isinstance(result, tuple) else (result,)
    several = "a single Tensor or a tuple of Tensors"
    if not all(isinstance(r, Tensor) for r in results):
        why = f"non-full backward hooks on a Module that does not return {several}"
        return why, "of the grad_output"
    if not all(isinstance(a, Tensor) for a in args):
        why = f"non-full backward hooks on a Module that does not take as input {several}"
        return why, "of the grad_input"
    if len({r.grad_fn for r in results} - {None}) > 1:
        why = "a non-full backward hook when outputs are generated by different autograd Nodes"
        return why, "grad_output"
    if {a.grad_fn for a in args} != {following for following, _ in node.next_functions}:
        why = "a non-full backward hook when the forward contains multiple autograd Nodes"
        return why, "grad_input"
    return None
