"""`GradScaler`: a factor on losses that adapts, so that small gradients survive in float16.

The factor and the marks of gradients that are not finite stay on the device. Fused optimizers read
them there, so that a step waits for nothing; any other optimizer is stepped from here, after the
one number that says whether it may."""

import contextlib
import inspect
from collections.abc import Iterable

from .._deprecated import warn
from .._gen import api
from .._tensor import Tensor
from .._torch import tensor
from .autocast_mode import _gpu_missing


def _accessors(name):
    """How a number is asked for and set."""

    def get(self):
        return getattr(self, f"_{name}")

    def set(self, new):
        setattr(self, f"_{name}", new)
        api.grad_scaler_configure(self._scaler, *self._numbers())

    for function in get, set:
        function.__name__ = f"{function.__name__}_{name}"
        function.__qualname__ = f"GradScaler.{function.__name__}"
    return get, set


class GradScaler:
    """Multiplies losses, divides gradients, and skips the steps whose gradients are not finite."""

    def __init__(self, device="cuda", init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):  # fmt: skip
        self._device, self._enabled = device, bool(enabled)
        if self._enabled and device == "cuda" and _gpu_missing():
            warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.")
            self._enabled = False
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        if self._enabled:
            assert growth_factor > 1.0, "The growth factor must be > 1.0."
            assert backoff_factor < 1.0, "The backoff factor must be < 1.0."
        self._make(init_scale)

    def _make(self, init_scale):
        self._scaler = api.grad_scaler_new(float(init_scale), *self._numbers(), self._enabled)

    def scale(self, outputs):
        """A loss, or losses in any nesting, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return api.grad_scaler_scale(self._scaler, outputs)
        if not isinstance(outputs, Iterable):
            raise ValueError("outputs must be a Tensor or an iterable of Tensors")
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the factor, so that they can be clipped."""
        if self._enabled:
            with _plain_errors():
                api.grad_scaler_unscale_params(self._scaler, id(optimizer), _parts(optimizer))
            self._agree(optimizer)

    def step(self, optimizer, *args, **kwargs):
        """`optimizer.step(*args, **kwargs)`, unless a gradient is not finite; returns what it
        returned. `skipped(optimizer)` tells what came of it."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        owner = id(optimizer)
        with _plain_errors():
            api.grad_scaler_begin_step(self._scaler, owner, _parts(optimizer))
        self._agree(optimizer)
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._fused_step(optimizer, args, kwargs)
        if self.skipped(optimizer):
            return None
        return optimizer.step(*args, **kwargs)

    def _agree(self, optimizer):
        """Where ranks have parts of parameters, a part that is not finite counts on all of them."""
        laid = {p.device_mesh: p for p in _params(optimizer) if hasattr(p, "_local_tensor")}
        for p in laid.values():
            p._reduce_max(api.grad_scaler_found_inf(self._scaler, id(optimizer), p.device))

    def _fused_step(self, optimizer, args, kwargs):
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:  # torch's older form
            warn(
                "GradScaler is passed to the step of the optimizer as a keyword; have it read its "
                "attributes grad_scale and found_inf instead.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        device = _params(optimizer)[0].device
        optimizer.grad_scale = None  # divided already
        optimizer.found_inf = api.grad_scaler_found_inf(self._scaler, id(optimizer), device)
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def skipped(self, optimizer):
        """Whether the optimizer's latest step was skipped. Waits for the device."""
        return api.grad_scaler_owner_skipped(self._scaler, id(optimizer))[0]

    def first_nonfinite(self, optimizer):
        """The first parameter whose gradient was not finite at the latest step, or None. Waits
        for the device."""
        place = api.grad_scaler_owner_skipped(self._scaler, id(optimizer))[1]
        return None if place < 0 else _params(optimizer)[place]

    def update(self, new_scale=None):
        """Adapts the factor to the steps since the last update, or sets it."""
        if not self._enabled:
            return
        if new_scale is None:
            with _plain_errors():
                api.grad_scaler_update(self._scaler)
        else:
            api.grad_scaler_set_scale(self._scaler, float(new_scale))

    # ---- numbers

    def get_scale(self):
        """The factor. Waits for the device."""
        return api.grad_scaler_get_scale(self._scaler)

    _scale = property(  # that programs look at, write into and set
        lambda self: api.grad_scaler_cell(self._scaler),
        lambda self, scale: api.grad_scaler_set_scale(self._scaler, float(scale)),
    )

    def _get_scale_async(self):
        return self._scale

    def _found_inf_per_device(self, optimizer):
        on = {p.grad.device for p in _params(optimizer) if p.grad is not None}
        return {d: api.grad_scaler_found_inf(self._scaler, id(optimizer), d) for d in on}

    get_growth_factor, set_growth_factor = _accessors("growth_factor")
    get_backoff_factor, set_backoff_factor = _accessors("backoff_factor")
    get_growth_interval, set_growth_interval = _accessors("growth_interval")

    def _numbers(self):
        interval = int(self._growth_interval)
        return float(self._growth_factor), float(self._backoff_factor), interval

    def is_enabled(self):
        """Whether it does anything."""
        return self._enabled

    # ---- state

    def state_dict(self):
        """What it needs to go on later; empty where it is not enabled."""
        state = api.grad_scaler_state_dict(self._scaler)
        return {
            api.state_name(state, i): api.state_tensor(state, i).item()
            for i in range(api.state_size(state))
        }

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        state = api.state_new()
        for name, value in state_dict.items():
            value = float(value) if isinstance(value, float) else int(value)
            api.state_set(state, name, tensor(value, device="cpu"))
        api.grad_scaler_load_state_dict(self._scaler, state)
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]

    def __getstate__(self):
        kept = {k: v for k, v in self.__dict__.items() if k != "_scaler"}
        return {**kept, "_state": self.state_dict()}

    def __setstate__(self, state):
        saved = state.pop("_state")
        self.__dict__.update(state)
        self._make(saved.get("scale", 1.0))
        self.load_state_dict(saved) if saved else None


@contextlib.contextmanager
def _plain_errors():
    """PyTorch asserts what was forgotten and raises RuntimeError for calls out of order, which the
    library's error is already."""
    try:
        yield
    except Exception as problem:
        if str(problem).startswith(("No inf checks were recorded", "Attempted ")):
            raise AssertionError(str(problem)) from None
        raise


def _params(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def _parts(optimizer):
    """The same, of those that lie over several ranks this one's part."""
    return [getattr(p, "_local_tensor", p) for p in _params(optimizer)]
