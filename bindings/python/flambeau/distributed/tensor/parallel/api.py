"""`parallelize_module`: styles by the paths of modules."""

from fnmatch import fnmatch

from ...._deprecated import warn
from ...device_mesh import _active
from .style import ParallelStyle


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Lays a module over a mesh of one dimension: by a style, or by a dictionary from paths below
    it, in which `*` stands for any name, to styles."""
    mesh = device_mesh or (_active[-1] if _active else None)
    if mesh is None:
        raise RuntimeError("parallelize_module: give a device_mesh; no mesh is active")
    if mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module takes a DeviceMesh of one dimension, but got {mesh}; slice it, as "
            'in mesh["tp"]'
        )
    if parallelize_plan is None:
        warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so "
            "this parallelize_module call will do nothing."
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        first, _, rest = path.partition(".")
        found = [child for name, child in module.named_children() if fnmatch(name, first)]
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
        elif not found:
            warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching token "
                f"'{first}' in module {module}, skipping this plan entry."
            )
        for child in found if path else ():
            plan = {rest: style} if rest else style
            parallelize_module(child, mesh, plan, src_data_rank=src_data_rank)
    return module
