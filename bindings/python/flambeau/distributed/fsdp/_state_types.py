"""What `FullyShardedDataParallel` is asked of state dicts: of which type they are, and those of
optimizers, by functions of the class that take a module."""

import contextlib

from . import _optim_states as states
from ._first_form import (
    LOCAL_WHY,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictSettings,
    StateDictType,
)
from ._optim_states import OptimStateKeyType

_FULL, _LOCAL = StateDictType.FULL_STATE_DICT, StateDictType.LOCAL_STATE_DICT


class StateTypes:
    """The type of state dicts, which each wrapper has."""

    def _settings(self):
        return StateDictSettings(self._kind, self._config, self._optim_config)

    @staticmethod
    def fsdp_modules(module, root_only=False):
        """The wrappers among this module and those below it; with `root_only` those that no other
        one is above."""
        if root_only and isinstance(module, StateTypes):
            return [module]
        if root_only:
            below = [StateTypes.fsdp_modules(m, True) for m in module.children()]
            return list(dict.fromkeys(one for found in below for one in found))
        return [m for m in module.modules() if isinstance(m, StateTypes)]

    @staticmethod
    def get_state_dict_type(module):
        """The type and its options, the same of all wrappers."""
        found = [one._settings() for one in StateTypes.fsdp_modules(module)]
        for one in found[1:]:
            if one != found[0]:
                raise AssertionError(
                    f"All FSDP modules must have the same state dict settings.Got {one} and "
                    f"{found[0]}."
                )
        return found[0] if found else None

    @staticmethod
    def set_state_dict_type(module, state_dict_type, state_dict_config=None,
                            optim_state_dict_config=None):  # fmt: skip
        """What state dicts of this module, and of those below it, are from now on; returns what its
        own were."""
        if state_dict_type is _LOCAL:
            raise NotImplementedError(f"StateDictType.LOCAL_STATE_DICT is unsupported: {LOCAL_WHY}")
        wrappers = StateTypes.fsdp_modules(module)
        if not wrappers:
            raise TypeError(f"expected a FullyShardedDataParallel, got {type(module).__name__}")
        full = state_dict_type is _FULL
        kinds = FullStateDictConfig, FullOptimStateDictConfig
        if not full:
            kinds = ShardedStateDictConfig, ShardedOptimStateDictConfig
        given = state_dict_config, optim_state_dict_config
        for config, kind in zip(given, kinds):
            if config is not None and type(config) is not kind:
                raise RuntimeError(
                    f"Expected state_dict_config of type {kind} but got {type(config)}"
                )
        before = wrappers[0]._settings()
        for one in wrappers:
            one._kind, one._config = state_dict_type, state_dict_config or kinds[0]()
            one._optim_config = optim_state_dict_config or kinds[1]()
        return before

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(module, state_dict_type, state_dict_config=None,
                        optim_state_dict_config=None):  # fmt: skip
        """A block in which state dicts are of this type."""
        given = module, state_dict_type, state_dict_config, optim_state_dict_config
        before = [(one, one._settings()) for one in StateTypes.fsdp_modules(module)]
        StateTypes.set_state_dict_type(*given)
        try:
            yield
        finally:
            for one, had in before:
                one._kind, one._config = had.state_dict_type, had.state_dict_config
                one._optim_config = had.optim_state_dict_config


def _asked(model):
    """Whether the optimizer's state dict is whole, whether the first rank's alone, and whether on
    the host."""
    found = StateTypes.get_state_dict_type(model)
    if found is None:
        raise TypeError(f"expected a FullyShardedDataParallel, got {type(model).__name__}")
    config = found.optim_state_dict_config
    first = getattr(config, "rank0_only", False)
    return found.state_dict_type is _FULL, first, config.offload_to_cpu


class OptimStates:
    """State dicts of optimizers, all of them collectives."""

    @staticmethod
    def optim_state_dict(model, optim, optim_state_dict=None, group=None):
        """The optimizer's by names of parameters, as the module's state dict type says."""
        return states.given(model, optim, optim_state_dict, *_asked(model), group)

    @staticmethod
    def optim_state_dict_to_load(model, optim, optim_state_dict, is_named_optimizer=False,
                                 load_directly=False, group=None):  # fmt: skip
        """What the optimizer's `load_state_dict` takes of that, and with `load_directly` gets."""
        if is_named_optimizer:
            raise NotImplementedError("is_named_optimizer=True is unsupported: optimizers of "
                                      "torch.optim call parameters by numbers")  # fmt: skip
        full, first, _ = _asked(model)
        found = states.taken(model, optim, optim_state_dict, full and first, group)
        if load_directly:
            optim.load_state_dict(found)
        return found

    @staticmethod
    def full_optim_state_dict(model, optim, optim_input=None, rank0_only=True, group=None):
        """Whole tensors, an older form of `optim_state_dict`."""
        states.warn_of_old("full_optim_state_dict", "optim_state_dict")
        return states.given(model, optim, None, True, rank0_only, True, group)

    @staticmethod
    def sharded_optim_state_dict(model, optim, group=None):
        """DTensors, an older form of `optim_state_dict`."""
        states.warn_of_old("sharded_optim_state_dict", "optim_state_dict")
        return states.given(model, optim, None, False, False, False, group)

    @staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None):
        """An older form of `optim_state_dict_to_load`; without `optim`, of one that was given
        `model.parameters()`."""
        states.warn_of_old("shard_full_optim_state_dict", "optim_state_dict_to_load")
        return states.taken(model, optim, full_optim_state_dict)

    @staticmethod
    def scatter_full_optim_state_dict(full_optim_state_dict, model, optim_input=None, optim=None,
                                      group=None):  # fmt: skip
        """The same of the state dict that rank 0 has."""
        states.warn_of_old("scatter_full_optim_state_dict", "optim_state_dict_to_load")
        return states.taken(model, optim, full_optim_state_dict, True, group)

    @staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict, model, optim):
        """The same of DTensors."""
        states.warn_of_old("flatten_sharded_optim_state_dict", "optim_state_dict_to_load")
        return states.taken(model, optim, sharded_optim_state_dict)

    @staticmethod
    def rekey_optim_state_dict(optim_state_dict, optim_state_key_type, model, optim_input=None,
                               optim=None):  # fmt: skip
        """A state dict of whole tensors by names in place of numbers, or the other way round, as
        plain optimizers have it."""
        by_name = OptimStateKeyType(optim_state_key_type) is OptimStateKeyType.PARAM_NAME
        return states.rekeyed(optim_state_dict, by_name, model, optim)
