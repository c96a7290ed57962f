"""`torch._higher_order_ops`: operations that take functions; of them, `associative_scan`."""

from .associative_scan import associative_scan

__all__ = ["associative_scan"]
