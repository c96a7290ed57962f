"""What registering a hook returns."""

from ..nn.modules.module import RemovableHandle

__all__ = ["RemovableHandle"]
