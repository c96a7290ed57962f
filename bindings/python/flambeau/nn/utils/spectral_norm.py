"""Spectral norm by a hook before forward, the older form: parameter `<name>_orig`, buffers
`<name>_u` and `<name>_v`. Source: Miyato et al., 2018, arXiv 1802.05957."""

from ... import linalg
from ...autograd import no_grad
from ..parameter import Parameter
from ._norms import as_matrix, check_iterations, check_only, grown, removed, unit

_STATE = "_orig", "_u", "_v"


class SpectralNorm:
    """The hook."""

    _version = 1  # 1 came with the buffer `<name>_v`; before, the weight itself was saved

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        check_iterations(n_power_iterations)
        self.name, self.dim, self.eps = name, dim, eps
        self.n_power_iterations = n_power_iterations

    def reshape_weight_to_matrix(self, weight):
        """The weight with `dim` first and all others in one."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module, do_power_iteration):
        """The weight over its greatest singular value."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                grown(v, u, matrix.t(), self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # a later forward changes them
        return weight / u.dot(matrix.mv(v))

    @staticmethod
    def apply(module, name, n_power_iterations, dim, eps):
        """Takes the parameter apart and registers the hook."""
        check_only(module, SpectralNorm, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        with no_grad():
            sizes = hook.reshape_weight_to_matrix(weight).shape
            u, v = (unit(weight.new_empty(size).normal_(0, 1), eps) for size in sizes)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(hook._save_version)
        module._register_load_state_dict_pre_hook(hook._restore_v, with_module=True)
        return hook

    def remove(self, module):
        """Makes the parameter whole again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        for suffix in "", "_u", "_v", "_orig":
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))
        for hooks in module._state_dict_hooks, module._load_state_dict_pre_hooks:
            for key in [k for k, hook in hooks.items() if getattr(hook, "__self__", None) is self]:
                del hooks[key]

    def _save_version(self, module, state_dict, prefix, local_metadata):
        versions = local_metadata.setdefault("spectral_norm", {})
        versions[self.name + ".version"] = self._version

    def _restore_v(self, module, state_dict, prefix, local_metadata, strict, missing_keys, *rest):
        """Finds `v` for a state that was saved without it: the one with which `u` gives the weight
        that was saved beside the original."""
        key = prefix + self.name
        version = local_metadata.get("spectral_norm", {}).get(self.name + ".version", 0)
        whole = key not in state_dict and all(key + end in state_dict for end in _STATE)
        if version >= 1 or whole:
            return
        absent = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if absent:
            missing_keys.extend(absent if strict else ())
            return
        with no_grad():
            original, u = state_dict[key + "_orig"], state_dict[key + "_u"]
            sigma = (original / state_dict.pop(key)).mean()
            matrix = self.reshape_weight_to_matrix(original)
            v = linalg.pinv(matrix).mv(u)
            state_dict[key + "_v"] = v * (sigma / u.dot(matrix.mv(v)))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divides a parameter by its greatest singular value, estimated by power iteration."""
    if dim is None:
        dim = int("ConvTranspose" in type(module).__name__)
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module, name="weight"):
    """Takes `spectral_norm` off again."""
    return removed(module, SpectralNorm, name, "spectral_norm")
