"""`torch.onnx`: writing ONNX files is unsupported and says so. What packages register for it when
they are imported is taken, and never asked for."""

from .. import _refused


def is_in_onnx_export():
    """Whether the program is being exported: never."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version):
    """Taken, and never asked for."""


def unregister_custom_op_symbolic(symbolic_name, opset_version):
    """Nothing is kept."""


_WHY = (
    "flambeau writes no ONNX files. Save the state_dict with torch.save, load it into the same "
    "model under PyTorch, and export there"
)
globals().update(_refused.names("torch.onnx", "export dynamo_export", _WHY))
