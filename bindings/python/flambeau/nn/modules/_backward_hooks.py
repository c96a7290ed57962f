"""Full backward hooks of a module: functions on the gradients of its inputs and outputs.

One identity function stands before the module and one behind it; their backward passes see the
gradients."""

from ..._deprecated import warn
from ..._tensor import Tensor
from ...autograd.function import Function


class _Watch(Function):
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

    def __init__(self, module):
        self.module, self.grad_output = module, None

    def _through(self, values, notify):
        """The values, watched where they require a gradient; and those places."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places:
            return values, places
        watched = _Watch.apply(notify, *(values[i] for i in places))
        values = list(values)
        for i, t in zip(places, watched):
            values[i] = t
        return tuple(values), places

    def watch_inputs(self, args):
        self.n_inputs = len(args)
        args, self.inputs = self._through(args, self._inputs_done)
        return args

    def watch_outputs(self, result):
        single = isinstance(result, Tensor)
        values = (result,) if single else tuple(result)
        self.n_outputs = len(values)
        self.outputs = [
            i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad
        ]
        values, _ = self._through(values, self._outputs_done)
        return values[0] if single else values

    def _outputs_done(self, grads):
        packed = _packed(grads, self.outputs, self.n_outputs)
        for hook in list(self.module._backward_pre_hooks.values()):
            changed = hook(self.module, packed)
            if changed is not None:
                packed = changed if isinstance(changed, tuple) else (changed,)
        self.grad_output = packed
        if not self.inputs:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See https://docs.pytorch.org/docs/main/"
                "generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for "
                "more details."
            )
            self._run((None,) * self.n_inputs)
        return tuple(packed[i] for i in self.outputs)

    def _inputs_done(self, grads):
        found = self._run(_packed(grads, self.inputs, self.n_inputs))
        return tuple(found[i] for i in self.inputs)

    def _run(self, grads):
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, grads, self.grad_output)
            if changed is not None:
                grads = changed if isinstance(changed, tuple) else (changed,)
        return grads


def _packed(grads, places, n):
    """Gradients in their places among `n` values, None in the others."""
    found = [None] * n
    for i, grad in zip(places, grads):
        found[i] = grad
    return tuple(found)
