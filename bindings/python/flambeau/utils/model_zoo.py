"""`torch.utils.model_zoo`: older names of what `torch.hub` downloads with; packages import them."""

from ..hub import load_state_dict_from_url as load_url
from ..hub import tqdm

__all__ = ["load_url", "tqdm"]
