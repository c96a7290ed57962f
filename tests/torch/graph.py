"""What a program sees of the graph: views and their bases, writes in place through them, version
counters and hooks, in every mode in which the view and the write can happen; compared with PyTorch
call by call.
"""

from __future__ import annotations

import itertools

from .calls import Call
from .compare import Tolerance
from .walk import compare_call

BASES = {
    "leaf": lambda torch: torch.ones(4, 4, requires_grad=True),
    "recorded": lambda torch: torch.ones(4, 4, requires_grad=True).clone(),
    "plain": lambda torch: torch.ones(4, 4),
    "made in inference": lambda torch: made_in_inference(torch),
}
VIEWS = {
    "view": lambda t: t.view(16),
    "view of view": lambda t: t.view(2, 8).t(),
    "t": lambda t: t.t(),
    "T": lambda t: t.T,
    "mT": lambda t: t.mT,
    "select": lambda t: t.select(0, 1),
    "narrow": lambda t: t.narrow(1, 1, 2),
    "index": lambda t: t[1:],
    "all": lambda t: t[:],
    "dots": lambda t: t[...],
    "as_strided": lambda t: t.as_strided((2, 2), (2, 1)),
    "squeeze": lambda t: t.squeeze(),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "reshape": lambda t: t.reshape(16),
    "flatten": lambda t: t.flatten(),
    "permute": lambda t: t.permute(1, 0),
    "movedim": lambda t: t.movedim(0, 1),
    "diagonal": lambda t: t.diagonal(),
    "unfold": lambda t: t.unfold(0, 2, 2),
    "unflatten": lambda t: t.unflatten(0, (2, 2)),
    "expand_as": lambda t: t.expand_as(t),
    "view_as": lambda t: t.view_as(t),
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "unbind": lambda t: t.unbind()[1],
    "split": lambda t: t.split(2)[0],
    "split sizes": lambda t: t.split([1, 3])[1],
    "chunk": lambda t: t.chunk(2)[1],
    "tensor_split": lambda t: t.tensor_split(2)[0],
    "hsplit": lambda t: t.hsplit(2)[0],
    "view of part": lambda t: t.unbind()[0].view(2, 2),
    "contiguous": lambda t: t.contiguous(),
    "itself": lambda t: t,
}
MODES = ("grad", "no_grad", "inference")
WRITES = {
    "nothing": lambda torch, t: None,
    "mul_": lambda torch, t: t.mul_(2),
    "zero_": lambda torch, t: t.zero_(),
    "fill_": lambda torch, t: t.fill_(3),
    "add_ recorded": lambda torch, t: t.add_(torch.ones((), requires_grad=True)),
    "copy_": lambda torch, t: t.copy_(torch.ones(())),
    "set item": lambda torch, t: t.__setitem__(0, 2.0),
    "detach_": lambda torch, t: t.detach_(),
    "requires_grad_": lambda torch, t: t.requires_grad_(),
}


def made_in_inference(torch):
    with torch.inference_mode():
        return torch.ones(4, 4)


def mode_of(torch, name):
    return {
        "grad": torch.enable_grad,
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
    }[name]()


def kind_of(node):
    """A node's class, and whether one number of it is all that differs."""
    return None if node is None else type(node).__name__.rstrip("0123456789")


def seen(t, base):
    known = {
        "requires_grad": t.requires_grad,
        "leaf": t.is_leaf,
        "inference": t.is_inference(),
        "view": t._is_view(),
        "base": t._base is base,
        "no base": t._base is None,
        "grad_fn": kind_of(t.grad_fn),
    }
    return [*known.items(), None if t.is_inference() else t._version]


def written(torch, base, view, made, write, done):
    """What is seen of a base and its view after a write to one of them."""
    b = BASES[base](torch)
    with mode_of(torch, made):
        v = VIEWS[view](b)
    with mode_of(torch, done):
        WRITES[write](torch, v)
    return [*map(repr, seen(v, b)), *map(repr, seen(b, None)), slopes(torch, b, v)]


def slopes(torch, b, v):
    """The gradient that flows on from what was written."""
    if not (v.requires_grad and v.grad_fn is not None):
        return None
    found = torch.autograd.grad(v.sum() + b.sum(), v, retain_graph=True, allow_unused=True)[0]
    return None if found is None else found.tolist()


def calls():
    for base, view, made, write, done in itertools.product(BASES, VIEWS, MODES, WRITES, MODES):
        if write == "nothing" and done != made:
            continue
        yield (
            f"{view} of {base} in {made}, then {write} in {done}",
            lambda library, given=(base, view, made, write, done): written(library.module, *given),
        )


def into(found, ours, theirs):
    """Adds to `found` under "(graph)"."""
    listed = list(calls())
    for what, invoke in listed:
        call = Call(
            "(graph)", "grid", what, lambda library: [], invoke, Tolerance(1, lambda d: 0.0)
        )
        compare_call(found, ours, theirs, call)
    found.calls["(graph)"] = len(listed)
