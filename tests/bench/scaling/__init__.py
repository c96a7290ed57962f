"""Scale on paper: what collectives, steps, memory and failures cost on clusters that nobody here
has. Times are in seconds, sizes in bytes, rates per second.

Every term is a formula of the literature with its source beside it; two numbers per kind of GPU are
fitted to published runs, and `published` says which, and how far the others are from the model."""
