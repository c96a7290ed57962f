"""A training loop that goes on from its last snapshot, after a failure as after a day: with as many
ranks as before its losses are the same, bit for bit, as if nothing had happened. A snapshot holds
the state of every part, where each rank's loaders and random generators stand, the step and the
epoch; it is a checkpoint, so what kills the job while one is written leaves the former one."""

from ... import distributed as dist
from ..._deprecated import warn
from ...nn.modules.module import Module
from ...nn.parallel import DistributedDataParallel
from ...optim.optimizer import Optimizer
from ...utils.data import DataLoader
from ...utils.data._epoch import generators_of
from ..checkpoint._optimizer import initialized
from ..checkpoint._pieces import is_sharded
from ..checkpoint._ranks import Ranks
from ..checkpoint.api import CheckpointException, DamagedCheckpoint
from ..checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from ..checkpoint.filesystem import FileSystemReader, FileSystemWriter
from ..checkpoint.state_dict_loader import into, read_all
from ..checkpoint.state_dict_saver import write
from ..checkpoint.stateful import Stateful
from . import _generators, _snapshots
from ._due import EverySeconds, EverySteps

__all__ = ["Resumable", "resumable"]


def resumable(path, *, every=None, seconds=None, keep=2, process_group=None, **parts):
    """Holds the parts of a training, and puts them where the last snapshot in the directory `path`
    has them, if there is one:

        run = resumable("snapshots", model=model, optimizer=optimizer, loader=loader, every=100)
        for epoch in run.epochs(10):
            for images, labels in run.batches():
                ...

    A part is whatever has `state_dict` and `load_state_dict`. There is a snapshot every so many
    steps, or every so many `seconds` (default 300), and one at the end; the last `keep` stay. A
    sampler with `set_epoch` is told the epoch. `run.state` is a dictionary for values of the
    program's own on this rank, such as sums over an epoch; `run.step` counts batches. An epoch goes
    through a loader once, and all ranks make the same number of steps in it."""
    return Resumable(path, parts, every, seconds, keep, process_group)


class Resumable:
    """See `resumable`."""

    def __init__(self, path, parts, every=None, seconds=None, keep=2, process_group=None):
        self._check(parts, every, seconds, keep)
        self.path, self._keep = path, keep
        self._loaders = {n: p for n, p in parts.items() if isinstance(p, DataLoader)}
        self._parts = {n: _inner(p) for n, p in parts.items() if n not in self._loaders}
        self._ranks = Ranks(process_group, alone=not dist.is_initialized())
        for name, part in self._parts.items():
            if _is_shared(part) and part.world_size != self._ranks.size:
                raise ValueError(
                    f"resumable: the optimizer {name} is shared by {part.world_size} ranks, and "
                    f"the snapshots by {self._ranks.size}; give both the same process_group"
                )
        self._due = EverySteps(every) if every else EverySeconds(seconds or 300)
        self.step = self.epoch = 0
        self.state = {}
        self._saved, self._between = None, True
        self._done, self._skipped = (
            set(),
            set(),
        )  # loaders: of this epoch, and before it was resumed
        self.resumed = self._resume()
        self._due.begin(self.step)

    @staticmethod
    def _check(parts, every, seconds, keep):
        if every is not None and seconds is not None:
            raise ValueError("resumable: give every (steps) or seconds, not both")
        for name, value in (("every", every), ("seconds", seconds), ("keep", keep)):
            if value is not None and not (value > 0 and (name == "seconds" or value == int(value))):
                raise ValueError(f"resumable: {name}={value!r} must be a number above 0")
        for name, part in parts.items():
            if not isinstance(part, Stateful):
                raise TypeError(
                    f"resumable: {name} is a {type(part).__name__}, which has no state_dict and "
                    "load_state_dict; keep plain values in the dictionary run.state"
                )
        if not parts:
            raise ValueError("resumable: give what it shall hold, such as model=model")

    # ---- the loop

    def epochs(self, count):
        """The epochs that are left of so many."""
        while self.epoch < count:
            self._tell_epoch()
            yield self.epoch
            self.epoch += 1
            self._between = True
            self._done, self._skipped = set(), set()
            done = self._saved is not None and 0 < self.step == self._saved[0]
            if not done and self._due(self.step, self._ranks, True):
                self.save()
        if self._saved != self._at():
            self.save()

    def batches(self, loader=None):
        """The batches that are left of the epoch; each is a step, which is over when the next one
        is asked for."""
        name = self._name_of(loader)
        if name in self._skipped:
            self._skipped.remove(name)
            return
        self._between = False
        try:
            for batch in self._loaders[name]:
                yield batch
                self.step += 1
                if self._due(self.step, self._ranks):
                    self.save()
        finally:  # a loop that is left early is over, too
            self._done.add(name)

    def _name_of(self, loader):
        if loader is None:
            if len(self._loaders) != 1:
                raise ValueError(
                    f"batches: there are {len(self._loaders)} loaders among the parts; say which"
                )
            return next(iter(self._loaders))
        for name, one in self._loaders.items():
            if one is loader:
                return name
        raise ValueError("batches: this loader is none of the parts; give it to resumable")

    def _tell_epoch(self):
        for loader in self._loaders.values():
            inner = getattr(loader.batch_sampler, "sampler", None)
            for sampler in {
                id(s): s for s in (loader.sampler, loader.batch_sampler, inner)
            }.values():
                if hasattr(sampler, "set_epoch"):
                    sampler.set_epoch(self.epoch)

    # ---- snapshots

    def _at(self):
        return self.step, self.epoch, self._between

    def save(self):
        """Makes a snapshot now, by all ranks."""
        ranks, state = self._ranks, {}
        for part in self._parts.values():
            if _is_shared(part):
                part.consolidate_state_dict()
        ranks.together("save", lambda: state.update(self._standing()))
        writer = FileSystemWriter(_snapshots.path_of(self.path, self.step))
        writer.warns = False
        write(state, writer, DefaultSavePlanner(), ranks)
        if ranks.rank == 0:
            _snapshots.prune(self.path, self.step, self._keep)
        self._saved = self._at()
        self._due.begin(self.step)

    def _standing(self):
        """What this rank knows of where the training stands."""
        ranks, parts = self._ranks, self._parts.items()
        known = {n: p.state_dict() for n, p in parts if not _is_shared(p) or p.rank == 0}
        return {
            **({"parts": known} if known else {}),
            "progress": {
                "step": self.step,
                "epoch": self.epoch,
                "between": self._between,
                "ranks": ranks.size,
                "state": self.state,
            },
            f"rank{ranks.rank}": {
                "generators": _generators.standing(),
                "loaders": {name: self._position(name) for name in self._loaders},
                "state": self.state,
            },
        }

    def _position(self, name):
        loader, done = self._loaders[name], name in self._done
        return {
            "at": {"running": False} if self._between or done else loader.state_dict(),
            "done": done and not self._between,
            "own": [[g.initial_seed(), g.get_offset()] for g in generators_of(loader)[1:]],
        }

    def _resume(self):
        """Goes to the newest snapshot that is whole; whether there is one. A damaged one is passed
        over, aloud, if there is an older one."""
        steps = self._ranks.together("resume", lambda: _snapshots.whole(self.path))[0]
        for i, step in enumerate(steps):
            try:
                self._load(FileSystemReader(_snapshots.path_of(self.path, step)))
            except CheckpointException as problem:
                found = [one for one, _ in problem.failures.values()]
                if i + 1 == len(steps) or not all(isinstance(p, DamagedCheckpoint) for p in found):
                    raise
                if self._ranks.rank == 0:
                    warn(f"the snapshot of step {step} is passed over: {problem}")
            else:
                self._saved = self._at()
                return True
        return False

    def _load(self, reader):
        sharded = {n: p for n, p in self._parts.items() if _is_sharded(p)}
        own = f"rank{self._ranks.rank}"

        def wanted(path):
            if path[0] == "parts":
                return not sharded.keys() & set(path[1:2])
            return path[0] in ("progress", own)

        found = []

        def read():
            found.append(read_all(reader, wanted))
            self._fits(found[0], reader, own)

        self._ranks.together("resume", read)
        states = found[0].get("parts", {})
        if sharded:
            for part in sharded.values():
                if isinstance(part, Optimizer):
                    initialized(part)
            made = {"parts": {name: part.state_dict() for name, part in sharded.items()}}
            into(made, reader, DefaultLoadPlanner(), self._ranks)
            states = {**states, **made["parts"]}
        for name, part in self._parts.items():
            part.load_state_dict(states.get(name, {}))
            if isinstance(part, Optimizer) and part.state:
                part._opt_called = True  # a schedule that steps first is in order
        self._go_to(found[0]["progress"], found[0].get(own))

    def _fits(self, found, reader, own):
        """Whether it is a snapshot of this program."""
        paths = reader.read_metadata().planner_data.values()
        saved = {path[1] for path in paths if path[0] == "parts" and path[1:]}
        loaders = found.get(own, {}).get("loaders", {})
        for kind, there, here in (
            ("parts", saved, self._parts.keys()),
            ("loaders", loaders.keys(), self._loaders.keys() if own in found else set()),
        ):
            if set(there) != set(here):
                raise RuntimeError(
                    f"the snapshot {reader.path} has the {kind} {sorted(there)}, and the program "
                    f"{sorted(here)}: give resumable the same ones, or another directory"
                )

    def _go_to(self, progress, own):
        self.step, self.epoch = progress["step"], progress["epoch"]
        self.state, self._between = progress.get("state", {}), progress["between"]
        if progress["ranks"] != self._ranks.size:
            self._between = True
            if self._ranks.rank == 0:
                warn(
                    f"the snapshot is of {progress['ranks']} ranks, and there are "
                    f"{self._ranks.size}: the epoch begins anew, with other random numbers"
                )
            return
        self.state = own.get("state", self.state)
        for name, loader in self._loaders.items():
            position = own["loaders"][name]
            for generator, (seed, offset) in zip(generators_of(loader)[1:], position["own"]):
                generator.manual_seed(seed).set_offset(offset)
            loader.load_state_dict(position["at"])
            if position["done"]:
                self._done.add(name)
                self._skipped.add(name)
        _generators.put_back(own["generators"])


def _inner(part):
    """The module that is wrapped, which more or fewer ranks have as well."""
    return part.module if isinstance(part, DistributedDataParallel) else part


def _is_shared(part):
    """Whether each rank has the state of its share, which the first one collects: that of a
    ZeroRedundancyOptimizer."""
    return hasattr(part, "consolidate_state_dict")


def _is_sharded(part):
    if isinstance(part, Module):
        return any(is_sharded(p) for p in part.parameters())
    if isinstance(part, Optimizer):
        return any(is_sharded(p) for group in part.param_groups for p in group["params"])
    return False
