"""`load`: into the tensors of a state dict, whatever sharding and number of ranks wrote the
checkpoint. A rank reads the bytes that overlap with what it holds. Nothing is written to before all
ranks have read and checked all of theirs."""

import io
import math
from collections.abc import Mapping

from ... import distributed as dist
from ... import serialization
from ..._deprecated import warn
from ..._factory import frombuffer
from ..._torch import empty, no_grad
from ._files import Files
from ._flatten import check_dict, leaves, nested
from ._pieces import Piece, held, is_tensor, part
from ._plain import decoded
from ._ranks import Ranks
from .api import DamagedCheckpoint
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner, checked
from .filesystem import FileSystemReader, chosen
from .resharding import common
from .stateful import Stateful

__all__ = ["load", "load_state_dict"]


def load(state_dict, *, checkpoint_id=None, storage_reader=None, planner=None, process_group=None,
         no_dist=False):  # fmt: skip
    """Reads a checkpoint into `state_dict`: tensors in it are written to where they are, other
    values are replaced, and objects with a state of their own take over what their `state_dict()`
    has then."""
    reader = chosen(storage_reader, checkpoint_id, FileSystemReader, "load", "storage_reader")
    planner = checked(planner, DefaultLoadPlanner, "load")
    into(state_dict, reader, planner, Ranks.asked(process_group, no_dist, "load"))


def load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None):  # fmt: skip
    """`load`, by its old name."""
    warn(
        "`load_state_dict` is deprecated and will be removed in future versions. Please use "
        "`load` instead.",
        FutureWarning,
    )
    options = {"process_group": process_group, "no_dist": no_dist, "planner": planner}
    load(state_dict, storage_reader=storage_reader, **options)


def _load_state_dict(state_dict, storage_reader, process_group=None, coordinator_rank=0,
                     no_dist=False, planner=None):  # fmt: skip
    """`load`, by the name under which programs take the planner of an empty dictionary along."""
    options = {"process_group": process_group, "no_dist": no_dist, "planner": planner}
    load(state_dict, storage_reader=storage_reader, **options)


def _load_state_dict_from_keys(keys=None, *, checkpoint_id=None, storage_reader=None,
                               process_group=None):  # fmt: skip
    """What a checkpoint holds at or below `keys`, or all of it, every tensor whole."""
    found, no_dist = {}, not dist.is_initialized()
    options = {"process_group": process_group, "no_dist": no_dist}
    options |= {"checkpoint_id": checkpoint_id, "storage_reader": storage_reader}
    load(found, planner=_EmptyStateDictLoadPlanner(keys), **options)
    return found


def _make(state_dict, reader, planner):
    if state_dict:
        raise ValueError(
            f"load: {type(planner).__name__} takes an empty dict, but there are "
            f"{', '.join(sorted(map(str, state_dict)))}"
        )
    state_dict.update(read_all(reader, planner.keeps))


def into(state_dict, reader, planner, ranks):
    """A load by these ranks."""
    if planner.makes:
        ranks.together("load", lambda: _make(state_dict, reader, planner))
        return
    asked = {}

    def read():
        check_dict(state_dict)
        for key, value in state_dict.items():
            asked[key] = value.state_dict() if isinstance(value, Stateful) else value
        found = _Found(reader.index(), reader.path)
        found.look_for(leaves(asked, planner.flatten_state_dict), planner.allow_partial_load)
        return found

    found = []
    saves = ranks.together("load", lambda: found.append(read()) or found[0].save)
    ranks.together("load", lambda: _same(saves))
    found[0].place()
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(asked[key])
        else:
            state_dict[key] = asked[key]


def _same(saves):
    if len(set(saves)) > 1:
        raise RuntimeError(
            f"the ranks read different checkpoints ({', '.join(saves)}): the directory is not the "
            "same for all of them, or was written to meanwhile"
        )


class _Found:
    """What was read, and where it goes."""

    def __init__(self, index, folder):
        self.save, self._index, self._folder = index["save"], index, folder
        self._tensors, self._values = [], []

    def look_for(self, wanted, partial):
        """Reads all that the leaves ask for."""
        with Files(self._folder, self._index["files"]) as files:
            for name, leaf in wanted.items():
                if is_tensor(leaf.value):
                    self._tensor(files, name, leaf.value, partial)
                elif not (isinstance(leaf.value, Mapping) and not leaf.value):
                    self._value(files, name, leaf, partial)

    def _entry(self, kind, name, partial):
        found = self._index[kind].get(name)
        if found is None:
            other = "values" if kind == "tensors" else "tensors"
            if name in self._index[other]:
                is_one = "is no tensor" if kind == "tensors" else "is a tensor"
                raise TypeError(
                    f"{name} {is_one} in the checkpoint, and in the state dict it is not so"
                )
            if not partial:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        return found

    def _tensor(self, files, name, value, partial):
        entry = self._entry("tensors", name, partial)
        if entry is None:
            return
        mine = held(name, value)
        if list(mine.shape) != entry["shape"]:
            raise ValueError(
                f"Size mismatch between saved torch.Size({entry['shape']}) and current: "
                f"torch.Size({list(mine.shape)}) for {name}"
            )
        for piece in mine.pieces:
            if any(n > 1 and not s for n, s in zip(piece.sizes, piece.tensor.stride())):
                raise ValueError(
                    f"{name}: elements of the tensor share memory; give a clone() of it"
                )
            self._tensors += read_piece(files, name, entry, piece)

    def _value(self, files, name, leaf, partial):
        entry = self._entry("values", name, partial)
        if entry is not None:
            self._values.append((leaf, read_value(files, name, entry)))

    @no_grad()
    def place(self):
        """Writes it to where it goes."""
        for to, source in self._tensors:
            to.copy_(source)
        for leaf, value in self._values:
            leaf.holder[leaf.key] = value


def read_piece(files, name, entry, wanted):
    """Pairs of a part of the wanted piece's tensor and what is to be there."""
    pairs, missing = [], math.prod(wanted.sizes)
    for stored in entry["pieces"]:
        found = common(wanted.offsets, wanted.sizes, stored["offsets"], stored["sizes"])
        if found is not None:
            start, sizes = found
            source = _read_box(files, name, entry["dtype"], stored, start, sizes)
            here = [a - o for a, o in zip(start, wanted.offsets)]
            pairs.append((part(wanted.tensor, here, sizes), source))
            missing -= math.prod(sizes)
    if missing:
        raise DamagedCheckpoint(f"{name}: the checkpoint's pieces lack {missing} elements of it")
    return pairs


def _read_box(files, name, dtype, stored, start, sizes):
    """A box of a stored piece, over the buffer that was read."""
    strides = [1] * len(sizes)
    for dim in range(len(sizes) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * stored["sizes"][dim + 1]
    first = sum((a - o) * s for a, o, s in zip(start, stored["offsets"], strides))
    count = 1 + sum((n - 1) * s for n, s in zip(sizes, strides))
    size = math.prod(stored["sizes"]) * dtype.itemsize
    begin, end = first * dtype.itemsize, (first + count) * dtype.itemsize
    buffer, offset = files.read(name, stored, size, begin, end)
    flat = frombuffer(buffer, dtype=dtype, count=count, offset=offset)
    return flat.as_strided(sizes, strides)


def read_value(files, name, entry):
    """A value that is no tensor."""
    if "json" in entry:
        return decoded(entry["json"])
    size = entry["bytes"]
    data, _ = files.read(name, entry, size, 0, size)
    try:
        return serialization.load(io.BytesIO(data), weights_only=True)
    except Exception as problem:
        raise RuntimeError(f"{name} cannot be loaded: {problem}") from problem


def read_all(reader, keep=lambda path: True):
    """A checkpoint as it was saved, or the part of it whose paths are to be kept, in this process's
    memory: nested as the state dict was, every tensor whole."""
    index, found = reader.index(), []
    with Files(reader.path, index["files"]) as files:
        for name, entry in index["tensors"].items():
            if keep(entry["path"]):
                made = empty(entry["shape"], dtype=entry["dtype"], device="cpu")
                whole = Piece((0,) * made.dim(), tuple(made.shape), made)
                for to, source in read_piece(files, name, entry, whole):
                    to.copy_(source)
                found.append((entry["path"], made))
        for name, entry in index["values"].items():
            if keep(entry["path"]):
                found.append((entry["path"], read_value(files, name, entry)))
    return nested(sorted(found, key=lambda pair: _order(pair[0])))


def _order(path):
    """Entries of lists come in order; keys do not matter."""
    return [(1, step, "") if isinstance(step, int) else (0, 0, str(step)) for step in path]
