"""How the library calls a communication hook of DistributedDataParallel: it
begins to reduce a bucket and returns a future, whose value the end of backward waits for."""

import weakref

from ..._call import _fast, _raise
from ..._callbacks import DROP_SECOND, given_away, guarded, keep, table, value_of
from ..._tensor import Tensor
from ...distributed._grad_bucket import GradBucket
from ...distributed._summary import in_hook
from ...futures import Future


# `void *user` stands for (a weak reference to the module, the hook's state, the hook): the
# library's object holds it, and the module that.
@guarded("flam_py_ddp_hook_begin")
def _begin(user, bucket, buffer, out_pending):
    module, state, hook = value_of(user)
    with in_hook():
        future = hook(state, GradBucket(module()._ddp, bucket))
    if not isinstance(future, Future):
        raise TypeError(
            "a communication hook must return a torch.futures.Future of a tensor, got "
            f"{type(future).__name__}; begin a collective with async_op=True and return its "
            "get_future(), or set a Future's result"
        )
    out_pending[0] = keep(future)


@guarded("flam_py_ddp_hook_finish")
def _finish(user, pending, out_reduced):
    with in_hook():
        value = value_of(pending).wait()
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Tensor):
        raise TypeError(
            "the future of a communication hook must have one tensor as its value, got "
            f"{type(value).__name__}"
        )
    out_reduced[0] = given_away(value)


_FUNCTIONS = {"begin": _begin, "finish": _finish, "drop_pending": DROP_SECOND}


def register(module, state, hook):
    """Has `hook(state, bucket)` reduce the gradients of a DistributedDataParallel."""
    made = table("flam_ddp_hook", (weakref.ref(module), state, hook), **_FUNCTIONS)
    if _fast.flam_ddp_register_hook(module._ddp._h, made):
        _raise()
