// Sums of products over labelled dimensions. Operands are brought to one axis per label; pairs are
// multiplied as batched matrices: labels of both that stay are the batch, those that go the inner
// size. Among more than two operands the pair whose product is smallest against what it replaces
// comes first.
#include <algorithm>
#include <string>

#include "base/error.h"
#include "ops/call.h"
#include "ops/formula.h"

namespace flambeau::ops {

namespace {

constexpr int kLetters = 52;
constexpr int kEllipsis = -1;
using Labels = std::vector<int>;  // of a tensor's dimensions

[[noreturn]] void fail_einsum(const std::string& text) {
  throw Error(Code::invalid_argument, "einsum(): " + text, "", "");
}
template <class... Parts> void want(bool ok, const Parts&... parts) {
  if (!ok) fail_einsum(cat_text(parts...));
}

int letter_of(char c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}
char letter(int label) { return char(label < 26 ? 'A' + label : 'a' + label - 26); }

struct Equation {
  std::vector<Labels> in;
  Labels out;
  bool has_out = false;
};

Equation parse(std::string_view text) {
  Equation e;
  e.in.emplace_back();
  bool dots = false;  // in this group
  for (size_t i = 0; i < text.size(); ++i) {
    Labels& group = e.has_out ? e.out : e.in.back();
    const char c = text[i];
    const std::string where = e.has_out ? "the output" : cat_text("operand ", e.in.size() - 1);
    if (c == ' ') continue;
    if (c == '.') {
      want(!dots || !e.has_out, "found '.' for output but an ellipsis (...) was already found");
      want(!dots, "found '.' for ", where, " for which an ellipsis was already found");
      want(text.substr(i, 3) == "...", "found '.' for ", where,
           " that is not part of any ellipsis");
      dots = true;
      group.push_back(kEllipsis);
      i += 2;
    } else if (c == ',' && !e.has_out) {
      e.in.emplace_back();
      dots = false;
    } else if (c == '-' && !e.has_out) {
      want(text.substr(i, 2) == "->", "expected '->' at index ", i, " in the equation string");
      e.has_out = true;
      dots = false;
      ++i;
    } else {
      want(letter_of(c) >= 0, "invalid subscript given at index ", i,
           " in the equation string, subscripts must be in [a-zA-Z]");
      group.push_back(letter_of(c));
    }
  }
  return e;
}

// How many dimensions the ellipses stand for; labels from kLetters on are theirs, right aligned.
int ellipsis_size(const Equation& e, TensorsView operands) {
  int most = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool dots = std::count(e.in[i].begin(), e.in[i].end(), kEllipsis) > 0;
    const int named = int(e.in[i].size()) - dots, dims = int(operands[i].dim());
    want(dots ? named <= dims : named == dims, "the number of subscripts in the equation (", named,
         ") ", dots ? "is more than" : "does not match", " the number of dimensions (", dims,
         ") for operand ", i, dots ? "" : " and no ellipsis was given");
    if (dots) most = std::max(most, dims - named);
  }
  return most;
}

Labels expanded(const Labels& labels, int64_t dims, int ellipsis) {
  Labels y;
  const int stands_for = int(dims) - int(labels.size()) + 1;
  for (int label : labels) {
    if (label != kEllipsis) {
      y.push_back(label);
      continue;
    }
    for (int i = ellipsis - stands_for; i < ellipsis; ++i) y.push_back(kLetters + i);
  }
  return y;
}

Labels output_labels(const Equation& e, const std::vector<Labels>& in, int ellipsis) {
  std::vector<int> seen(size_t(kLetters + ellipsis), 0);
  for (const Labels& labels : in) {
    for (int label : labels) ++seen[size_t(label)];
  }
  if (!e.has_out) {
    Labels y;
    for (int i = 0; i < ellipsis; ++i) y.push_back(kLetters + i);
    for (int label = 0; label < kLetters; ++label) {
      if (seen[size_t(label)] == 1) y.push_back(label);
    }
    return y;
  }
  const bool dots = std::count(e.out.begin(), e.out.end(), kEllipsis) > 0;
  const Labels y = expanded(e.out, int64_t(e.out.size()) - dots + (dots ? ellipsis : 0), ellipsis);
  for (int label : y) {
    if (label >= kLetters) continue;
    want(seen[size_t(label)] > 0, "output subscript ", letter(label),
         " does not appear in the equation for any input operand");
    want(std::count(y.begin(), y.end(), label) == 1, "output subscript ", letter(label),
         " appears more than once in the output");
  }
  return y;
}

struct Part {
  Tensor x;
  Labels labels;  // ascending, each once
  bool has(int label) const { return std::binary_search(labels.begin(), labels.end(), label); }
  int64_t size(int label) const {
    const auto at = std::lower_bound(labels.begin(), labels.end(), label);
    return at != labels.end() && *at == label ? x.size(at - labels.begin()) : 1;
  }
};

// Repeated labels become diagonals, dimensions are ordered by label.
Part part_of(const Tensor& operand, Labels labels, size_t number) {
  Tensor x = operand;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = labels.size(); --j > i;) {
      if (labels[i] != labels[j]) continue;
      want(x.size(int64_t(i)) == x.size(int64_t(j)), "subscript ", letter(labels[i]),
           " is repeated for operand ", number, " but the sizes don't match, ", x.size(int64_t(j)),
           " != ", x.size(int64_t(i)));
      x = movedim(diagonal(x, 0, int64_t(i), int64_t(j)), Dims{-1}, Dims{int64_t(i)});
      labels.erase(labels.begin() + long(j));
    }
  }
  Dims order;
  for (size_t i = 0; i < labels.size(); ++i) order.push_back(int64_t(i));
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return labels[size_t(a)] < labels[size_t(b)]; });
  Part p{std::is_sorted(labels.begin(), labels.end()) ? x : permute(x, order), labels};
  std::sort(p.labels.begin(), p.labels.end());
  return p;
}

// `alone`: not in a product, so that the sum follows sum(): of integers it is int64.
void sum_out(Part& p, const std::vector<int>& uses, bool alone = false) {
  Dims gone;
  Labels rest;
  for (size_t i = 0; i < p.labels.size(); ++i) {
    if (uses[size_t(p.labels[i])]) {
      rest.push_back(p.labels[i]);
    } else {
      gone.push_back(int64_t(i));
    }
  }
  if (gone.empty()) return;
  p = {sum(p.x, gone, false, alone ? Dtype::none : p.x.dtype()), rest};
}

// x with its dimensions in the order of `groups`, each group one dimension.
Tensor grouped(const Part& p, std::initializer_list<const Labels*> groups) {
  Dims order, shape;
  for (const Labels* g : groups) {
    int64_t n = 1;
    for (int label : *g) {
      order.push_back(std::lower_bound(p.labels.begin(), p.labels.end(), label) - p.labels.begin());
      n *= p.size(label);
    }
    shape.push_back(n);
  }
  return reshape(permute(p.x, order), shape);
}

// Drops dimensions of size 1 that the other has greater: they broadcast.
Part without_stretched(const Part& p, const Part& other) {
  Dims gone;
  Labels rest;
  for (size_t i = 0; i < p.labels.size(); ++i) {
    if (p.x.size(int64_t(i)) == 1 && other.has(p.labels[i]) && other.size(p.labels[i]) != 1) {
      gone.push_back(int64_t(i));
    } else {
      rest.push_back(p.labels[i]);
    }
  }
  return gone.empty() ? p : Part{squeeze(p.x, gone), rest};
}

// The product of two parts without the labels that nobody else uses.
Part contract(const Part& a0, const Part& b0, const std::vector<int>& uses) {
  Part a = without_stretched(a0, b0), b = without_stretched(b0, a);
  sum_out(a, [&] {
    std::vector<int> u = uses;
    for (int label : b.labels) ++u[size_t(label)];
    return u;
  }());
  sum_out(b, [&] {
    std::vector<int> u = uses;
    for (int label : a.labels) ++u[size_t(label)];
    return u;
  }());
  Labels batch, inner, left, right;
  for (int label : a.labels) {
    (!b.has(label) ? left : uses[size_t(label)] ? batch : inner).push_back(label);
  }
  for (int label : b.labels) {
    if (!a.has(label)) right.push_back(label);
  }
  const Tensor y = bmm(grouped(a, {&batch, &left, &inner}), grouped(b, {&batch, &inner, &right}));
  Labels labels;
  Dims shape;
  for (const Labels* g : {&batch, &left, &right}) {
    for (int label : *g) {
      labels.push_back(label);
      shape.push_back(a.has(label) ? a.size(label) : b.size(label));
    }
  }
  return part_of(reshape(y, shape), labels, 0);
}

// The pair to multiply first: the one whose product grows least over its operands.
std::pair<size_t, size_t> best_pair(const std::vector<Part>& parts, const std::vector<int>& uses) {
  std::pair<size_t, size_t> best{0, 1};
  double least = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = i + 1; j < parts.size(); ++j) {
      double made = 1;
      for (int label = 0; label < int(uses.size()); ++label) {
        const int own = parts[i].has(label) + parts[j].has(label);
        if (own && uses[size_t(label)] > own) {
          made *= double(std::max(parts[i].size(label), parts[j].size(label)));
        }
      }
      const double growth = made - double(parts[i].x.numel()) - double(parts[j].x.numel());
      if ((i || j > 1) && growth >= least) continue;
      least = growth;
      best = {i, j};
    }
  }
  return best;
}

void check_sizes(const std::vector<Part>& parts, size_t labels) {
  std::vector<int64_t> sizes(labels, 1);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (int label : parts[i].labels) {
      int64_t& known = sizes[size_t(label)];
      const int64_t n = parts[i].size(label);
      check(n == known || n == 1 || known == 1, Code::shape, "einsum(): subscript ",
            label < kLetters ? std::string(1, letter(label)) : std::string("of the ellipsis"),
            " has size ", n, " for operand ", i,
            " which does not broadcast with previously seen size ", known);
      if (known == 1) known = n;
    }
  }
}

}  // namespace

Tensor einsum(std::string_view equation, TensorsView operands) {
  want(!operands.empty(), "must provide at least one operand");
  const std::vector<Operand> named(operands.begin(), operands.end());
  const Call c{op::einsum, std::span(named)};
  const Equation e = parse(equation);
  want(e.in.size() == operands.size(), e.in.size() > operands.size() ? "fewer" : "more",
       " operands were provided than specified in the equation: ", operands.size(), " for ",
       e.in.size());
  const int ellipsis = ellipsis_size(e, operands);
  std::vector<Labels> in;
  for (size_t i = 0; i < operands.size(); ++i) {
    in.push_back(expanded(e.in[i], operands[i].dim(), ellipsis));
  }
  const Labels out = output_labels(e, in, ellipsis);
  std::vector<int> uses(size_t(kLetters + ellipsis), 0);  // by remaining parts and the output
  for (int label : out) ++uses[size_t(label)];
  std::vector<Part> parts;
  for (size_t i = 0; i < operands.size(); ++i) parts.push_back(part_of(c[i], in[i], i));
  check_sizes(parts, uses.size());
  auto count = [&](const Part& p, int by) {
    for (int label : p.labels) uses[size_t(label)] += by;
  };
  for (const Part& p : parts) count(p, 1);
  while (parts.size() > 1) {
    const auto [i, j] =
        parts.size() == 2 ? std::pair<size_t, size_t>{0, 1} : best_pair(parts, uses);
    count(parts[i], -1);
    count(parts[j], -1);
    Part made = contract(parts[i], parts[j], uses);
    count(made, 1);
    parts.erase(parts.begin() + long(j));
    parts[i] = std::move(made);
  }
  count(parts[0], -1);
  sum_out(parts[0], uses, operands.size() == 1);
  Dims order;
  for (int label : out) {
    order.push_back(std::lower_bound(parts[0].labels.begin(), parts[0].labels.end(), label) -
                    parts[0].labels.begin());
  }
  return permute(parts[0].x, order);
}

Tensor tensordot(const Tensor& a, const Tensor& b, DimsView dims_a, DimsView dims_b) {
  const Call c{op::tensordot, {a, b}};
  check(dims_a.size() == dims_b.size(), Code::invalid_argument,
        "both dimension lists should have same length");
  auto split = [](const Tensor& x, DimsView dims, Dims& order, bool inner_last) {
    SmallVector<bool, 8> taken(size_t(std::max<int64_t>(x.dim(), 1)), false);
    Dims inner, outer;
    for (int64_t dim : dims) {
      const int64_t d = wrap_dim(dim, x.dim());
      check(!taken[size_t(d)], Code::index, "dim ", d,
            " appears multiple times in the list of dims");
      taken[size_t(d)] = true;
      inner.push_back(d);
    }
    for (int64_t d = 0; d < x.dim(); ++d) {
      if (!taken[size_t(d)]) outer.push_back(d);
    }
    for (int64_t d : inner_last ? outer : inner) order.push_back(d);
    for (int64_t d : inner_last ? inner : outer) order.push_back(d);
    return outer;
  };
  Dims order_a, order_b, sizes;
  int64_t rows = 1, columns = 1, inner = 1;
  Tensor left = c[0], right = c[1];
  for (size_t i = 0; i < dims_a.size(); ++i) {  // a size of 1 meets any: the other one is summed
    const int64_t n = a.size(dims_a[i]), m = b.size(dims_b[i]);
    if (n == 1 && m != 1) right = sum(right, {&dims_b[i], 1}, true, right.dtype());
    if (m == 1 && n != 1) left = sum(left, {&dims_a[i], 1}, true, left.dtype());
  }
  for (int64_t d : split(left, dims_a, order_a, true)) {
    sizes.push_back(a.size(d));
    rows *= a.size(d);
  }
  for (int64_t d : split(right, dims_b, order_b, false)) {
    sizes.push_back(b.size(d));
    columns *= b.size(d);
  }
  for (size_t i = 0; i < dims_a.size(); ++i) {
    check(left.size(dims_a[i]) == right.size(dims_b[i]), Code::shape,
          "contracted dimensions need to match, but first has size ", a.size(dims_a[i]), " in dim ",
          dims_a[i], " and second has size ", b.size(dims_b[i]), " in dim ", dims_b[i]);
    inner *= left.size(dims_a[i]);
  }
  return reshape(mm(reshape(permute(left, order_a), Dims{rows, inner}),
                    reshape(permute(right, order_b), Dims{inner, columns})),
                 sizes);
}

}  // namespace flambeau::ops
