"""`torch._dynamo.utils`: the one question that packages ask."""


def is_compile_supported(device_type):
    """Whether code can be compiled for the device: never."""
    return False
