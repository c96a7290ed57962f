"""`torch.cuda.make_graphed_callables`: forward and backward of a function or module, each captured
once and replayed by one node of autograd. Operands are copied to where the captured calls read
them; results lie in the graphs' memory, which the next call writes anew."""

from .._gen import ops
from .._tensor import Tensor
from ..amp.autocast_mode import is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import grad
from ..autograd.function import Function, once_differentiable
from ..nn.modules.module import Module
from ..utils._pytree import tree_flatten, tree_unflatten
from . import graphs
from .streams import Stream, StreamContext, current_stream


class _Captured:
    """A callable with the graphs of its passes and the memory that these read and write."""

    def __init__(self, function, args, unused):
        self.function, self.unused = function, unused
        leaves, self.spec = tree_flatten(args)
        if not all(isinstance(t, Tensor) for t in leaves):
            raise TypeError("make_graphed_callables: sample_args must hold tensors only")
        # Memory of their own: samples of two callables may share theirs.
        self.operands = [t.detach().clone().requires_grad_(t.requires_grad) for t in leaves]
        self.parameters = ()
        if isinstance(function, Module):
            if function._forward_hooks or function._forward_pre_hooks or function._backward_hooks:
                raise RuntimeError("make_graphed_callables: register a module's hooks afterwards")
            if any(b.requires_grad for b in function.buffers()):
                raise RuntimeError(
                    "make_graphed_callables: a module's buffers must not require grad"
                )
            self.parameters = tuple(function.parameters())
        self.asked = [t for t in (*self.operands, *self.parameters) if t.requires_grad]

    def run(self):
        return tree_flatten(self.function(*tree_unflatten(self.operands, self.spec)))

    def gradients(self, outputs, given):
        """Those of the operands that require one, at outputs that do."""
        outputs = [t for t in outputs if t.requires_grad]
        given = [t for t in given if t is not None]
        return grad(outputs, self.asked, given, allow_unused=self.unused) if outputs else ()

    def warm_up(self, times):
        for _ in range(times):
            outputs, _ = self.run()
            self.gradients(outputs, _like(outputs))

    def capture_forward(self, **how):
        self.forward = graphs.CUDAGraph()
        with graphs.graph(self.forward, **how):
            self.outputs, self.out_spec = self.run()

    def capture_backward(self, **how):
        self.given, self.backward = _like(self.outputs), None
        if self.asked and any(t is not None for t in self.given):
            self.backward = graphs.CUDAGraph()
            with graphs.graph(self.backward, **how):
                found = iter(self.gradients(self.outputs, self.given))
            both = (*self.operands, *self.parameters)
            self.found = [next(found) if t.requires_grad else None for t in both]
        self.outputs = [t.detach() for t in self.outputs]

    def check(self, leaves, spec):
        if spec != self.spec:
            raise RuntimeError("a graphed callable takes arguments nested as its sample_args were")
        for i, (mine, given) in enumerate(zip(self.operands, leaves)):
            facts = [(tuple(t.shape), t.dtype, t.device, t.requires_grad) for t in (mine, given)]
            if facts[0] != facts[1]:
                raise RuntimeError(
                    "a graphed callable takes tensors like its sample_args, in shape, dtype, device"
                    f" and requires_grad: tensor {i} was {facts[0]} and is {facts[1]}"
                )


def _like(outputs):
    return [ops.TORCH["empty_like"](t) if t.requires_grad else None for t in outputs]


def _replayed(captured):
    """What calls the graphs instead of the callable."""

    class Graphed(Function):
        @staticmethod
        def forward(ctx, *inputs):
            for mine, given in zip(captured.operands, inputs):
                mine.copy_(given)
            captured.forward.replay()
            results = tuple(t.detach() for t in captured.outputs)
            ctx.mark_non_differentiable(
                *(t for t, at in zip(results, captured.given) if at is None)
            )
            return results

        @staticmethod
        @once_differentiable
        def backward(ctx, *grads):
            for mine, given in zip(captured.given, grads):
                if mine is not None:
                    mine.copy_(given)
            captured.backward.replay()
            return tuple(None if t is None else t.detach() for t in captured.found)

    def call(*args):
        leaves, spec = tree_flatten(args)
        captured.check(leaves, spec)
        results = Graphed.apply(*leaves, *captured.parameters)
        return tree_unflatten(list(results), captured.out_spec)

    return call


def _in_place_of(function, call):
    """A module keeps its forward for the other mode, training or not."""
    if not isinstance(function, Module):
        return call
    own, training = function.forward, function.training
    function.forward = lambda *args: (call if function.training == training else own)(*args)
    return function


def make_graphed_callables(
    callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None
):
    """Functions and modules that work as before, by one replay forward and one backward each; a
    module is changed itself. They run in the order of `callables`, with arguments like the samples
    in shape, dtype, device and requires_grad; each call's results are gone with the next."""
    if is_autocast_enabled("cuda") and is_autocast_cache_enabled():
        raise RuntimeError("make_graphed_callables: autocast needs cache_enabled=False here")
    several = isinstance(callables, tuple)
    pairs = zip(callables, sample_args) if several else [(callables, sample_args)]
    captured = [_Captured(function, args, allow_unused_input) for function, args in pairs]
    how = {"pool": pool or graphs.graph_pool_handle(), "stream": Stream()}
    how["stream"].wait_stream(current_stream())
    with StreamContext(how["stream"]):
        for one in captured:
            one.warm_up(num_warmup_iters)
    for one in captured:
        one.capture_forward(**how)
    for one in reversed(captured):
        one.capture_backward(**how)
    current_stream().wait_stream(how["stream"])
    made = tuple(_in_place_of(one.function, _replayed(one)) for one in captured)
    return made if several else made[0]
