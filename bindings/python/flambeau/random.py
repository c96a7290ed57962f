"""Random numbers: generators, seeds, and creation whose Python form differs from C's.

A generator's whole state is its seed and how many draws were made; as a tensor it is those two
numbers in bytes."""

import contextlib
import struct

from ._call import _NUMBERS, Holder, _scalar, fill, made_as, made_in
from ._factory import from_bytes
from ._gen import api, ops
from ._types import NAMES, dtype_of


def _seed(number):
    """A seed as C takes it: negative ones count from the end."""
    if not -(2**63) <= (number := int(number)) < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return number % 2**64


class Generator(Holder):
    """A source of random numbers for one device."""

    __slots__ = ()

    def __new__(cls, device="cpu"):
        return cls._of(api.generator_new(device))

    device = property(lambda self: api.generator_device(self))

    def manual_seed(self, seed):
        """Starts anew from a seed."""
        api.generator_manual_seed(self, _seed(seed))
        return self

    seed, initial_seed = api.generator_seed, api.generator_initial_seed
    get_offset = api.generator_offset

    def get_state(self):
        """The state as a tensor of bytes."""
        state = struct.pack("<QQ", api.generator_initial_seed(self), api.generator_offset(self))
        return from_bytes(state, (len(state),), NAMES["uint8"], "cpu")

    def set_state(self, new_state):
        """Goes back to a state from `get_state`."""
        if new_state.dtype is not NAMES["uint8"] or new_state.numel() != 16:
            raise RuntimeError(
                "RNG state must be a torch.ByteTensor of 16 bytes, from this engine's get_state"
            )
        api.generator_set_state(self, *struct.unpack("<QQ", bytes(new_state.tolist())))
        return self

    def set_offset(self, offset):
        """Goes to where so many draws were made since the seed."""
        api.generator_set_state(self, self.initial_seed(), int(offset))
        return self

    def clone_state(self):
        """Another generator in the same state."""
        return Generator(self.device).set_state(self.get_state())

    def __reduce__(self):
        return _restored, (str(self.device), self.get_state())


def _restored(device, state):
    return Generator(device).set_state(state)


default_generator = Generator._of(api.generator_default("cpu"))


def manual_seed(seed):
    """Seeds the default generators of all devices."""
    api.manual_seed(_seed(seed))
    return default_generator


def seed():
    """Seeds the default generators with a number that the system draws, and returns it."""
    drawn = default_generator.seed()
    api.manual_seed(drawn)
    return drawn


def initial_seed():
    """The cpu generator's seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """State of the cpu generator."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Goes back to a state of the cpu generator."""
    default_generator.set_state(new_state)


def default_of(device):
    """The default generator of a device, or of the GPU with that number."""
    place = f"cuda:{device}" if isinstance(device, int) else device
    return Generator._of(api.generator_default(place))


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type="cuda"):
    """Random numbers drawn inside leave the default generators as they were."""
    devices = range(api.device_count("cuda")) if devices is None else devices
    held = [default_generator, *map(default_of, devices)] if enabled else []
    states = [g.get_state() for g in held]
    try:
        yield
    finally:
        for generator, state in zip(held, states):
            generator.set_state(state)


# ---- creation


def randint(low=None, high=None, size=None, *, generator=None, dtype=None, device=None,
            requires_grad=False, out=None, layout=None, pin_memory=False):  # fmt: skip
    """Uniform integers: `randint(high, size)` or `randint(low, high, size)`."""
    if size is None and not hasattr(high, "__index__"):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None or high is None:
        raise TypeError(f"randint() missing required argument: '{'high' if size else 'size'}'")
    low, high, size = int(low or 0), int(high), tuple(size)
    if out is not None or pin_memory:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        options["generator"] = generator
        if out is not None:
            return made_in(out, None, randint, low, high, size, **options)
        return made_as(None, True, randint, low, high, size, **options)
    dtype = NAMES["int64"] if dtype is None else dtype_of(dtype)
    return api.randint(low, high, size, generator, dtype, device, requires_grad)


def randint_like(input, low=None, high=None, *, generator=None, dtype=None, device=None,
                 requires_grad=False, memory_format=None):  # fmt: skip
    """Uniform integers in the shape of a tensor: `randint_like(input, high)`, or with `low`."""
    if high is None:
        low, high = None, low
    if high is None:
        raise TypeError("randint_like() missing required argument: 'high'")
    like = {"dtype": dtype or input.dtype, "device": device or input.device}
    made = ops.TORCH["empty_like"](input, memory_format=memory_format, **like)
    made.copy_(randint(low or 0, high, input.shape, generator=generator, **like))
    return made.requires_grad_() if requires_grad else made


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None,
           requires_grad=False, out=None, layout=None, pin_memory=False):  # fmt: skip
    """Normal numbers: with a mean and deviation per element, or one of each and a size."""
    if size is not None:
        options = {"dtype": dtype, "device": device, "pin_memory": pin_memory}
        made = ops.TORCH["empty"](tuple(size), **options).normal_(mean, std, generator=generator)
    else:
        made = api.normal(
            *(_scalar(v) if v.__class__ in _NUMBERS else v for v in (mean, std)), generator
        )
    made = made if out is None else fill(out, made, "normal", cast=True)
    return made.requires_grad_() if requires_grad else made


def random_(self, from_=0, to=..., *, generator=None):
    """`Tensor.random_`: uniform integers in place; up to what the dtype holds exactly where no
    bound is given."""
    if to is ... and from_:
        from_, to = 0, from_
    elif to in (..., None):
        to = _largest(self.dtype) + 1
    api.random_(self, from_, to, generator)
    return self


def _largest(dtype):
    exact = {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8, "bool": 1}
    if dtype._name in exact:
        return exact[dtype._name]
    return min(2 ** (8 * dtype.itemsize - dtype.is_signed) - 1, 2**63 - 2)
