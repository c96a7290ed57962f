"""Jobs of many processes that are started again when one of them fails, and go on from where they
were: `resumable` holds what a training loop needs for that."""

from ..._on_demand import loader as _loader

_BY_MODULE = {"_resumable": "Resumable resumable"}
__all__ = ["Resumable", "resumable"]
__getattr__ = _loader(globals(), _BY_MODULE)
