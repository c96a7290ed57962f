"""`torch.fx.experimental`, as far as packages ask whether they are being traced."""
