"""`torch.onnx.symbolic_opset11`: a module that packages import and use in functions which only an
export would call; it has no names."""
