"""Checkpoints in the layout of Hugging Face's hub: unsupported, by name."""

from ... import _refused

_WHY = (
    "checkpoints are directories of this engine's own layout, whose tensors lie in safetensors "
    "files; flambeau.safetensors reads and writes whole models for others"
)
_NAMES = "HuggingFaceStorageReader HuggingFaceStorageWriter"
__all__ = _NAMES.split()

globals().update(_refused.names("torch.distributed.checkpoint.hf_storage", _NAMES, _WHY))
