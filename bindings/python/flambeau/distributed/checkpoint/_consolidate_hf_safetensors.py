"""One file of several in the layout of Hugging Face's hub: unsupported, by name."""

from ... import _refused

__all__ = ["consolidate_safetensors_files"]

consolidate_safetensors_files = _refused.function(
    "torch.distributed.checkpoint._consolidate_hf_safetensors",
    "consolidate_safetensors_files",
    "format_utils.dcp_to_torch_save makes one file of a checkpoint",
)
