"""`torch._subclasses`, as far as packages ask whether a tensor is one without memory."""

from .. import _refused

_WHY = "a tensor holds memory; make small ones to learn shapes"
globals().update(_refused.names("torch._subclasses", "FakeTensor FakeTensorMode", _WHY))
