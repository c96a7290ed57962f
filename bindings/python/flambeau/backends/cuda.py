"""Switches of CUDA."""


def is_built():
    """Whether the library was built with CUDA; the reason is in `flambeau doctor` where it was
    not."""
    from .._gen import api

    return "built" not in (api.cuda_unavailable_reason() or "")


class _Matmul:
    allow_tf32 = False


matmul = _Matmul()
