"""What hooks of tensors and of nodes are given, and what comes of what they return: each kind of
hook on each kind of tensor, called, removed, replacing, refusing; compared with PyTorch call by
call. Hooks of layers are in modules.py.
"""

from __future__ import annotations

import itertools

from .calls import Call
from .compare import Tolerance
from .operands import brief
from .walk import compare_call

TARGETS = {
    "leaf": lambda x: x,
    "recorded": lambda x: x * 2,
    "view": lambda x: (x * 2).view(4),
    "leaf's view": lambda x: x.view(4),
    "written": lambda x: (x * 2).mul_(2),
    "one of two": lambda x: x.unbind()[0],
}
HOOKS = {
    "tensor": lambda graph, t, f: t.register_hook(f),
    "tensor, retained": lambda graph, t, f: (t.retain_grad(), t.register_hook(f))[1],
    "accumulated": lambda graph, t, f: t.register_post_accumulate_grad_hook(f),
    "node": lambda graph, t, f: t.grad_fn.register_hook(f),
    "before node": lambda graph, t, f: t.grad_fn.register_prehook(f),
    "next node": lambda graph, t, f: t.grad_fn.next_functions[0][0].register_hook(f),
    "any": lambda graph, t, f: graph.register_multi_grad_hook([t], f, mode="any"),
    "all": lambda graph, t, f: graph.register_multi_grad_hook([t, t], f),
}
DOES = {
    "looks": lambda given: None,
    "doubles": lambda given: doubled(given[0]),
    "doubles in place": lambda given: given[0].mul_(2),
    "gives a number": lambda given: 2.0,
    "gives another shape": lambda given: given[0][:1],
    "raises": lambda given: {}["raised"],
}
WHEN = ("twice", "removed", "written after", "inputs named", "create_graph", "hooked twice")


def doubled(value):
    if isinstance(value, tuple):
        return tuple(map(doubled, value))
    return None if value is None else value * 2


def observed(library, target, hook, does, when):
    """What the hook was given, and the gradients that came of it."""
    torch, seen = library.module, []

    def told(*given):
        seen.append(brief(given) + str(given[0].tolist() if hasattr(given[0], "tolist") else ""))
        return DOES[does](given)

    x = torch.ones(2, 2, requires_grad=True)
    t = TARGETS[target](x)
    for _ in range(2 if when == "hooked twice" else 1):
        handle = HOOKS[hook](torch.autograd.graph, t, told)
    if when == "removed":
        handle.remove()
    out = (t.mul_(3) if when == "written after" and not t.is_leaf else t * 3).sum()
    for _ in range(2):
        named = {"inputs": [x]} if when == "inputs named" else {}
        out.backward(retain_graph=True, create_graph=when == "create_graph", **named)
    return [seen, x.grad, t.grad if t.is_leaf or t.retains_grad else None]


def into(found, ours, theirs):
    """Adds to `found` under "(hooks)"."""
    grid = list(itertools.product(TARGETS, HOOKS, DOES, WHEN))
    for each in grid:
        what, invoke = ", ".join(each), lambda library, each=each: observed(library, *each)
        exact = Tolerance(1, lambda dtype: 0.0)
        call = Call("(hooks)", "grid", what, lambda library: [], invoke, exact)
        compare_call(found, ours, theirs, call)
    found.calls["(hooks)"] = len(grid)
