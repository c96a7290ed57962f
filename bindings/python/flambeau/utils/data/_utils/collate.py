"""`torch.utils.data._utils.collate`: the functions that programs extend."""

from .._collate import default_collate, default_collate_err_msg_format, default_convert

__all__ = ["default_collate", "default_collate_err_msg_format", "default_convert"]
