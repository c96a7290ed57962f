"""Checkpoints of jobs of any number of processes: `torch.distributed.checkpoint`'s names over a
format of this engine's own.

A checkpoint is a directory. Each rank writes one safetensors file, `save-<id>-r<rank>.safetensors`,
where <id> are 16 hexadecimal digits, new for every save; it holds the rank's pieces of tensors, and
as bytes (U8) the values that are neither tensors nor JSON, in `torch.save`'s format. What several
ranks hold alike is written once, spread over them by bytes. `index.json` says

- `save` and `files`: the id, and each file's length;
- `tensors`: by name its dtype, global shape, path in the state dict, and pieces: offsets and sizes
  in the tensor, file, first byte there, and the CRC-32 of every MiB;
- `values`: by name its path, and the value as JSON or where its bytes lie;
- `crc32`, of the index itself as `_index.py` writes it.

A file that is complete is flushed to the disk, with its directory. When all ranks have said so,
rank 0 writes the index beside its place, flushes it and renames it: that rename is the commit.
Whatever happens before leaves the former checkpoint as it was, and what is left over then is
removed by the next save that succeeds. Loading reads the bytes that overlap with what is asked for
and checks all of them before the first tensor is written to."""

from ..._on_demand import by_name as _by_name
from ..._on_demand import loader as _loader

_BY_MODULE = {
    "api": "CheckpointException",
    "default_planner": "DefaultLoadPlanner DefaultSavePlanner",
    "filesystem": "FileSystemReader FileSystemWriter",
    "fsspec_filesystem": "FsspecReader FsspecWriter",
    "hf_storage": "HuggingFaceStorageReader HuggingFaceStorageWriter",
    "metadata": "BytesStorageMetadata ChunkStorageMetadata Metadata TensorStorageMetadata",
    "optimizer": "load_sharded_optimizer_state_dict",
    "planner": "LoadPlan LoadPlanner ReadItem SavePlan SavePlanner WriteItem",
    "protocol": "CheckpointableTensor",
    "storage": "StorageReader StorageWriter",
    "state_dict_loader": "load load_state_dict",
    "state_dict_saver": "async_save save save_state_dict",
}
__all__ = sorted(_by_name(_BY_MODULE))
_BESIDE = "format_utils resharding staging state_dict stateful utils"
_MODULES = " ".join([*_BY_MODULE, _BESIDE])
__getattr__ = _loader(globals(), _BY_MODULE, _MODULES)
