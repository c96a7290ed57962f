"""Where a rank's part of a tensor is."""

from ._layout import Layout, checked


def compute_local_shape_and_global_offset(global_shape, mesh, placements, skip_offset=False):
    """(shape, first element in each dimension) of this rank's part."""
    placed = checked("compute_local_shape_and_global_offset", mesh, placements, len(global_shape))
    shape, offset = Layout(mesh, placed, tuple(global_shape)).local()
    return shape, () if skip_offset else tuple(offset)


def compute_local_shape(global_shape, mesh, placements):
    """The shape alone."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]
