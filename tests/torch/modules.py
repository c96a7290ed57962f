"""What a program sees of layers: PyTorch's own samples of each class of torch.nn (`module_db`), in
training and in evaluation, built, hooked, called, walked backward, saved, loaded and copied in both
libraries, and what they refuse. A layer's row is its class's name in parentheses.
"""

from __future__ import annotations

import copy
import functools
import io

import numpy as np

from . import apart
from .calls import Call
from .compare import Difference
from .library import flat
from .operands import Left, Operands, brief, said
from .samples import COUNTED, FORM_ONLY
from .walk import Found, compare_call

HOOKS = "forward_pre forward full_backward_pre full_backward state_dict_pre load_state_dict_post"


def into(found, ours, theirs, chosen=(), jobs=1):
    """Adds to `found` what the layers show; says so where their samples cannot be had."""
    try:
        from torch.testing._internal.common_modules import module_db
    except ImportError as e:  # the samples need packages that torch itself does not
        print(f"not run: PyTorch's samples of layers ({e})")
        return
    infos = {}
    for info in module_db:
        if not chosen or info.module_cls.__name__ in chosen:
            infos.setdefault(f"(nn.{info.module_cls.__name__})", []).append(info)
    for row, result in apart.each(infos, lambda row: of_class(ours, theirs, infos, row), jobs):
        found.add(result if isinstance(result, Found) else lost(row, "crash", str(result)))


def lost(row, kind, text):
    return Found(calls={row: 0}, differences=[Difference(row, kind, text)])


def of_class(ours, theirs, infos, row):
    name, found = row[4:-1], Found(calls={row: 0})
    if not hasattr(ours.module.nn, name):
        return lost(row, "name", f"flambeau has no nn.{name}")
    for training, sample in samples(theirs.module, infos[row]):
        parts = [(p.args, p.kwargs) for p in (sample.constructor_input, sample.forward_input) if p]
        try:
            make, drew = Operands(theirs.module, parts, {}, True), []
        except Left:
            continue
        invoke = functools.partial(used, name, training, make, drew)
        theirs.outcome(make, invoke)
        what = f"{'training' if training else 'evaluating'} {brief(parts)}"
        tolerance = FORM_ONLY if any(drew) else COUNTED
        compare_call(found, ours, theirs, Call(row, "layer", what, make, invoke, tolerance))
        found.calls[row] += 1
    return found


def samples(torch, infos):
    """(whether it is training, sample) of a class, those that are refused among them."""
    for info in infos:
        for training in (True, False):
            kind = dict(device="cpu", dtype=torch.float64, requires_grad=True, training=training)
            for sample in info.module_inputs_func(info, **kind):
                yield training, sample
            for refused in (info.module_error_inputs_func or (lambda *_, **__: ()))(info, **kind):
                yield training, refused.module_error_input


def used(name, training, make, drew, library, *tensors):
    """All that is seen of a layer's life; whether its call took random numbers goes to `drew`."""
    torch, events, stored = library.module, [], io.BytesIO()
    for t, differentiable in zip(tensors, make.differentiable):
        t.requires_grad_(differentiable)
    parts = said(library, make.torch, make.given(tensors)[0])
    made = [getattr(torch.nn, name)(*parts[0][0], **parts[0][1]).double() for _ in range(2)]
    args, named = parts[1] if len(parts) > 1 else ((), {})
    for layer in made:
        layer.train(training)
        if name.startswith("Lazy"):
            layer(*args, **named)
        rng = np.random.default_rng(5)
        for p in layer.parameters():
            p.data.copy_(library.tensor(rng.uniform(-0.5, 0.5, tuple(p.shape)), "float64"))
    layer, other = made
    torch.save(layer, stored)
    stored.seek(0)
    others = [copy.deepcopy(layer), torch.load(stored, weights_only=False), other]
    for kind in HOOKS.split():
        tells = functools.partial(lambda kind, _, *given: events.append(kind + brief(given)), kind)
        getattr(layer, f"register_{kind}_hook")(tells)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    out = layer(*args, **named)
    drew.append(not torch.equal(before, torch.get_rng_state()))
    walked = [t for t in flat(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    if walked:
        torch.autograd.backward(walked, [torch.ones_like(t) / 2 for t in walked])
    loaded = [str(other.load_state_dict(layer.state_dict())), repr(layer), events]
    gradients = [t.grad for t in (*layer.parameters(), *tensors) if t.requires_grad]
    state = [[k, v] for k, v in layer.state_dict().items()]
    return [loaded, out, gradients, state, [each(*args, **named) for each in others]]
