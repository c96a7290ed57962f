"""`torch.jit.annotations`: the types that TorchScript reads from signatures; here typing's own."""

import typing

Any, Dict, List, Optional = typing.Any, typing.Dict, typing.List, typing.Optional  # noqa: UP006
Tuple, Union = typing.Tuple, typing.Union  # noqa: UP006
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List
