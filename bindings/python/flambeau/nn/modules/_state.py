"""State dicts of modules: collecting them, and loading them with torch's report of what does not
fit.

Loading writes into the existing tensors (or replaces them with `assign=True`), so optimizers stay
valid."""

import warnings
from collections import OrderedDict, namedtuple

from ... import __future__ as future
from ..._torch import Tensor, no_grad
from ...utils.hooks import register
from ..parameter import Parameter, is_lazy
from ._paths import tell
from ._walk import exchange


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


_EXTRA = "_extra_state"


def _load_below(module, state, prefix, metadata, assign, found):
    """Loads a module and its children from what of the state begins with `prefix`; `found` are the
    keys that are missing, those that nobody expects, and errors."""
    missing, unexpected, errors = found
    local = dict(metadata.get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            part = {k: v for k, v in state.items() if k.startswith(below)}
            _load_below(child, part, below, metadata, assign, found)
    for hook in module._load_state_dict_post_hooks.values():
        hook(module, _IncompatibleKeys(missing, unexpected))


class StateMixin:
    """The part of Module that saves and loads."""

    _version = 1

    def get_extra_state(self):
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called."
        )

    def set_extra_state(self, state):
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called."
        )

    def _saved_buffers(self):
        left_out = self._non_persistent_buffers_set
        return {name: t for name, t in self._buffers.items() if name not in left_out}

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in (*self._parameters.items(), *self._saved_buffers().items()):
            if tensor is not None:
                whole = keep_vars or is_lazy(tensor)
                destination[prefix + name] = tensor if whole else tensor.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An OrderedDict from dotted names to tensors that share memory with the module's."""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, local)
            if changed is not None and hasattr(hook, "_from_public_api"):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if changed is None else changed
        return destination

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        about = state_dict, prefix, local_metadata, strict
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, *about, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        saved = self._saved_buffers()
        for name, mine in {**self._parameters, **saved}.items():
            if mine is None:
                continue
            key = prefix + name
            if key in state_dict:
                _load_tensor(self, name, mine, key, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            self._find_unexpected(state_dict, prefix, saved, unexpected_keys)

    def _load_extra(self, state_dict, prefix, strict, missing_keys, unexpected_keys):
        key = prefix + _EXTRA
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _find_unexpected(self, state_dict, prefix, saved, unexpected_keys):
        for key in state_dict:
            if key.startswith(prefix) and key != prefix + _EXTRA:
                head, *rest = key[len(prefix) :].split(".", 1)
                known = head in self._modules if rest else head in self._parameters or head in saved
                if not known:
                    unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies tensors by name into this module; with `strict` every name must match."""
        if not hasattr(state_dict, "keys"):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = found = [], [], []
        metadata = getattr(state_dict, "_metadata", {})
        _load_below(self, OrderedDict(state_dict), "", metadata, assign, found)
        if strict:
            for keys, what in (unexpected, "Unexpected"), (missing, "Missing"):
                if keys:
                    names = ", ".join(f'"{key}"' for key in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if errors:
            told = "\n\t".join(errors)
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{told}"
            )
        return _IncompatibleKeys(missing, unexpected)

    def register_state_dict_post_hook(self, hook):
        getattr(hook, "__func__", hook)._from_public_api = True
        return register(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        if hasattr(hook, "_from_public_api"):
            raise RuntimeError("previously registered via register_state_dict_post_hook")
        return register(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        return register(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook):
        return register(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """The older form, which packages call: without the module unless it is asked for."""
        return register(
            self._load_state_dict_pre_hooks, hook if with_module else lambda _, *about: hook(*about)
        )

    def register_load_state_dict_post_hook(self, hook):
        return register(self._load_state_dict_post_hooks, hook)


def _load_tensor(module, name, mine, key, value, assign, error_msgs):
    if not isinstance(value, Tensor):
        error_msgs.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
            f"object from checkpoint but received {type(value)}"
        )
        return
    if is_lazy(mine) and is_lazy(value):
        return  # both stay without a shape
    if not is_lazy(mine) and mine.dim() == 0 and value.dim() == 1 and value.numel() == 1:
        value = value[0]
    if mine.shape != value.shape:
        error_msgs.append(
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {mine.shape}."
        )
        return
    try:
        if future.get_swap_module_params_on_conversion():
            with no_grad():
                exchange(mine, mine.module_load(value, assign=assign))
            tell(module, name)
        elif assign:
            if isinstance(mine, Parameter) and isinstance(value, Parameter):
                value.requires_grad_(mine.requires_grad)
            elif isinstance(mine, Parameter):
                value = Parameter(value, mine.requires_grad)
            setattr(module, name, value)
        else:
            if mine.is_meta and not value.is_meta:
                warnings.warn(
                    f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                    "parameter in the current model, which is a no-op. (Did you mean to pass "
                    "`assign=True` to assign items in the state dictionary to their corresponding "
                    "key in the module instead of copying them in place?)",
                    stacklevel=4,
                )
            with no_grad():
                mine.copy_(value)
    except Exception as problem:
        error_msgs.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are '
            f"{mine.size()} and whose dimensions in the checkpoint are {value.size()}, "
            f"an exception occurred : {problem.args}."
        )
