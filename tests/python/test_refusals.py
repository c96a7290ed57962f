"""What refused calls say: programs match PyTorch's words, so these stand in every text.

One row a check; where several functions share a check, or an operand may stand on either side, a
row for each of them, since the words come from one place."""

import flambeau as torch
import pytest

z = torch.zeros
AT = torch.tensor([0])
OF = torch.tensor([0, 1])


def _out(name, *args, wrong, **named):
    return lambda: getattr(torch, name)(*args, out=wrong, **named)


BROADCASTS = {
    "add": torch.add, "where": lambda a, b: torch.where(a > 0, a, b), "normal": torch.normal,
    "lerp": lambda a, b: torch.lerp(a, b, 0.5), "out": lambda a, b: torch.add(a, b, out=z(1)),
}  # fmt: skip
OVERFLOWS = {
    "empty": torch.empty, "zeros": torch.zeros, "resize_": lambda sizes: z(0).resize_(sizes),
    "full": lambda sizes: torch.full(sizes, 1.0), "new_empty": lambda sizes: z(1).new_empty(sizes),
}  # fmt: skip
REFUSALS = {
    "nonzero's tuple into one": (
        lambda: torch.nonzero(z(3), as_tuple=True, out=z(0).long()),
        "nonzero does not support the out kwarg when as_tuple is True",
    ),
    "searchsorted into floats": (
        lambda: torch.searchsorted(z(3), z(3), out=z(3)), "output tensor's dtype is wrong, it can"
    ),
    "bucketize into int64": (
        lambda: torch.bucketize(z(3), z(3), out_int32=True, out=z(3).long()),
        "it can only be Int.int32. or Long.int64. depending .* Long and out_int32 flag is True",
    ),
    "histogram's counts": (
        lambda: torch.histogram(z(3), 2, out=(z(2).double(), z(3))),
        "input tensor and hist tensor should have the same dtype",
    ),
    "histogram's edges": (
        lambda: torch.histogram(z(3), 2, out=(z(2), z(3).double())),
        "input tensor and bin_edges tensor should have the same dtype",
    ),
    "mode's values": (
        lambda: torch.mode(z(3), out=(z(0).long(), z(0).long())),
        "expected scalar type 'Float' but got 'Long' for values output",
    ),
    "kthvalue's places": (
        lambda: torch.kthvalue(z(3), 1, out=(z(0), z(0))),
        "expected scalar type 'Long' but got 'Float' for indices output",
    ),
    "grids of another batch and rank": (
        lambda: torch.grid_sampler_2d(z(2, 1, 2, 2, 2), z(1, 1, 1, 2, 2), 0, 0, False),
        "expected grid and input to have same batch size",
    ),
    "a range beyond int64": (lambda: torch.arange(1e-38, 3e38), "overflow"),
    "a range of integers beyond int64": (lambda: torch.arange(-2**63, 2**63 - 1), "overflow"),
    "too few spacings": (
        lambda: torch.gradient(z(2, 2, 2), spacing=(1.0, 2.0)),
        r"list of length equal to 'self.dim\(\) = 3', since dim argument was not given",
    ),
    "spacings and dims": (
        lambda: torch.gradient(z(2, 2), spacing=(1.0, 2.0), dim=0), "and dim arguments to have the"
    ),
    "places for spacing": (lambda: torch.gradient(z(2, 2), spacing=(z(2),)), "spacing to be"),
    "take_along_dim of int32": (
        lambda: torch.take_along_dim(z(2, 3), z(2, 3).int(), 1),
        r"torch.take_along_dim\(\): dtype of indices should be Long but got Int",
    ),
    "nonzero into floats": (
        lambda: torch.nonzero(z(3), out=z(0)),
        "nonzero: Expected out tensor to have scalar type Long but got scalar type Float",
    ),
    "cummax into shorts": (
        lambda: torch.cummax(z(3), 0, out=(z(0).short(), z(0).long())),
        "expected scalar_type Float but found Short",
    ),
    "cummin into float places": (
        lambda: torch.cummin(z(3), 0, out=(z(0), z(0))),
        "expected scalar_type Long but found Float",
    ),
    "steps beyond memory": (
        lambda: torch.empty_strided((8, 8), (2**61, 1)),
        r"Storage size calculation overflowed with sizes=\[8, 8\] and strides=\[23058430092",
    ),
    "steps of an empty tensor": (
        lambda: torch.empty(0, 4, 2**61),
        "Stride calculation overflowed",
    ),
    "resized steps": (lambda: z(1).resize_(0, 4, 2**61), "Stride calculation overflowed"),
    "take_along_dim": (
        lambda: torch.take_along_dim(z(2, 3), z(2, 3) > 0, 1),
        r"torch.take_along_dim\(\): dtype of indices should be Long but got Bool",
    ),
    "vander": (lambda: torch.vander(z(2, 4)), r"x must be a one-dimensional tensor\."),
    "normal of stds": (lambda: torch.normal(z(3), -torch.ones(3)),
                       r"normal expects all elements of std >= 0\.0"),
    "index_select beyond an empty tensor": (
        lambda: torch.index_select(z(0, 3), 1, torch.tensor([0, 5])),
        "INDICES element is out of DATA bounds, id=5 axis_dim=3",
    ),
    "index_select before an empty tensor": (
        lambda: torch.index_select(z(0, 3), 1, torch.tensor([-1])),
        "INDICES element is out of DATA bounds, id=-1 axis_dim=3",
    ),
    "index_select of a number, thrice": (
        lambda: torch.index_select(z(()), 0, AT.new_zeros(3)),
        "index_select.*Index to scalar can have only 1 value",
    ),
    "index_select of a number, not at all": (
        lambda: torch.index_select(z(()), 0, AT[:0]),
        "index_select.*Index to scalar can have only 1 value",
    ),
    "index_select": (lambda: torch.index_select(z(0, 3), 0, AT),
                     r"index_select\(\): self indexing axis dim should be positive"),
    "index_add to a number": (
        lambda: z(()).index_add(0, AT, z(1, 1, 1)),
        "source tensor shape must match self tensor shape, excluding the specified dimension",
    ),
    "index_add of other rows": (lambda: z(3, 4).index_add(0, AT, z(1, 5)),
                                r"Got self.shape = \[3, 4\] source.shape = \[1, 5\]"),
    "index_reduce": (lambda: z(3, 4).index_reduce(0, AT, z(1, 5), "mean"),
                     r"Got self.shape = \[3, 4\] source.shape = \[1, 5\]"),
    "index_add of more": (lambda: z(3, 4).index_add(0, AT, z(2, 4)),
                          r"Number of indices \(1\) should be equal to source.size\(dim\): \(2\)"),
    "index_add of a line": (lambda: z(3, 4).index_add(0, AT, z(4)),
                            r"Number of indices \(1\) should be equal to source.size.dim.: \(4"),
    "diff's prepend": (lambda: torch.diff(z(3, 2), prepend=z(1, 3), dim=0),
                       r"diff expects the shape of tensor to prepend or append to match that of "
                       r"input except along the differencing dimension; input.size\(1\) = 2"),
    "diff's append": (lambda: torch.diff(z(3, 2), append=z(2, 2)),
                      r"input.size\(0\) = 3, but got tensor.size\(0\) = 2"),
    "diff's dims": (lambda: torch.diff(z(3, 2), append=z(2)),
                    "diff expects prepend or append to be the same dimension as input"),
    "grids of another batch": (
        lambda: torch.nn.functional.grid_sample(z(5, 5, 5, 5), z(1, 4, 4, 2), align_corners=True),
        "expected grid and input to have same batch size",
    ),
    "grids of other places": (
        lambda: torch.nn.functional.grid_sample(z(5, 5, 5, 5), z(5, 1, 4, 4), align_corners=True),
        "expected grid to have size 2 in last dimension",
    ),
    "bytes of a row": (lambda: z(3, 4, 3).view(torch.float64),
                       r"self.size\(-1\) must be divisible by 2 to view Float as Double "
                       r"\(different element sizes\), but got 3"),
    "bytes with gaps": (lambda: z(4, 3, 4)[:, :, ::2].view(torch.float64),
                        r"self.stride\(-1\) must be 1 to view Float as Double .* but got 2"),
    "bytes of odd rows": (lambda: z(72).as_strided((2, 2), (3, 1)).view(torch.float64),
                          r"self.stride\(0\) must be divisible by 2 to view Float as Double"),
    "bytes from odd places": (lambda: z(72).as_strided((2, 2), (4, 1), 1).view(torch.float64),
                              r"self.storage_offset\(\) must be divisible by 2"),
    "bytes of a number": (lambda: z(()).view(torch.float64), r"self.dim\(\) cannot be 0 to view"),
    "histc": (lambda: torch.histc(z(3).char(), bins=4, min=5, max=1),
              "torch.histc: max must be larger than min"),
    "histogram's bins": (lambda: torch.histogram(z(3), z(()).double()),
                          "input tensor and bins tensors should have the same dtype"),
    "meshgrid": (lambda: torch.meshgrid(z(2), z(3), indexing=""),
                 'torch.meshgrid: indexing must be one of "xy" or "ij", but received: '),
    "Tensor of a tensor": (lambda: torch.Tensor(z(2), device="cpu"),
                           "Legacy tensor constructor of the form"),
    "values of another shape": (lambda: z(2).long().__setitem__(OF > -1, z(0)), "shape mismatch"),
    "values of another dtype": (
        lambda: z(2).long().__setitem__(OF, z(2)),
        "Index put requires the source and destination dtypes match, got Long for the destination "
        "and Float for the source",
    ),
    "all into floats": (_out("all", z(3), wrong=z(())),
                        "all only supports bool tensor for result, got: Float"),
    "any into integers": (_out("any", z(3), 0, wrong=z(()).long()),
                          "any only supports bool tensor for result, got: Long"),
    "logcumsumexp": (_out("logcumsumexp", z(3).double(), 0, wrong=z(3)),
                     "expected scalar_type Double but found Float"),
    "cumsum": (_out("cumsum", z(3), 0, wrong=z(3), dtype=torch.float64), "Expected out tensor to "),
    "cumprod": (_out("cumprod", z(3), 0, wrong=z(3), dtype=torch.float64), "Expected out tensor "),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refused_calls_say_what_pytorch_says(name):
    call, text = REFUSALS[name]
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize("name", BROADCASTS)
def test_sizes_that_do_not_broadcast_are_named_in_the_operands_order(name):
    for a, b, at in (((3,), (4,), 0), ((2, 5), (4,), 1), ((4,), (2, 5), 1)):
        text = (
            rf"The size of tensor a \({a[-1]}\) must match the size of tensor b \({b[-1]}\) at "
            f"non-singleton dimension {at}"
        )
        with pytest.raises(RuntimeError, match=text):
            BROADCASTS[name](z(a), z(b))


@pytest.mark.parametrize("name", OVERFLOWS)
def test_sizes_beyond_all_memory_are_an_overflow(name):
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed with sizes="):
        OVERFLOWS[name]((2, 4, 2**29, 2**29))


def test_places_outside_of_a_dimension_are_index_errors_with_its_size():
    for size, text in ((0, "for dimension with size 0"), (2, "for dimension 1 with size 2")):
        for call in (
            lambda x: x[:, torch.tensor([5])],
            lambda x: x.index_put_((AT, torch.tensor([5])), torch.tensor(1.0)),
        ):
            with pytest.raises(IndexError, match="out of bounds " + text):
                call(z(3, size))


@pytest.mark.parametrize("name", ["all", "any"])
def test_truths_over_no_dimensions_are_each_element(name):
    x = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    for dim in ((), []):
        for keepdim in (False, True):
            found = getattr(torch, name)(x, dim=dim, keepdim=keepdim)
            assert found.tolist() == [[False, True], [True, False]]
    assert getattr(x, name)(dim=None).shape == getattr(x, name)().shape == ()
    assert x.sum(dim=()).shape == ()


@pytest.mark.parametrize("name", "conv1d conv2d conv3d conv_transpose1d conv_transpose2d".split())
@pytest.mark.parametrize("kinds", [("Long", "Double"), ("Half", "Float"), ("Float", "Double")])
def test_convolutions_of_two_dtypes(name, kinds):
    sizes = (1, 1) + (2,) * int(name[-2])
    x, w = (z(sizes).type(f"torch.{kind}Tensor") for kind in kinds)
    with pytest.raises(RuntimeError, match=f"expected scalar type {kinds[0]} but found {kinds[1]}"):
        getattr(torch.nn.functional, name)(x, w)


PLACES = {
    "cumsum": torch.cumsum, "softmax": torch.softmax, "unsqueeze": torch.unsqueeze,
    "diff": lambda x, at: x.diff(dim=at), "narrow": lambda x, at: x.narrow(0, at, 1),
    "argmax": torch.argmax, "select": lambda x, at: x.select(at, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_places_are_numbers(name):
    PLACES[name](z(2, 2), torch.tensor(0))
    for wrong in torch.tensor([0]), torch.tensor(0.0), torch.tensor([0, 0]), True:
        with pytest.raises((TypeError, RuntimeError)):
            PLACES[name](z(2, 2), wrong)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_views_of_views_that_were_not_recorded(mode):
    x = z(2)
    with mode():
        y = x.view(2)
    y.requires_grad_()
    with pytest.raises(RuntimeError, match="^A view was created in .* is being modified inplace"):
        y.mul_(2)
    words = f"Output 0 of View is a view of a view .* is being .* inside the {mode.__name__} block"
    with pytest.raises(RuntimeError, match=words):
        y.view(2).mul_(2)


def test_a_view_without_a_node_prints():
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        y = x[:]
        y *= 2
    assert repr(y) == "tensor([2.], grad_fn=<Invalid>)"
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified"
    ):
        print(y.grad_fn)
