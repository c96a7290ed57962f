"""Objects on their way between ranks: pickles, each after an HMAC-SHA256 under the job's key.
Unpickling runs what a pickle says, so it happens only to what the expected rank of this job has
made for this very call in that group: its kind and which one of them it is are sealed too. A job
without a key is one whose ranks are all on one machine."""

import hashlib
import hmac
import os
import pickle

from .._errors import DistError
from .._factory import from_bytes
from .._library import ffi
from .._types import NAMES
from .._types import device as device_type

_SEAL = hashlib.sha256().digest_size
_MOST = 1 << 32  # bytes of an object


def _key(group):
    key = os.environ.get("FLAMBEAU_JOB_KEY", "")
    if not key and not group._trusted:
        raise DistError(
            "objects are sent as pickles, which can run any code where they arrive, and this job "
            "has no key by which its ranks know each other\n  give all ranks the same one: make it "
            "with `python -c 'import secrets; print(secrets.token_hex(32))'` and set "
            "FLAMBEAU_JOB_KEY to it before they start; one machine alone (MASTER_ADDR=localhost) "
            "needs none"
        )
    return key.encode()


def call_of(group, kind, sender=None):
    """The name of the call of that kind that this rank makes now, the same on all ranks that take
    part; what comes from a `sender` alone is counted by it."""
    n = group._object_calls.get((kind, sender), 0) + 1
    group._object_calls[kind, sender] = n
    return f"{kind} #{n}"


def _seal(group, call, sender, data):
    about = f"{group.group_name} {call} {sender} {len(data)}\n".encode()
    made = hmac.new(_key(group), about, hashlib.sha256)
    made.update(data)
    return made.digest()


def pickled(kind, obj):
    """An object's bytes, where it can be sent."""
    data = pickle.dumps(obj)
    if len(data) > _MOST - _SEAL:
        raise ValueError(f"{kind}: an object of {len(data)} bytes is larger than {_MOST - _SEAL}")
    return data


def sealed(group, kind, objects):
    """The name of the call by which this rank sends objects, and the bytes of each. Objects that
    cannot be sent are no call."""
    pickles = [pickled(kind, obj) for obj in objects]
    call = call_of(group, kind)
    return call, [_seal(group, call, group._rank, data) + data for data in pickles]


def opened(group, call, sender, data):
    """The object in what rank `sender` of the group sent, `bytes` or the like."""
    seal, data = bytes(data[:_SEAL]), bytes(data[_SEAL:])
    if not hmac.compare_digest(seal, _seal(group, call, sender, data)):
        raise DistError(
            f"{call}: what came as an object of rank {sender} was not made by it with this job's "
            "key, and is not unpickled\n  see that all ranks have the same FLAMBEAU_JOB_KEY and "
            "call the same object collectives in the same order"
        )
    return pickle.loads(data)


def check_lengths(kind, lengths):
    """Lengths that ranks have sent, when they can be those of objects."""
    for rank, n in enumerate(lengths):
        if not _SEAL < n <= _MOST:
            raise DistError(f"{kind}: rank {rank} said that its object has {n} bytes")
    return lengths


def carrier(group, device=None):
    """Where tensors are that the group moves."""
    if device is not None:
        return device_type(device)
    if group._backend == "nccl" or group._backend.startswith("cuda:nccl"):
        if group.bound_device_id is not None:
            return group.bound_device_id
        return device_type("cuda")
    return device_type("cpu")


def as_tensor(data, device, size=None):
    """A tensor of bytes, with zeros up to `size`."""
    data = data if size is None else data + bytes(size - len(data))
    return from_bytes(data, [len(data)], NAMES["uint8"], device)


def as_bytes(tensor, size):
    """The first `size` bytes of a tensor."""
    tensor = tensor.cpu()
    return ffi.buffer(ffi.cast("char *", tensor.data_ptr()), size)[:]  # the copy ends here
