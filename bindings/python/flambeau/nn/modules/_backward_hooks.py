"""Full backward hooks of a module: functions on the gradients of its inputs and outputs.

One identity function stands before the module and one behind it; their backward passes see the
gradients."""

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
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places:
            return values, False
        watched = _Watch.apply(notify, *(values[i] for i in places))
        values = list(values)
        for i, t in zip(places, watched):
            values[i] = t
        return tuple(values), True

    def watch_inputs(self, args):
        args, self.has_inputs = self._through(args, self._inputs_done)
        return args

    def watch_outputs(self, result):
        single = isinstance(result, Tensor)
        values, _ = self._through((result,) if single else tuple(result), self._outputs_done)
        return values[0] if single else values

    def _outputs_done(self, grads):
        for hook in list(self.module._backward_pre_hooks.values()):
            changed = hook(self.module, grads)
            grads = (
                grads if changed is None else changed if isinstance(changed, tuple) else (changed,)
            )
        self.grad_output = grads
        if not self.has_inputs:
            self._run(())
        return grads

    def _inputs_done(self, grads):
        return self._run(grads)

    def _run(self, grads):
        for hook in list(self.module._backward_hooks.values()):
            changed = hook(self.module, grads, self.grad_output)
            if changed is not None:
                grads = changed if isinstance(changed, tuple) else (changed,)
        return grads
