"""`save` and `async_save`. Ranks tell each other what they hold and agree on who writes what; each
writes and flushes its file; when all have, the first writes the index, which is the commit."""

import enum
import io
import secrets
from concurrent.futures import ThreadPoolExecutor, wait

from ... import _refused, serialization
from ... import distributed as dist
from ..._deprecated import warn
from ..._errors import UnsupportedError
from ..._types import NAMES
from .._start import before_destroying
from . import _index, _plan
from ._files import Entry
from ._flatten import check_dict, leaves
from ._pieces import held, is_tensor
from ._plain import NotPlain, encoded
from ._ranks import Ranks
from .api import CheckpointException
from .default_planner import DefaultSavePlanner, checked
from .filesystem import FileSystemWriter, chosen
from .metadata import of_index
from .stateful import Stateful

_REFUSED = "AsyncSaveResponse"
__all__ = ["AsyncCheckpointerType", *_REFUSED.split(), "async_save", "save", "save_state_dict"]
globals().update(
    _refused.names(
        "torch.distributed.checkpoint.state_dict_saver",
        _REFUSED,
        "async_save has copied what it saves before it returns, and gives one future",
    )
)


class AsyncCheckpointerType(enum.Enum):
    """What goes on with a save; a thread does here."""

    THREAD = "thread"
    PROCESS = "process"


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None,
         no_dist=False, use_collectives=True):  # fmt: skip
    """Writes a checkpoint of what all ranks have, into a directory. Objects with a state of their
    own, such as modules, are asked for it. Returns the checkpoint's `Metadata`."""
    if not use_collectives:
        raise UnsupportedError(
            "save: use_collectives=False is unsupported: a checkpoint is valid when all ranks have "
            "said that their files are on the disk"
        )
    writer = chosen(storage_writer, checkpoint_id, FileSystemWriter, "save", "storage_writer")
    planner = checked(planner, DefaultSavePlanner, "save")
    return write(state_dict, writer, planner, Ranks.asked(process_group, no_dist, "save"))


def save_state_dict(state_dict, storage_writer, process_group=None, coordinator_rank=0,
                    no_dist=False, planner=None):  # fmt: skip
    """`save`, by its old name."""
    warn(
        "`save_state_dict` is deprecated and will be removed in future versions. Please use "
        "`save` instead.",
        FutureWarning,
    )
    options = {"process_group": process_group, "no_dist": no_dist, "planner": planner}
    return save(state_dict, storage_writer=storage_writer, **options)


def write(state_dict, writer, planner, ranks):
    """A save by these ranks, once none goes on in the background."""
    _background.wait()
    return _Save(state_dict, writer, planner, ranks).finish(ranks)


def async_save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None,
               process_group=None, async_checkpointer_type=AsyncCheckpointerType.THREAD,
               async_stager=None, no_dist=False, use_collectives=True):  # fmt: skip
    """Copies what this rank is to write, and returns a future of `save`, which a thread goes on
    with. One at a time: another save waits until this one is done, and so do the end of its
    process group and that of the program."""
    if not use_collectives or async_stager is not None:
        raise UnsupportedError(
            "async_save: stagers, and saves without collectives, are unsupported"
        )
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise UnsupportedError(
            f"async_save: async_checkpointer_type={async_checkpointer_type} is unsupported: a "
            "thread of this process goes on with a save"
        )
    what = "async_save"
    writer = chosen(storage_writer, checkpoint_id, FileSystemWriter, what, "storage_writer")
    planner = checked(planner, DefaultSavePlanner, what)
    _background.wait()
    ranks = Ranks.asked(process_group, no_dist, "save")
    begun = _Save(state_dict, writer, planner, ranks)
    begun.copy()
    others = ranks if ranks.size == 1 else _background.ranks(ranks)
    return _background.run(begun.finish, others)


class _Save:
    """A save that all ranks have agreed on, and of which nothing is written yet."""

    def __init__(self, state_dict, writer, planner, ranks):
        self._writer, self._rank, own = writer, ranks.rank, secrets.token_hex(8)

        def plan():
            writer.begin(ranks.rank == 0)
            self._look_at(state_dict, planner.flatten_state_dict)
            return own, _plan.described(self._held), list(self._values), self._paths

        told = ranks.together("save", plan)

        def agree():  # all know the same, so where it fails it does on each
            self._whole = _plan.merged([plan for _, plan, _, _ in told])
            self._owners = _plan.owners([names for _, _, names, _ in told])
            twice = sorted(self._whole.keys() & self._owners.keys())
            if twice:
                raise ValueError(f"{twice[0]} is a tensor on one rank and none on another")

        ranks.together("save", agree)
        self._save, self._size = told[0][0], ranks.size
        self._paths = {n: p for *_, paths in reversed(told) for n, p in paths.items()}
        self._writers = _plan.writers(self._whole, ranks.size, planner.lowest)
        self._file = _index.file_name(self._save, self._rank)
        self._keep_own()

    def _look_at(self, state_dict, deep):
        check_dict(state_dict)
        asked = {k: v.state_dict() if _has_state(v) else v for k, v in state_dict.items()}
        self._held, self._values, self._paths = {}, {}, {}
        for name, leaf in leaves(asked, deep).items():
            self._paths[name] = leaf.path
            if is_tensor(leaf.value):
                self._held[name] = held(name, leaf.value)
            else:
                self._values[name] = _stored(name, leaf.value)

    def _keep_own(self):
        """Forgets what others write."""
        self._pieces = {
            (name, (piece.offsets, piece.sizes)): piece.tensor
            for name, one in self._held.items()
            for piece in one.pieces
            if self._writers.get((name, (piece.offsets, piece.sizes))) == self._rank
        }
        self._values = {n: v for n, v in self._values.items() if self._owners[n] == self._rank}
        self._held = None

    def copy(self):
        """The tensors as they are now, in the host's memory."""
        self._pieces = {k: t.to("cpu", copy=True) for k, t in self._pieces.items()}

    def finish(self, ranks):
        """Writes, and commits; the checkpoint's metadata. Who has said that its file is complete
        removes it only when all know that there is no commit: where the ranks lose each other, the
        first may have committed, and the next save cleans up."""
        try:
            index = self._index(ranks.together("save", self._write))
            first = ranks.rank == 0
            told = ranks.together("save", lambda: self._writer.commit(index) if first else None)
        except CheckpointException:
            self._writer.remove(self._file)
            raise
        if told[0] is not None:
            raise CheckpointException(
                "save: the checkpoint may not be on the disk", {0: (told[0], None)}
            )
        return of_index(index, self._writer.path)

    def _write(self):
        """This rank's file. What it holds: its length, and by name where the parts lie."""
        keys, entries = {"__metadata__"}, []

        def add(key, *what):
            while key in keys:
                key += "'"
            keys.add(key)
            entries.append(Entry(key, *what))

        for (name, box), tensor in self._pieces.items():
            add(_key(name, box, self._whole[name][1]), tensor, tensor.dtype, box[1])
        large = {name: data for name, data in self._values.items() if isinstance(data, bytes)}
        for name, data in large.items():
            add(name, data)
        length, records = self._writer.write(self._file, entries) if entries else (None, [])
        pieces = dict(zip(self._pieces, records))
        values = {
            name: {"json": data["json"]} for name, data in self._values.items() if name not in large
        }
        for name, (at, sums) in zip(large, records[len(pieces) :]):
            values[name] = {"bytes": len(large[name]), "at": at, "sums": sums, "file": self._file}
        return self._file, length, pieces, values

    def _index(self, told):
        tensors = {
            name: {"dtype": NAMES[dtype], "shape": list(shape), "pieces": []}
            for name, (dtype, shape, _) in self._whole.items()
        }
        values = {}
        for file, _, pieces, own in told:
            for (name, (offsets, sizes)), (at, sums) in pieces.items():
                piece = {"offsets": list(offsets), "sizes": list(sizes), "file": file, "at": at}
                tensors[name]["pieces"].append({**piece, "sums": sums})
            values.update(own)
        for name, entry in (*tensors.items(), *values.items()):
            entry["path"] = self._paths[name]
        files = {file: length for file, length, *_ in told if length is not None}
        return {"save": self._save, "files": files, "tensors": tensors, "values": values}


def _key(name, box, shape):
    """What a piece is called in its file."""
    if box[1] == shape:
        return name
    return f"{name}[{','.join(f'{o}:{o + n}' for o, n in zip(*box))}]"


def _has_state(value):
    return isinstance(value, Stateful) and not isinstance(value, type)


def _stored(name, value):
    """A value that is no tensor: as JSON, or as `torch.save` writes it, which is read again here:
    what could not be loaded is not saved."""
    try:
        return {"json": encoded(value)}
    except NotPlain:
        pass
    try:
        file = io.BytesIO()
        serialization.save(value, file)
        serialization.load(io.BytesIO(file.getvalue()), weights_only=True)
    except Exception as problem:
        raise TypeError(
            f"{name}: a {type(value).__qualname__} cannot be saved in a checkpoint, because it "
            f"could not be loaded again: {problem}"
        ) from problem
    return file.getvalue()


class _Background:
    """The save that goes on in a thread, and the group in which its ranks talk: another one than
    the program's, whose collectives go on meanwhile."""

    def __init__(self):
        self._pending = self._threads = self._world = self._group = None

    def wait(self):
        """Until none goes on; what went wrong with it is its own future's to say."""
        if self._pending is not None:
            wait([self._pending])
            self._pending = None

    def ranks(self, ranks):
        """The same ranks in a group of their own, which is made once; or in the one that the
        program gave for that."""
        if ranks.group is not None:
            return ranks
        if self._world is not dist.group.WORLD:
            self._world, self._group = dist.group.WORLD, dist.new_group(backend="gloo")
        return Ranks(self._group)

    def run(self, finish, ranks):
        """A future of the rest of a save."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1, "flambeau-save")
        self._pending = self._threads.submit(finish, ranks)
        return self._pending


_background = _Background()
before_destroying.append(_background.wait)
