"""What the library is told of Python's modules, so that error texts and memory reports name them by
path: which parameters and children each has, by name. Python's dictionaries are the tree; state
dicts, moves, order and calls ask nothing else. They have no links to parents, so that no scope
could tell a path while a module runs, nor an error that of a parameter used outside of a call;
the library's tree keeps both.

Every Module has a `flam_module` without a forward, made when something is first registered; `tell`
repeats one registration there. Three kinds of entry have no path and are left out: one whose name
is no part of a path, a child that holds the module it is registered with, and one that is no
module yet or only passes for one (its `__init__` did not run, or it is a mock)."""

from ..._deprecated import PACKAGE
from ..._errors import Error
from ..._gen import api
from ..._gen.api import module_handle

KEY = "_flam"

# A program's own `__getstate__` may return the dictionary whole: a copy has no place in the tree.
module_handle.__reduce__ = lambda handle: (type(None), ())


def handle_of(module):
    """The module's handle, made with all that is registered where there is none yet."""
    state = module.__dict__
    handle = state.get(KEY)
    if handle is None:
        handle = state[KEY] = api.module_new(type(module).__name__)
        for name in (*state["_parameters"], *state["_modules"]):
            _put(handle, module, name)
    return handle


def tell(module, name):
    """Repeats what is now registered under `name`, a parameter, a child or neither."""
    handle = handle_of(module)
    if _is_part_of_a_path(name):
        api.module_remove(handle, name)
        _put(handle, module, name)


def _put(handle, module, name):
    parameter, child = module._parameters.get(name), module._modules.get(name)
    if not _is_part_of_a_path(name):
        return
    if parameter is not None:
        there = parameter._inside() if hasattr(parameter, "_inside") else parameter
        api.module_name_parameter(handle, name, there)
    elif "_modules" in getattr(child, "__dict__", ()) and not _holds(child, module, set()):
        api.module_set_child(handle, name, handle_of(child))


def _is_part_of_a_path(name):
    return isinstance(name, str) and name != "" and "." not in name


def _holds(module, wanted, seen):
    """Whether a module is `wanted` or holds it."""
    if module is wanted:
        return True
    seen.add(id(module))
    children = (c for c in module._modules.values() if c is not None and id(c) not in seen)
    return any(_holds(child, wanted, seen) for child in children)


def place(problem, module):
    """Adds the path of the module that is left first to what the package raised in it, in the form
    of the library's own errors. What a program raises stays as it is."""
    last = problem.__traceback__
    call = last.tb_frame.f_code
    while last.tb_next:
        last = last.tb_next
        if last.tb_frame.f_code is call:  # an inner module was left before
            return
    ours = (last.tb_frame.f_globals.get("__name__", "") + ".").startswith(PACKAGE)
    plain = type(problem).__module__ in ("builtins", Error.__module__)
    other = isinstance(problem, (KeyError, Warning))  # its argument is the key, or matched whole
    if not ours or not plain or other or [*map(type, problem.args)] != [str]:
        return
    (text,) = problem.args
    path, kind = api.module_path(handle_of(module)), type(module).__name__
    where = f'"{path}" ({kind})' if path else kind
    if "\n  in " not in text and where not in text:
        problem.args = (f"{text}\n  in {where}",)
