"""Scopes of recording: no_grad, enable_grad, inference_mode, set_grad_enabled; as `with` blocks and
decorators."""

import functools

from .._call import _fast
from .._deprecated import warn
from .._scope import Scope
from .._thread_state import ThreadState

_GENERATOR = 0x20  # inspect.CO_GENERATOR, without importing inspect


class _Scope(Scope):
    """Also a decorator: each call of a decorated function gets a scope of its own."""

    __slots__ = ()

    def _again(self):
        return type(self)()

    def __call__(self, function):
        if isinstance(function, type):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
            )
        code = getattr(function, "__code__", None)
        if code is not None and code.co_flags & _GENERATOR:
            return self._generator(function)

        @functools.wraps(function)
        def scoped(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return scoped

    def _generator(self, function):
        """A generator leaves the mode whenever it yields and takes it up again when resumed."""

        @functools.wraps(function)
        def scoped(*args, **kwargs):
            inner = function(*args, **kwargs)
            value = problem = None
            while True:
                try:
                    with self._again():
                        given = inner.send(value) if problem is None else inner.throw(problem)
                except StopIteration as end:
                    return end.value
                try:
                    value, problem = (yield given), None
                except GeneratorExit:
                    with self._again():
                        inner.close()
                    raise
                except BaseException as raised:
                    problem = raised

        return scoped


class _Bare(_Scope):
    """A scope without arguments, so that `@no_grad` works as `@no_grad()` does."""

    __slots__ = ()

    def __new__(cls, function=None):
        made = object.__new__(cls)
        if function is None:
            return made
        made._tokens = []
        return made(function)

    def __init__(self, function=None):
        self._tokens = []


class no_grad(_Bare):
    """Nothing is recorded inside."""

    __slots__ = ()
    _begin = _fast.flam_grad_mode_push, False


class enable_grad(_Bare):
    """Operations are recorded inside."""

    __slots__ = ()
    _begin = _fast.flam_grad_mode_push, True


class inference_mode(_Scope):
    """Nothing is recorded inside, and tensors made there stay outside autograd."""

    __slots__ = ("mode",)

    def __new__(cls, mode=True):
        made = object.__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__(True)
        return made(mode)

    def __init__(self, mode=True):
        self._tokens, self.mode = [], mode

    _begin = property(lambda self: (_fast.flam_inference_mode_push, self.mode))

    def _again(self):
        return inference_mode(self.mode)


class set_grad_enabled(_Scope):
    """Sets recording at once; as a `with` block, until its end."""

    __slots__ = ("mode", "_before")

    def __init__(self, mode):
        self._tokens, self.mode = [], bool(mode)
        self._before = bool(_fast.flam_grad_enabled())
        _fast.flam_set_grad_enabled(self.mode)

    def __enter__(self):
        _fast.flam_set_grad_enabled(
            self._before
        )  # the scope restores what was there before the constructor
        return _Scope.__enter__(self)

    _begin = property(lambda self: (_fast.flam_grad_mode_push, self.mode))

    def _again(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        _fast.flam_set_grad_enabled(self._before)
        return _Scope.__call__(self, function)


def is_grad_enabled():
    """Whether this thread records operations."""
    return bool(_fast.flam_grad_enabled())


def is_inference_mode_enabled():
    """Whether this thread is in inference mode."""
    return bool(_fast.flam_inference_enabled())


_threads = ThreadState(allowed=True)


class set_multithreading_enabled(_Scope):
    """Sets at once whether backward passes of this thread may use more threads; as a `with` block
    or a decorator, until its end. They never do: a pass walks on the thread that calls it."""

    __slots__ = ("mode", "_before")

    def __init__(self, mode):
        self.mode, self._before = bool(mode), _threads.allowed
        _threads.allowed = self.mode

    def __enter__(self):
        pass  # the constructor has set it

    def __exit__(self, *_):
        _threads.allowed = self._before

    def _again(self):
        return set_multithreading_enabled(self.mode)


def is_multithreading_enabled():
    """What `set_multithreading_enabled` said last; True at first."""
    return _threads.allowed
