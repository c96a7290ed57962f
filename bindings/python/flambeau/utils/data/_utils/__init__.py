"""`torch.utils.data._utils`: the place of collation that older programs import from."""

from . import collate

__all__ = ["collate"]
