"""Methods of tensors whose modules are loaded on first use, so that the import stays short: where
each is, and the function that it is there."""

import importlib

from . import _refused
from ._on_demand import by_name
from ._tensor import Tensor, disabled_torch_function

# By module: methods that are the function of their name, or `method=function`.
_LAZY = {
    "_complex": "conj imag is_conj is_neg isreal real resolve_conj resolve_neg",
    "_copies": "narrow_copy new_empty_strided nonzero_static put to_dense unsafe_chunk "
    "unsafe_split unsafe_split_with_sizes",
    "_deprecated.linalg": "eig lstsq lu lu_solve pinverse qr solve svd symeig triangular_solve",
    "_dlpack": "__dlpack__=export",
    "_exchange": "__copy__=shallow_copy __deepcopy__=deep_copy __reduce_ex__=reduced "
    "numpy=to_numpy tolist=to_list",
    "_storage": "storage=TypedStorage storage_type untyped_storage=storage_of",
    "_unique": "unique unique_consecutive",
    "autograd.graph": "grad_fn=node_of register_hook register_post_accumulate_grad_hook",
    "multiprocessing.shared": "is_shared share_memory_",
    "nn.parameter": "module_load",
    "overrides": "as_subclass",
    "random": "random_",
}


def _function(module, name):
    return getattr(importlib.import_module("." + module, __package__), name)


def _method(shown, module, name):
    found = None

    def method(self, *args, **named):
        nonlocal found
        found = found or _function(module, name)
        return found(self, *args, **named)

    method.__name__ = method.__qualname__ = shown
    return method


def _torch_function(cls, func, types, args=(), kwargs=None):
    return _function("overrides", "default_torch_function")(cls, func, types, args, kwargs)


def _init_subclass(cls, **named):
    """The first class that sees functions of tensors makes them ask it."""
    super(Tensor, cls).__init_subclass__(**named)
    if cls.__torch_function__ is not disabled_torch_function:
        _function("overrides", "install")()


for _entry, _module in by_name(_LAZY).items():
    _shown, _, _name = _entry.partition("=")
    setattr(Tensor, _shown, _method(_shown, _module, _name or _shown))
for _name, _why in (
    ("_make_wrapper_subclass", "a tensor holds memory; subclass with __torch_function__"),
    ("_lazy_clone", "a copy is made at once; use clone()"),
    ("_view_func", "a view is made anew by calling what made it"),
):
    setattr(Tensor, _name, staticmethod(_refused.function("torch.Tensor", _name, _why)))
Tensor.grad_fn = property(Tensor.grad_fn)
for _shown in ("imag", "real"):
    _set = _method("set_" + _shown, "_complex", "set_" + _shown)
    setattr(Tensor, _shown, property(getattr(Tensor, _shown), _set))
Tensor.__torch_function__ = classmethod(_torch_function)
Tensor.__init_subclass__ = classmethod(_init_subclass)
