"""`torch.onnx`: writing ONNX files is unsupported and says so. What packages register for it when
they are imported is taken, and never asked for."""

from .._errors import UnsupportedError


def is_in_onnx_export():
    """Whether the program is being exported: never."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Taken, and never asked for."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Nothing is kept."""


def _refused(name):
    def refuse(*args, **kwargs):
        raise UnsupportedError(
            f"torch.onnx.{name} is unsupported: flambeau writes no ONNX files. Save the state_dict "
            "with torch.save, load it into the same model under PyTorch, and export there"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Unsupported: see this module."
    return refuse


export = _refused("export")
dynamo_export = _refused("dynamo_export")
