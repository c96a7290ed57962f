// See collectives.h.
#include "dist/collectives.h"

#include <algorithm>

#include "dist/arithmetic.h"
#include "tensor/parts.h"

namespace flambeau::dist {
namespace {

std::vector<Tensor> plain(TensorsView tensors) {
  return std::vector<Tensor>(tensors.begin(), tensors.end());
}

int64_t elements(TensorsView tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors) n += t.numel();
  return n;
}

// One dtype and one device.
void check_alike(const char* call, TensorsView tensors, const Tensor& first) {
  for (const Tensor& t : tensors) {
    check(t.dtype() == first.dtype(), Code::dtype, call, ": tensors must have one dtype, got ",
          first, " and ", t);
    check(t.device() == first.device(), Code::device_mismatch, call,
          ": tensors must be on one device, got ", first, " and ", t);
  }
}

void check_rank(const char* call, const Group& g, const char* what, int64_t rank) {
  check(rank >= 0 && rank < g.size(), Code::invalid_argument, call, ": invalid ", what,
        " rank: ", rank, "; the group has ", g.size(), " ranks");
}

const Tensor& first_of(const char* call, const char* what, TensorsView tensors) {
  check(!tensors.empty(), Code::invalid_argument, call, ": no ", what, " tensor");
  return tensors[0];
}

// A part per rank of `one`'s size: a list of as many, or one tensor of all.
void check_parts(const char* call, const Group& g, const char* name, TensorsView parts,
                 const Tensor& one) {
  const Tensor& first = first_of(call, name, parts);
  check_alike(call, parts, one);
  if (parts.size() == 1) {
    check(first.numel() == one.numel() * g.size(), Code::shape, call, ": ", name, " ", first,
          " must have ", g.size(), " times the elements of ", one);
    return;
  }
  check(int64_t(parts.size()) == g.size(), Code::invalid_argument, call, ": expected ", g.size(),
        " ", name, " tensors, one per rank, got ", parts.size());
  for (const Tensor& t : parts)
    check(t.numel() == one.numel(), Code::shape, call, ": ", name, " ", t,
          " must have the elements of ", one);
}

What what_of(Kind kind, const Tensor& shown, int64_t count) {
  What what;
  what.kind = kind;
  what.dtype = shown.dtype();
  what.count = count;
  what.sizes = Dims(shown.sizes());
  return what;
}

What reducing(Kind kind, const Tensor& shown, int64_t count, Reduction by) {
  reduction(by.op, shown.dtype());  // throws where there is none
  What what = what_of(kind, shown, count);
  what.op = by.op;
  return what;
}

// A call whose root has a part for each rank, and the others none.
Call rooted(Kind kind, const Group& g, const char* name, TensorsView parts, const Tensor& one,
            int64_t root) {
  const char* const call_name = name_of(kind);
  check_rank(call_name, g, "root", root);
  if (g.rank() == root) {
    check_parts(call_name, g, name, parts, one);
  } else {
    check(parts.empty(), Code::invalid_argument, call_name, ": ", name,
          "s must be given on the root rank only, rank ", root);
  }
  Call call;
  call.what = what_of(kind, one, one.numel());
  call.what.peer = int32_t(root);
  return call;
}

// Elements by rank: rows of a single tensor, or the sizes of a list.
std::vector<uint64_t> counts(const Group& g, const char* name, TensorsView tensors,
                             std::span<const int64_t> splits) {
  constexpr const char* call = "all_to_all";
  const Tensor& first = first_of(call, name, tensors);
  std::vector<uint64_t> result;
  if (tensors.size() != 1 || g.size() == 1) {
    check(int64_t(tensors.size()) == g.size(), Code::invalid_argument, call, ": expected ",
          g.size(), " ", name, " tensors, one per rank, got ", tensors.size());
    for (const Tensor& t : tensors) result.push_back(uint64_t(t.numel()));
    return result;
  }
  const int64_t rows = first.dim() ? first.size(0) : 1;
  if (splits.empty()) {
    check(rows % g.size() == 0, Code::shape, call, ": ", name, " ", first,
          " does not divide equally across the group of ", g.size(), "; give its split sizes");
    return std::vector<uint64_t>(g.size(), uint64_t(first.numel() / g.size()));
  }
  check(int64_t(splits.size()) == g.size(), Code::invalid_argument, call, ": expected ", g.size(),
        " split sizes of the ", name, ", got ", splits.size());
  int64_t total = 0;
  for (const int64_t n : splits) {
    check(n >= 0, Code::invalid_argument, call, ": a split size of the ", name,
          " is negative: ", n);
    total = n > rows ? rows + 1 : std::min(total + n, rows + 1);  // no sum overflows
    result.push_back(uint64_t(n * (rows ? first.numel() / rows : 0)));
  }
  check(total == rows, Code::shape, call, ": split sizes of the ", name, " add up to ", total,
        ", not to the ", rows, " rows of ", first);
  return result;
}

// Complex numbers travel as pairs of reals, whose sums and means are those of the numbers.
Tensor as_pairs(const Tensor& t) { return is_complex(t.dtype()) ? pairs_of(t) : t; }

std::vector<Tensor> as_pairs(TensorsView tensors) {
  std::vector<Tensor> pairs;
  for (const Tensor& t : tensors) pairs.push_back(as_pairs(t));
  return pairs;
}

bool any_complex(TensorsView tensors) {
  for (const Tensor& t : tensors)
    if (is_complex(t.dtype())) return true;
  return false;
}

Reduction of_pairs(const char* call, Reduction by) {
  const bool linear = by.op == ReduceOp::none || by.op == ReduceOp::sum || by.op == ReduceOp::avg ||
                      by.op == ReduceOp::premul_sum;
  check(linear, Code::invalid_argument, call,
        " does not support this reduction on complex tensors: it takes a sum or a mean");
  return by;
}

}  // namespace

Ref<Work> all_reduce(Group& g, TensorsView tensors, Reduction by, bool async) {
  if (any_complex(tensors)) [[unlikely]]
    return all_reduce(g, as_pairs(tensors), of_pairs("all_reduce", by), async);
  const Tensor& first = first_of("all_reduce", "given", tensors);
  check_alike("all_reduce", tensors, first);
  Call call;
  call.what = reducing(Kind::all_reduce, first, elements(tensors), by);
  call.out = plain(tensors);
  call.factor = by.factor;
  return g.run(std::move(call), async);
}

Ref<Work> reduce(Group& g, const Tensor& tensor, int64_t root, Reduction by, bool async) {
  if (is_complex(tensor.dtype())) [[unlikely]]
    return reduce(g, as_pairs(tensor), root, of_pairs("reduce", by), async);
  check_rank("reduce", g, "root", root);
  Call call;
  call.what = reducing(Kind::reduce, tensor, tensor.numel(), by);
  call.what.peer = int32_t(root);
  call.in = {tensor};
  if (root == g.rank()) call.out = {tensor};
  call.factor = by.factor;
  return g.run(std::move(call), async);
}

Ref<Work> broadcast(Group& g, TensorsView tensors, int64_t root, bool async) {
  if (any_complex(tensors)) [[unlikely]]
    return broadcast(g, as_pairs(tensors), root, async);
  check_rank("broadcast", g, "root", root);
  const Tensor& first = first_of("broadcast", "given", tensors);
  check_alike("broadcast", tensors, first);
  Call call;
  call.what = what_of(Kind::broadcast, first, elements(tensors));
  call.what.peer = int32_t(root);
  call.out = plain(tensors);
  return g.run(std::move(call), async);
}

Ref<Work> all_gather(Group& g, TensorsView outputs, const Tensor& input, bool async) {
  if (is_complex(input.dtype()) && any_complex(outputs)) [[unlikely]]
    return all_gather(g, as_pairs(outputs), as_pairs(input), async);
  check_parts("all_gather", g, "output", outputs, input);
  Call call;
  call.what = what_of(Kind::all_gather, input, input.numel());
  call.in = {input};
  call.out = plain(outputs);
  return g.run(std::move(call), async);
}

Ref<Work> gather(Group& g, TensorsView outputs, const Tensor& input, int64_t root, bool async) {
  if (is_complex(input.dtype()) && (outputs.empty() || any_complex(outputs))) [[unlikely]]
    return gather(g, as_pairs(outputs), as_pairs(input), root, async);
  Call call = rooted(Kind::gather, g, "output", outputs, input, root);
  call.in = {input};
  call.out = plain(outputs);
  return g.run(std::move(call), async);
}

Ref<Work> scatter(Group& g, const Tensor& output, TensorsView inputs, int64_t root, bool async) {
  if (is_complex(output.dtype()) && (inputs.empty() || any_complex(inputs))) [[unlikely]]
    return scatter(g, as_pairs(output), as_pairs(inputs), root, async);
  Call call = rooted(Kind::scatter, g, "input", inputs, output, root);
  call.in = plain(inputs);
  call.out = {output};
  return g.run(std::move(call), async);
}

Ref<Work> reduce_scatter(Group& g, const Tensor& output, TensorsView inputs, Reduction by,
                         bool async) {
  if (is_complex(output.dtype()) && any_complex(inputs)) [[unlikely]]
    return reduce_scatter(g, as_pairs(output), as_pairs(inputs), of_pairs("reduce_scatter", by),
                          async);
  check_parts("reduce_scatter", g, "input", inputs, output);
  Call call;
  call.what = reducing(Kind::reduce_scatter, output, output.numel(), by);
  call.in = plain(inputs);
  call.out = {output};
  call.factor = by.factor;
  return g.run(std::move(call), async);
}

Ref<Work> all_to_all(Group& g, TensorsView outputs, TensorsView inputs,
                     std::span<const int64_t> output_splits, std::span<const int64_t> input_splits,
                     bool async) {
  if (any_complex(outputs) && any_complex(inputs)) [[unlikely]]
    return all_to_all(g, as_pairs(outputs), as_pairs(inputs), output_splits, input_splits, async);
  Call call;
  call.out_counts = counts(g, "output", outputs, output_splits);
  call.in_counts = counts(g, "input", inputs, input_splits);
  if (const size_t own = size_t(std::max(g.rank(), 0)); call.in_counts[own] != call.out_counts[own])
    fail(Code::shape, "all_to_all: rank ", own, " has ", call.in_counts[own],
         " elements for itself, and room for ", call.out_counts[own]);
  check_alike("all_to_all", outputs, inputs[0]);
  check_alike("all_to_all", inputs, inputs[0]);
  call.what = what_of(Kind::all_to_all, inputs[0], 0);
  call.in = plain(inputs);
  call.out = plain(outputs);
  return g.run(std::move(call), async);
}

Ref<Work> barrier(Group& g, bool async) { return g.run({}, async); }

Ref<Work> send(Group& g, const Tensor& tensor, int64_t to, int64_t tag) {
  if (is_complex(tensor.dtype())) [[unlikely]]
    return send(g, as_pairs(tensor), to, tag);
  check_rank("send", g, "destination", to);
  check(to != g.rank(), Code::invalid_argument, "send: invalid destination rank: ", to,
        " is this rank itself");
  Call call;
  call.what = what_of(Kind::send, tensor, tensor.numel());
  call.what.peer = int32_t(to);
  call.what.label = tag;
  call.in = {tensor};
  return g.begin(std::move(call));
}

Ref<Work> recv(Group& g, const Tensor& tensor, int64_t from, int64_t tag) {
  if (is_complex(tensor.dtype())) [[unlikely]]
    return recv(g, as_pairs(tensor), from, tag);
  if (from != -1) check_rank("recv", g, "source", from);
  check(from != g.rank(), Code::invalid_argument, "recv: invalid source rank: ", from,
        " is this rank itself");
  Call call;
  call.what = what_of(Kind::recv, tensor, tensor.numel());
  call.what.peer = int32_t(from);
  call.what.label = tag;
  call.out = {tensor};
  return g.begin(std::move(call));
}

}  // namespace flambeau::dist
