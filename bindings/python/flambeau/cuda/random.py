"""Seeds and states of the GPUs' generators. Without a GPU, seeding does nothing, as in PyTorch."""

from .._gen import api
from ..random import Generator
from ._numbered import numbered as _numbered


def _generator(device="cuda"):
    return Generator._of(api.generator_default(_numbered(device)))


def _all():
    return [_generator(i) for i in range(api.device_count("cuda"))]


def manual_seed(seed):
    """Seeds the current GPU's generator."""
    if api.device_is_available("cuda"):
        _generator().manual_seed(seed)


def manual_seed_all(seed):
    """Seeds the generators of all GPUs."""
    for generator in _all():
        generator.manual_seed(seed)


def seed():
    """Seeds the current GPU's generator with a number that the system draws."""
    if api.device_is_available("cuda"):
        _generator().seed()


def seed_all():
    """Seeds all GPUs' generators with one number that the system draws."""
    found = _all()
    if found:
        manual_seed_all(found[0].seed())


def initial_seed():
    """The current GPU's seed."""
    return _generator().initial_seed()


def get_rng_state(device="cuda"):
    """State of a GPU's generator."""
    return _generator(device).get_state()


def set_rng_state(new_state, device="cuda"):
    """Goes back to a state of a GPU's generator."""
    _generator(device).set_state(new_state)


def get_rng_state_all():
    """States of all GPUs' generators."""
    return [generator.get_state() for generator in _all()]


def set_rng_state_all(new_states):
    """Goes back to states of all GPUs' generators."""
    for generator, state in zip(_all(), new_states):
        generator.set_state(state)
