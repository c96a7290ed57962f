"""Forward-mode automatic differentiation: unsupported, and says so; `autograd.functional.jvp`
computes the same products by two backward passes."""


def _unsupported(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.autograd.forward_ad.{name}: forward-mode automatic differentiation is not "
            "supported; use torch.autograd.functional.jvp"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


enter_dual_level = _unsupported("enter_dual_level")
exit_dual_level = _unsupported("exit_dual_level")
make_dual = _unsupported("make_dual")
unpack_dual = _unsupported("unpack_dual")
dual_level = _unsupported("dual_level")
set_forward_ad_enabled = _unsupported("set_forward_ad_enabled")
