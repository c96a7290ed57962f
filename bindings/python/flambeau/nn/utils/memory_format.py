"""Weights of convolutions in another order in memory, of a module and all within it."""

from ..modules import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _converted(module, kinds, memory_format):
    for inner in module.modules():
        if isinstance(inner, kinds):
            inner.weight.data = inner.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lays the weights of two-dimensional convolutions out as `memory_format` says."""
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lays the weights of three-dimensional convolutions out as `memory_format` says."""
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
