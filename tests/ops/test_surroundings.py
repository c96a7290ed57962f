"""Every row where programs call it: without recording, in inference mode, in a function of their
own and in a checkpoint the values and gradients are those of a plain call; what it returns is
copied and pickled as it is."""

import copy
import importlib
import io
import pathlib
import pickle

import flambeau as torch
import pytest
from flambeau.utils.checkpoint import checkpoint

from tests.harness import cases
from tests.harness.table import ROWS

for table in sorted(pathlib.Path(__file__).parent.glob("*.py")):
    if not table.name.startswith(("test_", "conftest")):
        importlib.import_module(table.stem)

NAMES = sorted(ROWS)
DIFFERENTIABLE = [n for n in NAMES if ROWS[n].grad and cases.differentiable(ROWS[n])]


def first_of(case, device):
    """The call and its results; an operand that it changes is copied by the harness."""
    return cases.tensors_of(case.call(case.on(device), device))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_recorded(name, device, mode):
    case = cases.first_case(ROWS[name])
    plain = cases.bits(case.call(case.on(device), device))
    operands, _ = case.leaves(device)
    places = {t.untyped_storage().data_ptr() for t in operands}
    with mode():
        found = case.call(operands, device)
        assert cases.bits(found) == plain
    for t in cases.tensors_of(found):
        of_operand = t.untyped_storage().data_ptr() in places
        assert t.grad_fn is None
        assert not t.requires_grad or of_operand
        if mode is torch.inference_mode and not of_operand:
            assert t.is_inference()


def gradients(f, case, device):
    """Of all results with one, with respect to the operands; None where nothing is recorded."""
    operands, leaves = case.leaves(device)
    found = [t for t in cases.tensors_of(f(*operands)) if t.requires_grad]
    torch.autograd.backward(found, [torch.ones_like(t) for t in found])
    return [t.grad for t in leaves] if found else None


class Wrapped(torch.autograd.Function):
    """A row's call as the forward of a function whose backward runs it again."""

    @staticmethod
    def forward(ctx, f, *operands):
        ctx.f = f
        ctx.save_for_backward(*operands)
        found = f(*operands)
        return tuple(found) if isinstance(found, (tuple, list)) else found

    @staticmethod
    def backward(ctx, *grads):
        with torch.enable_grad():
            again = [
                t.detach().requires_grad_(wanted)
                for t, wanted in zip(ctx.saved_tensors, ctx.needs_input_grad[1:])
            ]
            pairs = zip(cases.tensors_of(ctx.f(*again)), grads)
            pairs = [(t, g) for t, g in pairs if t.requires_grad and g is not None]
        found, ones = zip(*pairs)
        wanted = [t for t in again if t.requires_grad]
        given = iter(torch.autograd.grad(found, wanted, ones, allow_unused=True))
        return None, *(next(given) if t.requires_grad else None for t in again)


def wrappers(f):
    yield "a function", lambda *ts: Wrapped.apply(f, *ts)
    yield "a checkpoint", lambda *ts: checkpoint(f, *ts, use_reentrant=False)
    yield "a reentrant checkpoint", lambda *ts: checkpoint(f, *ts, use_reentrant=True)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_inside_of_functions_and_checkpoints(name, device):
    row = ROWS[name]
    case = cases.differentiable(row)[0]

    def call(*ts):
        return case.call([t * 1 for t in ts] if cases.changes_operand(row) else ts, device)

    plain = gradients(call, case, device)
    if plain is None:
        return
    for where, wrapped in wrappers(call):
        found = gradients(wrapped, case, device)
        assert found is not None, where
        for a, b in zip(plain, found, strict=True):
            assert (a is None) == (b is None), where
            assert a is None or torch.equal(a.nan_to_num(), b.nan_to_num()), where


def alike(a, b):
    return (
        (a.dtype, a.shape, a.device, a.requires_grad)
        == (b.dtype, b.shape, b.device, b.requires_grad)
        and a.stride() == b.stride()
        and cases.bits(a) == cases.bits(b)
        and a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr()
    )


def saved(t):
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    return torch.load(file)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "save": saved,
}


@pytest.mark.parametrize("name", NAMES)
def test_results_are_copied_and_pickled(name, device):
    case = cases.first_case(ROWS[name])
    for t in first_of(case, device):
        if not t.numel():
            continue
        for how, made in COPIES.items():
            assert alike(t, made(t)), how
        if t.is_floating_point():
            leaf = t.detach().clone().requires_grad_()
            for how, made in COPIES.items():
                assert alike(leaf, made(leaf)), how
            with pytest.raises(RuntimeError, match="created explicitly by the user"):
                copy.deepcopy(leaf * 1)
