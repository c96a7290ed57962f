"""Walks over a module tree: naming parameters, buffers and children; modes; moves to a device or
dtype.

Every walk visits a shared parameter or module once, under the first name it is met by."""

from ... import __future__ as future
from ..._tensor import goal_of
from ..._torch import empty_like, no_grad
from ..._types import device as device_type
from ..._types import dtype_of
from ...utils import swap_tensors
from ..parameter import Parameter, is_lazy
from ._paths import tell

_NO_DATA = (
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
    "torch.nn.Module.to() when moving module from meta to a different device."
)


class WalkMixin:
    """The part of Module that visits its tree."""

    # ---- names

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Yields (path, module) for this module and all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from child.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate=True):
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        memo = set()
        for name, child in self._modules.items():
            if child is not None and child not in memo:
                memo.add(child)
                yield name, child

    def children(self):
        for _, child in self.named_children():
            yield child

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        """Yields (path, value) of what a function finds in every module."""
        memo = set()
        modules = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, tensor in get_members_fn(module):
                if tensor is None or id(tensor) in memo:
                    continue
                if remove_duplicate:
                    memo.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yields (path, parameter)."""
        members = lambda module: module.__dict__["_parameters"].items()
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Yields (path, buffer)."""
        members = lambda module: module.__dict__["_buffers"].items()
        yield from self._named_members(members, prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module at a dotted path below this one."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, WalkMixin):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Puts a module at a dotted path below this one; with `strict` in another's place only."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, WalkMixin):
            raise ValueError(
                "Expected module to be an instance of nn.Module, got " + type(module).__name__
            )
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{type(parent).__name__} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), WalkMixin):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        return self._get_member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        return self._get_member(target, "_buffers", "a buffer")

    def _get_member(self, target, group, what):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[group]:
            raise AttributeError(f"`{name}` is not {what}")
        return module.__dict__[group][name]

    # ---- modes and gradients

    def train(self, mode=True):
        """Training mode on (or off) for this module and all below it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    grad.detach().zero_()

    # ---- moves: parameters and buffers keep their identity, so optimizers made before still hold
    # them

    def apply(self, fn):
        """Calls `fn(module)` on every module below this one, then on this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        for child in self.children() if recurse else ():
            child._apply(fn)
        with no_grad():
            for name, parameter in self._parameters.items():
                if parameter is not None:
                    self._parameters[name] = _moved_parameter(parameter, fn)
                    tell(self, name)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    moved = fn(buffer)
                    self._buffers[name] = buffer.there(moved) if is_lazy(buffer) else moved
        return self

    def to(
        self, *args, device=None, dtype=None, non_blocking=False, copy=None, tensor=None,
        memory_format=None
    ):  # fmt: skip
        """Moves and casts parameters and buffers in place: `to(device)`, `to(dtype)`,
        `to(tensor)`; lays those of images out in a `memory_format`. A real dtype leaves complex
        ones as they are."""
        args = args if tensor is None else (tensor, *args)
        if args:
            named = device, dtype, non_blocking, copy
            device, dtype, non_blocking, copy = goal_of(args, *named)
        if copy is not None:
            raise RuntimeError(".to() does not accept copy argument")
        device = None if device is None else device_type(device)
        dtype = None if dtype is None else dtype_of(dtype)
        to_complex = dtype is not None and dtype.is_complex
        if dtype is not None and not (dtype.is_floating_point or to_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got desired "
                f"dtype={dtype}"
            )

        def moved(t):
            if t.is_meta and device is not None and device.type != "meta":
                raise NotImplementedError(_NO_DATA)
            return t.to(
                device,
                dtype if t.is_floating_point() or (to_complex and t.is_complex()) else None,
                non_blocking=non_blocking,
                memory_format=memory_format if t.ndim in (4, 5) else None,
            )

        return self._apply(moved)

    def cuda(self, device=None):
        return self._apply(lambda t: t.cuda(device))

    def cpu(self):
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type):
        return self._apply(lambda t: t.type(dst_type))

    def share_memory(self):
        """Moves parameters and buffers into memory that processes share."""
        return self._apply(lambda t: t.share_memory_())

    def to_empty(self, *, device, recurse=True):
        """Parameters and buffers on `device`, with memory that is not set."""
        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def compile(self, *args, **kwargs):
        """Runs the module as it is written; a warning says so once in a process."""
        from ...compiler import compile

        compile(self, *args, **kwargs)


def exchange(mine, new):
    """A tensor of a module becomes what the new one is; a parameter stays a parameter."""
    new = new.detach()
    if isinstance(mine, Parameter) and not isinstance(new, Parameter):
        new = Parameter(new, mine.requires_grad)
    swap_tensors(mine, new)


def _moved_parameter(parameter, fn):
    grad = parameter.grad
    moved = fn(parameter)
    if future.get_swap_module_params_on_conversion():
        exchange(parameter, moved)
    elif moved is not parameter and future.get_overwrite_module_params_on_conversion():
        parameter = Parameter(moved, parameter.requires_grad)
    elif moved is not parameter:
        parameter.grad = None
        parameter.data = moved
    if grad is not None:
        parameter.grad = fn(grad)
    return parameter


def _cast(name):
    def cast(self):
        return self._apply(lambda t: getattr(t, name)() if t.is_floating_point() else t)

    cast.__name__ = cast.__qualname__ = name
    return cast


for _name in "float", "double", "half", "bfloat16":
    setattr(WalkMixin, _name, _cast(_name))
