"""A model's graph for `SummaryWriter.add_graph`: the operations that autograd records in one call,
each under the path of the module that ran it, as TensorFlow's GraphDef message."""

from ..._tensor import Tensor
from ..._torch import enable_grad
from .._pytree import tree_leaves
from ._event_file import field


def graph_of(model, inputs):
    """The nodes of one call as an encoded GraphDef, and their names."""
    scopes, shapes, handles = {}, {}, []
    root = type(model).__name__
    for path, module in model.named_modules():
        full = f"{root}/{path.replace('.', '/')}" if path else root
        handles.append(module.register_forward_hook(_scoping(full, scopes, shapes)))
    given = [_recorded(x) for x in (inputs if isinstance(inputs, (tuple, list)) else [inputs])]
    try:
        with enable_grad():
            outputs = model(*given)
    finally:
        for handle in handles:
            handle.remove()
    walk = _Walk(scopes, shapes, model, given)
    for i, output in enumerate(_tensors(outputs)):
        if output.grad_fn is not None:
            walk.add(f"output/output.{i + 1}", "IO Node", [walk.name(output.grad_fn)], output.shape)
    return b"".join(walk.encoded) + field(4, field(1, 1)), walk.names


def _tensors(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _recorded(x):
    """An input from which autograd records."""
    if isinstance(x, Tensor) and x.is_floating_point():
        return x.detach().requires_grad_()
    return x


def _scoping(path, scopes, shapes):
    """A hook that gives to the module the operations which no module inside it has claimed."""

    def hook(module, given, output):
        ends = {x.grad_fn for x in _tensors(given) if x.grad_fn is not None}
        for x in _tensors(output):
            if x.grad_fn is not None:
                shapes[x.grad_fn] = x.shape
        stack = [x.grad_fn for x in _tensors(output) if x.grad_fn is not None]
        seen = ends
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            scopes.setdefault(node, path)
            stack += [n for n, _ in node.next_functions if n is not None]

    return hook


class _Walk:
    """Nodes in the order of their inputs, each written once."""

    def __init__(self, scopes, shapes, model, given):
        self.scopes, self.shapes, self.encoded, self.names = scopes, shapes, [], []
        root = type(model).__name__
        self.leaves = {
            p.data_ptr(): (f"{root}/{n.replace('.', '/')}", "Parameter")
            for n, p in model.named_parameters()
        }
        for i, x in enumerate(_tensors(given)):
            self.leaves[x.data_ptr()] = (f"input/input.{i + 1}", "IO Node")
        self.known, self.counts = {}, {}

    def name(self, node):
        """The node's name; what leads to it is written first."""
        stack = [node]
        while stack:
            top = stack[-1]
            waiting = [n for n, _ in top.next_functions if n is not None and n not in self.known]
            if top in self.known or not waiting:
                stack.pop()
                if top not in self.known:
                    self.known[top] = self._write(top)
            else:
                stack += waiting
        return self.known[node]

    def _write(self, node):
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            name, kind = self.leaves.get(leaf.data_ptr(), ("constant", "Constant"))
            return self.add(name, kind, [], leaf.shape)
        kind = node.name().rstrip("0123456789").removesuffix("Backward")
        inputs = [self.known[n] for n, _ in node.next_functions if n is not None]
        scope = self.scopes.get(node)
        return self.add(f"{scope}/{kind}" if scope else kind, kind, inputs, self.shapes.get(node))

    def add(self, name, kind, inputs, shape):
        """Writes a node; a name that is taken gets a number."""
        count = self.counts[name] = self.counts.get(name, 0) + 1
        name = name if count == 1 else f"{name}_{count - 1}"
        self.names.append(name)
        node = field(1, name) + field(2, kind) + b"".join(field(3, i) for i in inputs)
        if shape is not None:
            sizes = b"".join(field(2, field(1, n)) for n in shape)
            node += field(5, field(1, "_output_shapes") + field(2, field(1, field(7, sizes))))
        self.encoded.append(field(1, node))
        return name
