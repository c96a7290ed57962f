"""The library's own tree beside the Python one, so that error texts and memory reports can name
modules by path.

Every Module has a `flam_module` without a forward, made when something is first registered; `sync`
repeats one registration there. The Python dictionaries stay the truth: state dicts, order and calls
never ask the mirror."""

from ..._errors import Error
from ..._gen import api

KEY = "_flam"


def mirror(module):
    """The module's counterpart, made with all that is registered where it does not exist yet."""
    state = module.__dict__
    handle = state.get(KEY)
    if handle is None:
        handle = state[KEY] = api.module_new(type(module).__name__)
        for group in "_parameters", "_buffers", "_modules":
            for name in state[group]:
                _put(handle, module, group, name)
    return handle


def sync(module, name):
    """Repeats what is now registered under `name`."""
    handle = mirror(module)
    if isinstance(name, str):
        api.module_remove(handle, name)
    for group in "_parameters", "_buffers", "_modules":
        if name in module.__dict__[group]:
            _put(handle, module, group, name)


def _put(handle, module, group, name):
    value = module.__dict__[group][name]
    if value is None or not isinstance(name, str):  # `_modules[block] = block` is seen, too
        return
    try:
        if group == "_parameters":
            api.module_set_parameter(handle, name, value)
        elif group == "_buffers":
            api.module_set_buffer(
                handle, name, value, name not in module._non_persistent_buffers_set
            )
        else:
            api.module_set_child(handle, name, mirror(value))
    except Error:
        # Python allows what the library's tree does not, such as a child that refers back to its
        # parent: it stays out of the mirror, and errors name it without a path.
        return
