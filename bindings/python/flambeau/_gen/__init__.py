"""What the generator writes: nothing here is edited by hand."""
