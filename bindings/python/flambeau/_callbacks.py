"""Python objects and functions as C sees them: `void *user`, `drop`, and failures that keep their
exception.

`keep(value)` gives a pointer that stays good until the library calls `DROP` on it, exactly once. A
trampoline that fails records the exception object itself; `_call._raise` raises that same object at
the caller."""

from . import _deprecated, _thread_state
from ._call import _NULL, _fast, _raise, ffi, wrap
from ._library import owner

_alive = owner.alive  # handles cffi made; they live until dropped
owner.count_uses_by(int(ffi.cast("uintptr_t", ffi.addressof(_fast, "flam_tensor_use_count"))))
DROP = ffi.addressof(_fast, "flam_py_drop")
DROP_SECOND = ffi.addressof(_fast, "flam_py_drop_second")  # of what a callback gets
OK, CALLBACK = 0, 19  # FLAM_OK, FLAM_ERROR_CALLBACK


ffi.def_extern(name="flam_py_error_set_drop")(_alive.discard)


def keep(value, tensor=None):
    """A `void *` that stands for `value` until `DROP` is called on it. What is kept for a tensor
    alone is found by Python's garbage collector."""
    handle = ffi.new_handle(value)
    _alive.add(handle)
    if tensor is not None:
        owner.hang(tensor, handle, int(ffi.cast("uintptr_t", tensor._h)))
    return handle


def table(kind, value, tensor=None, **functions):
    """A struct of callbacks of this C type, whose `user` stands for `value`, kept for a tensor."""
    made = ffi.new(f"{kind} *")
    made.struct_size, made.user, made.drop = ffi.sizeof(kind), keep(value, tensor), DROP
    for name, function in functions.items():
        setattr(made, name, function)
    return made


def is_kept(user):
    """Whether a pointer is one of `keep`'s: other languages have their own."""
    return user in _alive


def value_of(user):
    """What `keep` was given."""
    return ffi.from_handle(user)


def failed(problem):
    """Records an exception as this thread's error; what a trampoline returns then."""
    import traceback  # by programs whose callbacks fail: it takes as long to load as the package

    text = "".join(traceback.format_exception_only(type(problem), problem)).strip()
    _fast.flam_error_set(text.encode("utf-8", "replace"), keep(problem), DROP)
    return CALLBACK


def guarded(name):
    """Makes a function the implementation of trampoline `name`; what it raises becomes the call's
    failure. CFFI catches it, for an interrupt may come before a first `try` here."""

    def define(function):
        def run(*args):
            _fast.flam_frame_leave()  # Python's objects release their handles themselves
            function(*args)
            return OK

        def fail(kind, problem, traceback):
            return failed(problem.with_traceback(traceback))

        ffi.def_extern(name=name, error=CALLBACK, onerror=fail)(run)
        return getattr(_fast, name)

    return define


def borrowed(h, cls=None):
    """A Python tensor for a handle that the caller keeps; None for NULL."""
    return None if h == _NULL else wrap(_fast.flam_tensor_retain, h, cls=cls)


def given_away(tensor):
    """A new reference for the library to own."""
    return _NULL if tensor is None else _fast.flam_tensor_retain(tensor._h)


# ---- warnings of the library: each stands at the line of the program, as those of Python's


@guarded("flam_py_warning_callback_warn")
def _warn(user, kind, message):
    _deprecated.warn(ffi.string(message).decode("utf-8", "replace"))


_warnings = table("flam_warning_callback", None, warn=_warn)
_warnings.language = 1  # FLAM_LANGUAGE_PYTHON
if _fast.flam_set_warning_callback(_warnings):
    _raise()


# ---- a thread's state: registered here, for only callbacks see that their thread is another one


@guarded("flam_py_thread_state_take")
def _take(user, out_state):
    out_state[0] = keep(_thread_state.take())


@guarded("flam_py_thread_state_give")
def _give(user, state):
    _thread_state.give(value_of(state))


_state = table("flam_thread_state", None, take=_take, give=_give, drop_state=DROP_SECOND)
_fast.flam_hook_release(_fast.flam_thread_state_register(_state))
