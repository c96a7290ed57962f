"""What decides one epoch of a DataLoader and how far it got: enough to come back to any batch.

An epoch follows from its seed and from where the generators stood before the sampler drew from
them. Coming back puts them there, asks the sampler again and skips the batches that were delivered,
without fetching one. The default generator is the program's: it is put back as it was."""

import contextlib
import itertools

from ..._gen import api
from ...random import default_generator

_NOT_RUNNING = {"running": False}


def generators_of(loader):
    """Those that the order may come from: the default one, then the loader's and the samplers'."""
    inner = getattr(loader.batch_sampler, "sampler", None)
    holders = loader, loader.sampler, loader.batch_sampler, inner
    own = {id(g): g for g in (getattr(h, "generator", None) for h in holders) if g is not None}
    return [default_generator, *own.values()]


def _standing(generator):
    return [api.generator_initial_seed(generator), api.generator_offset(generator)]


class Epoch:
    """An epoch that runs, ran, or is to be resumed."""

    __slots__ = ("seed", "delivered", "ended", "_standings")

    def __init__(self, seed, delivered=0, standings=None):
        self.seed, self.delivered, self._standings = seed, delivered, standings
        self.ended = False

    @classmethod
    def of_state(cls, state, loader):
        """From `state()`; None for a loader that was between epochs."""
        if not isinstance(state, dict) or "running" not in state:
            raise ValueError("this is not the state_dict of a DataLoader")
        if not state["running"]:
            return None
        if len(state["generators"]) != len(generators_of(loader)):
            raise ValueError(
                f"the state_dict is of a DataLoader with {len(state['generators']) - 1} generators "
                f"of its own, this one has {len(generators_of(loader)) - 1}"
            )
        return cls(state["seed"], state["batches"], state["generators"])

    def state(self):
        """Plain numbers: JSON can store them."""
        if self.ended:
            return dict(_NOT_RUNNING)
        return {
            "running": True,
            "seed": self.seed,
            "batches": self.delivered,
            "generators": [list(standing) for standing in self._standings],
        }

    @contextlib.contextmanager
    def _at_start(self, loader):
        generators = generators_of(loader)
        if self._standings is None:
            self._standings = [_standing(g) for g in generators]
            yield
            return
        before = _standing(generators[0])
        for generator, standing in zip(generators, self._standings):
            api.generator_set_state(generator, *standing)
        try:
            yield
        finally:
            api.generator_set_state(generators[0], *before)

    def batches(self, loader, order):
        """The index lists of `order` behind those that were delivered. The first is drawn now: a
        sampler makes its order then."""
        with self._at_start(loader):
            lists = iter(order)
            if sum(1 for _ in itertools.islice(lists, self.delivered)) < self.delivered:
                raise ValueError(
                    f"the state_dict stands at batch {self.delivered}, which this DataLoader does "
                    "not have: give it the same data set, sampler and batch_size"
                )
            first = list(itertools.islice(lists, 1))
        return itertools.chain(first, lists)

    def samples(self, loader, begin):
        """The batches of an iterable data set, which `begin` starts upon, behind those that were
        delivered."""
        with self._at_start(loader):
            batches = begin()
            for _ in itertools.islice(batches, self.delivered):
                pass
        return batches


def state_between_epochs():
    """The state of a loader of which no epoch runs."""
    return dict(_NOT_RUNNING)
