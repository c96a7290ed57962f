"""`torch.__future__`: how `Module.to` and its kin put parameters that moved in their places."""

from ._errors import UnsupportedError

_overwrites = False


def set_overwrite_module_params_on_conversion(value):
    """Whether a module that moves gets new parameters, instead of new data in its old ones."""
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion():
    """What `set_overwrite_module_params_on_conversion` set; False at first."""
    return _overwrites


def set_swap_module_params_on_conversion(value):
    """Only False: parameters are not swapped with others."""
    if value:
        raise UnsupportedError(
            "torch.__future__.set_swap_module_params_on_conversion(True) is unsupported: "
            "parameters keep their objects and take new data"
        )


def get_swap_module_params_on_conversion():
    """False."""
    return False
