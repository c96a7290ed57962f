"""What `save` and `load` ask for its state, and hand it back: modules, optimizers, schedules,
loaders and classes of programs."""

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """Anything that has these two methods."""

    def state_dict(self) -> dict[str, Any]:
        """Its state, whose tensors `load` writes into."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""


StatefulT = TypeVar("StatefulT", bound=Stateful)
