"""`torch.__future__`: how `Module.to` and its kin put parameters that moved in their places."""

_overwrites = _swaps = False


def set_overwrite_module_params_on_conversion(value):
    """Whether a module that moves gets new parameters, instead of new data in its old ones."""
    global _overwrites
    _overwrites = value


def get_overwrite_module_params_on_conversion():
    """What `set_overwrite_module_params_on_conversion` set; False at first."""
    return _overwrites


def set_swap_module_params_on_conversion(value):
    """Whether a parameter that moves or is loaded exchanges everything with a new one, by
    `utils.swap_tensors`; wins over the other switch."""
    global _swaps
    _swaps = value


def get_swap_module_params_on_conversion():
    """What `set_swap_module_params_on_conversion` set; False at first."""
    return _swaps
