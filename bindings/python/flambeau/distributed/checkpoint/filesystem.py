"""Checkpoints in a directory that all ranks see: what writes one there, and what reads it."""

import contextlib
import enum
import os
import re

from ... import _refused
from ..._deprecated import warn
from ..._errors import UnsupportedError
from . import _files, _index
from .api import DamagedCheckpoint
from .metadata import of_index

_PLACES = "FileSystem FileSystemBase"
__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat", *_PLACES.split()]
globals().update(
    _refused.names(
        "torch.distributed.checkpoint.filesystem",
        _PLACES,
        "checkpoints are directories of this machine's files; a program copies one to where it is "
        "to stay",
    )
)

_ID = re.compile("[0-9a-f]{16}")


class SerializationFormat(enum.Enum):
    """How torch writes tensors. Here it is always safetensors, and the rest beside them."""

    TORCH_SAVE, SAFETENSORS = "torch_save", "safetensors"


class FileSystemWriter:
    """Saves into the directory `path`, which it makes. `overwrite=False` refuses to replace a
    checkpoint; `sync_files=False` leaves it to the system when bytes get to the disk, so that a
    machine that loses its power may lose the checkpoint. A rank writes one file, in one thread."""

    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1,
                 per_thread_copy_ahead=10_000_000, cache_staged_state_dict=False, overwrite=True,
                 _extensions=None,
                 serialization_format=SerializationFormat.TORCH_SAVE):  # fmt: skip
        if _extensions:
            raise UnsupportedError("FileSystemWriter: _extensions are unsupported")
        SerializationFormat(serialization_format)
        self.path, self.sync_files, self.overwrite = os.fspath(path), sync_files, overwrite
        self.warns = True  # of a checkpoint that is replaced

    checkpoint_id = property(lambda self: self.path)

    def reset(self, checkpoint_id=None):
        """Saves go to another directory from now on, where one is given."""
        if checkpoint_id is not None:
            self.path = os.fspath(checkpoint_id)

    def begin(self, first):
        """Before a rank writes: the directory is there, and may be written to. The `first` rank
        warns where a checkpoint is replaced."""
        if not os.path.isdir(self.path):
            os.makedirs(self.path, exist_ok=True)
            if self.sync_files:
                _files.flush_folder(os.path.dirname(os.path.abspath(self.path)))
        if os.path.exists(os.path.join(self.path, _index.NAME)):
            if not self.overwrite:
                raise RuntimeError(
                    f"Checkpoint already exists and self.overwrite=False: {self.path}; choose "
                    "another directory, or overwrite=True"
                )
            if first and self.warns:
                warn(
                    f"Detected an existing checkpoint in {self.path}, overwriting since "
                    "self.overwrite=True."
                )

    def write(self, file, entries):
        """A rank's file, on the disk with its name; its length, and where the entries lie."""
        path = os.path.join(self.path, file)
        length, records = _files.write_file(path, entries, self.sync_files)
        try:
            self._flush()
        except BaseException:
            _files.remove(path)
            raise
        return length, records

    def remove(self, file):
        """Takes a file back."""
        _files.remove(os.path.join(self.path, file))

    def commit(self, index):
        """Makes the checkpoint valid, by its first rank when all have written. An error that comes
        once the index has its name is returned: the checkpoint is valid, if not on the disk."""
        path, part = (
            os.path.join(self.path, n) for n in (_index.NAME, f"index.{index['save']}.part")
        )
        _files.replace_file(path, part, _index.to_bytes(index), self.sync_files)
        try:
            self._flush()
        except OSError as problem:
            return problem
        return self._clean(index)

    def _flush(self):
        if self.sync_files:
            _files.flush_folder(self.path)

    def _clean(self, index):
        """Removes what former saves left in the directory, as far as that is possible, and nothing
        else."""
        with contextlib.suppress(OSError):
            for file in os.listdir(self.path):
                match = _index.FILE.fullmatch(file) or _index.PART.fullmatch(file)
                if match and match[1] != index["save"]:
                    self.remove(file)


class FileSystemReader:
    """Reads the checkpoint in the directory `path`."""

    def __init__(self, path):
        self.path = os.fspath(path)

    checkpoint_id = property(lambda self: self.path)

    def reset(self, checkpoint_id=None):
        """Loads come from another directory from now on, where one is given."""
        if checkpoint_id is not None:
            self.path = os.fspath(checkpoint_id)

    def read_metadata(self):
        """What the checkpoint holds."""
        return of_index(self.index(), self.path)

    def index(self):
        """The checkpoint's index, checked."""
        path = os.path.join(self.path, _index.NAME)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except (FileNotFoundError, NotADirectoryError):
            self._say_absent()
        index = _index.of_bytes(data, path)
        if not _ID.fullmatch(str(index["save"])):
            raise DamagedCheckpoint(f"{path}: {index['save']!r} names no save")
        return index

    def _say_absent(self):
        why = "there is no such directory"
        if os.path.isdir(self.path):
            why = f"the directory has no {_index.NAME}, so no save into it was completed"
            if os.path.exists(os.path.join(self.path, ".metadata")):
                why = (
                    "it is a checkpoint of PyTorch's own layout, which is unsupported: convert it "
                    "there with torch.distributed.checkpoint.format_utils.dcp_to_torch_save"
                )
        raise FileNotFoundError(f"{self.path} holds no checkpoint: {why}") from None


def chosen(given, checkpoint_id, kind, what, option):
    """The writer or reader of a call."""
    if given is None:
        if checkpoint_id is None:
            raise RuntimeError(
                f"{what}: checkpoint_id must be specified if {option} is None. Give the directory: "
                f'{what}(..., checkpoint_id="checkpoint")'
            )
        return kind(checkpoint_id)
    if not isinstance(given, kind):
        raise UnsupportedError(
            f"{what}: {option} of type {type(given).__name__} is unsupported; give a "
            f"{kind.__name__}"
        )
    given.reset(checkpoint_id)
    return given
