"""Views: a result that shares its operand's memory shows what is written to either, and gradients
know of such writes.
"""

import flambeau
import numpy as np
import pytest

from . import binding, numeric
from .cases import cases, results, tensors_of

# One operation in torch; the results of hsplit and its like are slices, each an operation.
SEVERAL_VIEWS = {"chunk", "split", "split_with_sizes", "unbind"}


def shared(row, device):
    if row.view in (False, None):
        return
    for case in cases(row, row.dtypes[0]):
        t = case.on(device)[0]
        rest = case.on(device)[1:]
        views = results(case.call([t, *rest], device))
        t.copy_(flambeau.flip(t.reshape(-1), [0]).reshape(t.shape))
        want = results(row.ref(binding.array(t), *case.arrays[1:], **case.options))
        for view, w in zip(views, want, strict=True):
            np.testing.assert_array_equal(
                binding.array(view), w, err_msg=f"{case.what}: does not show what is written"
            )
        for view in filter(writable, views):
            view.fill_(1)
            view.zero_()
            assert (binding.array(t) == 0).sum() >= view.numel(), (
                f"{case.what}: a write to the view does not reach its operand"
            )


def based(row, device):
    """A view of an operand knows the program's own object."""
    for case in cases(row, row.dtypes[0]) if row.view is not False else ():
        ts = case.on(device)
        places = {t.untyped_storage().data_ptr() for t in ts if t.numel()}
        for y in tensors_of(case.call(ts, device)):
            if y._is_view() and y.untyped_storage().data_ptr() in places:
                assert any(y._base is t for t in ts), f"{case.what}: its base is another object"


def writable(view):
    """Whether each of its elements has a place of its own."""
    places = np.zeros(tuple(view.shape), int)
    for axis, step in enumerate(view.stride()):
        shape = [-1 if i == axis else 1 for i in range(places.ndim)]
        places = places + (np.arange(view.shape[axis]) * step).reshape(shape)
    return 0 < places.size == np.unique(places).size


def copied(row, device):
    """Results of other ops have memory of their own."""
    if row.view is not False:
        return
    for case in cases(row, row.dtypes[0]):
        ts = case.on(device)
        places = {t.data_ptr() for t in ts if t.numel()}
        for y in tensors_of(case.call(ts, device)):
            assert not y.numel() or y.data_ptr() not in places, (
                f"{case.what}: its result is its operand"
            )


def written_views_have_gradients(row):
    """A write to a view of a tensor with a history changes that tensor's gradient, too; one to one
    of several views is refused, as PyTorch does.
    """
    if not row.view or not row.grad:
        return
    for case in cases(row, "float64"):
        if not any(case.differentiable):
            continue
        if row.name in SEVERAL_VIEWS:
            ts = [t * 1.0 if t.requires_grad else t for t in case.leaves("cpu")[0]]
            made = case.call(ts, "cpu")
            for view in filter(writable, made):
                with pytest.raises(RuntimeError, match="returns multiple views"):
                    view.mul_(2.0)
            continue

        def write(*ts):
            bases = [t * 1.0 if d else t for t, d in zip(ts, case.differentiable)]
            for i, view in enumerate(results(case.call(bases, "cpu"))):
                if writable(view):
                    view.mul_(2.0 + i)
            return [b for b, d in zip(bases, case.differentiable) if d]

        numeric.check_gradients(
            write, case.arrays, case.differentiable, f"{case.what} written to", False
        )
