"""Forward-mode automatic differentiation: unsupported, and says so; `autograd.functional.jvp`
computes the same products by two backward passes."""

from .. import _refused

(enter_dual_level, exit_dual_level, make_dual, unpack_dual, dual_level, set_forward_ad_enabled) = (
    _refused.function(
        "torch.autograd.forward_ad",
        name,
        "there is no forward-mode automatic differentiation; use torch.autograd.functional.jvp",
    )
    for name in (
        "enter_dual_level",
        "exit_dual_level",
        "make_dual",
        "unpack_dual",
        "dual_level",
        "set_forward_ad_enabled",
    )
)
