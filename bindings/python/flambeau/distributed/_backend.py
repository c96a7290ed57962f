"""`Backend`: the names of what moves bytes between ranks; `BackendConfig`: which of them does for
each kind of device."""

from .. import _refused


class Backend(str):
    """A backend's name, in lower case; the known ones are its attributes."""

    UNDEFINED, GLOO, NCCL, MPI = "undefined", "gloo", "nccl", "mpi"
    UCC, XCCL = "ucc", "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL}
    backend_capability = {GLOO: ["cpu", "cuda"], NCCL: ["cuda"], MPI: ["cpu", "cuda"]}

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish, got {name!r}")
        return str.__new__(cls, name.lower())

    register_backend = staticmethod(
        _refused.function(
            "torch.distributed",
            "Backend.register_backend",
            "a backend is one of gloo, nccl and mpi, which move bytes in the library",
        )
    )


class BackendConfig:
    """By kind of device, from a backend's name or from a list as `cpu:gloo,cuda:nccl`."""

    def __init__(self, backend):
        text = str(backend).lower()
        if ":" not in text:
            known = dict(Backend.default_device_backend_map)
            kinds = Backend.backend_capability.get(text, list(known))
            found = known if text == Backend.UNDEFINED else dict.fromkeys(kinds, text)
            self.device_backend_map = {kind: Backend(name) for kind, name in found.items()}
            return
        self.device_backend_map = {}
        for pair in text.split(","):
            kind, colon, name = pair.partition(":")
            if not (kind and colon and name) or ":" in name:
                raise ValueError(
                    f"The custom backend string argument is invalid: {backend}; give "
                    "<device_type>:<backend>, with commas between, as cpu:gloo,cuda:nccl"
                )
            if kind in self.device_backend_map:
                raise ValueError(f"Duplicate device type {kind} in backend string: {backend}")
            self.device_backend_map[kind] = Backend(name)

    def __repr__(self):
        return ",".join(f"{kind}:{name}" for kind, name in self.device_backend_map.items())

    def get_device_backend_map(self):
        """The dictionary."""
        return self.device_backend_map
