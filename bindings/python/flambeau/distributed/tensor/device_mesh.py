"""`torch.distributed.tensor.device_mesh`: meshes, where older programs import them from."""

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
