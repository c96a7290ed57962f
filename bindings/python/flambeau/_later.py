"""Names whose modules are loaded on first use, so that the import stays short: where each is.

`FUNCTIONS` are torch's, by module; `METHODS` are those of them that tensors have, too."""

import importlib

from ._tensor import Tensor

_BY_MODULE = {
    "_copies": (
        "alias_copy as_strided_copy detach_copy diagonal_copy empty_permuted "
        "expand_copy fill narrow_copy nonzero_static permute_copy put resize_as_ select_copy "
        "slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy "
        "unbind_copy unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy "
        "view_copy"
    ),
    "_reals": (
        "angle conj conj_physical conj_physical_ imag is_conj is_neg isreal real resolve_conj "
        "resolve_neg"
    ),
    "_windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "_segments": "segment_reduce",
    "_sampled": "gradient histogram histogramdd unravel_index",
    "_lowrank": "pca_lowrank svd_lowrank",
    "_linalg_old": "lu lu_solve pinverse qr svd triangular_solve",
}
FUNCTIONS = {name: module for module, names in _BY_MODULE.items() for name in names.split()}
_OF_TENSORS = (
    "angle conj conj_physical conj_physical_ histogram is_conj is_neg isreal lu lu_solve "
    "narrow_copy new_empty_strided nonzero_static put resolve_conj resolve_neg unsafe_chunk "
    "unsafe_split unsafe_split_with_sizes"
).split()


def _method(name):
    def method(self, *args, **named):
        module = importlib.import_module("." + FUNCTIONS.get(name, "_copies"), __package__)
        return getattr(module, name)(self, *args, **named)

    method.__name__ = method.__qualname__ = name
    return method


def _part(name):
    def part(self):
        from . import _reals

        return getattr(_reals, name)(self)

    return property(part)


for _name in _OF_TENSORS:
    setattr(Tensor, _name, _method(_name))
Tensor.real, Tensor.imag = _part("real"), _part("imag")
