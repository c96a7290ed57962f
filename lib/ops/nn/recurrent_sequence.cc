// A sequence through one direction of a recurrent layer, as one operation: a step is one product
// and one kernel, and the gradients of the weights are one product over all steps. Results are the
// outputs and, where there is a gradient, all that the steps made: so the gradient is a formula of
// operands and results, written in operations for who differentiates it again.
#include "kernels/access.h"
#include "kernels/gemm/gemm.h"
#include "ops/formula.h"
#include "ops/nn/recurrent.h"

namespace flambeau::ops {

namespace {

constexpr Op kSequenceOp{"recurrent_sequence", "x h c w_hh b_hh w_hr w_ih b_ih"};

const Kernel& cell_of(Recurrence kind) {
  return kind == Recurrence::lstm   ? kLstm
         : kind == Recurrence::gru  ? kGru
         : kind == Recurrence::tanh ? kRnnTanh
                                    : kRnnRelu;
}
const Kernel& slope_of(Recurrence kind) {
  return kind == Recurrence::lstm   ? kLstmSlope
         : kind == Recurrence::gru  ? kGruSlope
         : kind == Recurrence::tanh ? kRnnTanhSlope
                                    : kRnnReluSlope;
}

Tensor rows_of(const Tensor& t, int64_t first, int64_t n) {  // without history
  return alias(t, Dims{n, t.size(1)}, t.strides(), t.offset() + first * t.strides()[0]);
}
Tensor turned(const Tensor& t) {
  return alias(t, Dims{t.size(1), t.size(0)}, Dims{t.strides()[1], t.strides()[0]}, t.offset());
}

// The second operand of every step's product. On the host its columns lie in strips, each of which
// the product reads where it is, slab by slab in the first caches, instead of packing it anew.
class StepProduct {
 public:
  StepProduct(const Tensor& b, const Batches& steps) : b_(b) {
    if (kernel_column(b.device()) != KernelColumn::host || is_half(b.dtype())) return;
    if (!pays(b, steps)) return;
    strips_ = b.size(1) / kWidth;
    if (!in_strips()) return;
    whole_ = contiguous(by_strips(b));
    if (b.size(1) > strips_ * kWidth) rest_ = contiguous(behind_strips(b));
  }

  bool in_strips() const { return strips_ > 0; }

  // out = a @ b + c; out may be c.
  void run(const Tensor& out, const Tensor& a, const Tensor& c) const {
    if (!in_strips()) return run_gemm(kSequenceOp, out, a, b_, {.c = c ? &c : nullptr});
    const Tensor added = c ? by_strips(c) : c;
    run_gemm(kSequenceOp, by_strips(out), a, whole_, {.c = c ? &added : nullptr});
    if (!rest_) return;
    const Tensor last = c ? behind_strips(c) : c;
    run_gemm(kSequenceOp, behind_strips(out), a, rest_, {.c = c ? &last : nullptr});
  }

 private:
  static constexpr int64_t kWidth = 32;

  // Whether steps save what the copy costs: a single row reads b as fast where it is, unless strips
  // stay in the second cache.
  static bool pays(const Tensor& b, const Batches& steps) {
    constexpr int64_t vector = 16;  // a rest that ends within one would be packed for each product
    if (b.size(1) % vector != 0) return false;
    int64_t rows = 0;
    for (int64_t n : steps) rows += n;
    const int64_t bytes = int64_t(b.element_size()), strip = b.size(0) * kWidth * bytes;
    if (rows == int64_t(steps.size()) && b.numel() * bytes > 1 << 20) return false;
    return rows >= (strip > 1 << 16 || b.size(1) % kWidth != 0 ? 64 : 16);
  }

  // Of a matrix, or of a row that is added to all of one.
  Tensor by_strips(const Tensor& t) const {
    const int64_t rows = t.dim() == 1 ? 1 : t.size(0), row = t.dim() == 1 ? 0 : t.strides()[0],
                  step = t.strides().back();
    return alias(t, Dims{strips_, rows, kWidth}, Dims{kWidth * step, row, step}, t.offset());
  }
  Tensor behind_strips(const Tensor& t) const {
    const int64_t first = strips_ * kWidth, step = t.strides().back();
    Dims sizes(t.sizes());
    sizes.back() -= first;
    return alias(t, sizes, t.strides(), t.offset() + first * step);
  }

  const Tensor b_;
  Tensor whole_, rest_;
  int64_t strips_ = 0;
};

// Where rows of each step lie, and in which order steps are made.
struct Steps {
  Batches count;
  bool backwards;
  std::vector<int64_t> first;

  Steps(const Batches& batches, bool reverse) : count(batches), backwards(reverse) {
    int64_t row = 0;
    for (int64_t n : count) first.push_back(row), row += n;
  }
  size_t size() const { return count.size(); }
  size_t made(size_t i) const { return backwards ? size() - 1 - i : i; }  // i-th

  Tensor of(const Tensor& whole, size_t t) const { return rows_of(whole, first[t], count[t]); }
  Tensor tracked(const Tensor& whole, size_t t) const {
    return narrow(whole, 0, first[t], count[t]);
  }

  // The states that step t begins with, of those that steps made and the first ones.
  Tensor before(const Tensor& states, const Tensor& given, size_t t) const {
    if (!backwards) return t == 0 ? given : narrow(states, 0, first[t - 1], count[t]);
    const int64_t have = t + 1 < size() ? count[t + 1] : 0;
    if (have == 0) return narrow(given, 0, 0, count[t]);
    const Tensor made = narrow(states, 0, first[t + 1], have);
    if (have == count[t]) return made;
    const Tensor both[] = {made, narrow(given, 0, have, count[t] - have)};
    return cat(both, 0);
  }
  Tensor before_all(const Tensor& states, const Tensor& given) const {
    if (count.front() == count.back()) {
      const int64_t n = count.front(), rest = states.size(0) - n;
      const Tensor both[] = {backwards ? narrow(states, 0, n, rest) : given,
                             backwards ? given : narrow(states, 0, 0, rest)};
      return rest == 0 ? given : cat(both, 0);
    }
    std::vector<Tensor> all;
    for (size_t t = 0; t < size(); ++t) all.push_back(before(states, given, t));
    return cat(all, 0);
  }

  // The state that each sequence ends with.
  Tensor last(const Tensor& states) const {
    if (backwards) return narrow(states, 0, 0, count[0]);
    std::vector<Tensor> ends;
    for (size_t t = size(); t-- > 0;) {
      const bool is_last = t + 1 == size();
      const int64_t going_on = is_last ? 0 : count[t + 1];
      if (going_on == count[t] && !is_last) continue;
      ends.push_back(narrow(states, 0, first[t] + going_on, count[t] - going_on));
    }
    return ends.size() == 1 ? ends[0] : cat(ends, 0);
  }
};

struct Cell {
  const Kernel& kernel;
  CellArgs args{};
  SmallVector<Access, 12> accesses{};
  SmallVector<Tensor, 12> operands{};  // some are made for this launch

  CellRows rows(const Tensor& t, bool write) {
    if (!t.defined()) return {};
    accesses.push_back(write ? writes(t) : reads(t));
    operands.push_back(t);
    return {static_cast<char*>(t.data()), t.dim() == 1 ? 0 : t.strides()[0]};
  }
  CellRows in(const Tensor& t) { return rows(t, false); }
  CellRows out(const Tensor& t) { return rows(t, true); }
  void run(const Tensor& like, int64_t n, int64_t width) {
    args.rows = n;
    args.width = width;
    const KernelFn fn = kernel.find(kernel.name, like.device(), like.dtype());
    if (n * width == 0) return;
    launch_kernel(kernel.name, fn, like.device(), args,
                  std::span<const Access>(accesses.begin(), accesses.size()));
  }
};

struct Made {
  Tensor y, states, gates, cells;  // y: the states once more, for the caller
};

// The products of the input, some steps at once: so few rows that the product reads them in place
// and that what it makes is in a cache still when its step comes.
class Projection {
 public:
  Projection(const Steps& steps, const Tensor& x, const Tensor& w, const Tensor& bias)
      : steps_(steps), x_(x), bias_(bias), product_(turned(w), steps.count) {
    constexpr int64_t elements = 1 << 14;
    limit_ = product_.in_strips() ? elements / std::max<int64_t>(x.size(1), 1) : x.size(0);
    for (int64_t n : steps.count) limit_ = std::max(limit_, n);
    limit_ = std::min(limit_, x.size(0));
  }
  int64_t rows() const { return limit_; }

  // Of the i-th step that is made, in `whole` where that has rows for all steps.
  Tensor of(size_t i, const Tensor& whole) {
    const size_t t = steps_.made(i);
    const bool all = whole.size(0) == x_.size(0);
    if (i >= end_) {
      int64_t n = 0;
      for (end_ = i; end_ < steps_.size(); ++end_) {
        const int64_t more = steps_.count[steps_.made(end_)];
        if (n > 0 && n + more > limit_) break;
        n += more;
      }
      low_ = steps_.first[steps_.backwards ? steps_.made(end_ - 1) : t];
      product_.run(rows_of(whole, all ? low_ : 0, n), rows_of(x_, low_, n), bias_);
    }
    return rows_of(whole, steps_.first[t] - (all ? 0 : low_), steps_.count[t]);
  }

 private:
  const Steps& steps_;
  const Tensor &x_, &bias_;
  const StepProduct product_;
  int64_t limit_, low_ = 0;
  size_t end_ = 0;
};

int64_t parts_of(Recurrence kind) {
  return kind == Recurrence::lstm ? 4 : kind == Recurrence::gru ? 3 : 1;
}

// Products by strips reach as far as the weights say.
void check_weights(const Call& c, Recurrence kind) {
  const Tensor &hh = c[3], &ih = c[6];
  check(hh.dim() == 2 && ih.dim() == 2 && ih.size(0) == hh.size(0) &&
            hh.size(0) % parts_of(kind) == 0 && c[1].size(1) == hh.size(1),
        Code::shape, c.op(), ": weights ", ih, " and ", hh, " do not fit each other and ", c[1]);
  for (size_t i : {size_t(4), size_t(7)}) {
    check(!c[i] || (c[i].dim() == 1 && c[i].size(0) == hh.size(0)), Code::shape, c.op(), ": ",
          "biases have as many elements as weights have rows, not ", c[i]);
  }
}

Made make(const Call& c, Recurrence kind, const Steps& steps, bool keep) {
  const Tensor &x = c[0], h = contiguous(c[1]), cell = c[2] ? contiguous(c[2]) : c[2],
               &weight = c[3], &bias = c[4], &project = c[5];
  const int64_t parts = parts_of(kind), width = weight.size(0) / parts, rows = x.size(0);
  const bool gru = kind == Recurrence::gru;
  auto dense = [&](int64_t n, int64_t m) {
    return flambeau::empty(Dims{n, m}, x.dtype(), x.device());
  };
  Projection projection(steps, x, c[6], c[7]);
  Made m;
  m.states = dense(rows, h.size(1));
  m.y = keep ? dense(rows, h.size(1)) : m.states;
  if (cell) m.cells = dense(rows, width);
  if (parts > 1) {
    m.gates = dense(keep ? rows : gru ? steps.count[0] : projection.rows(), 4 * width);
  }
  const Tensor hidden = project ? dense(steps.count[0], width) : Tensor();
  const Tensor projected = gru          ? dense(projection.rows(), weight.size(0))
                           : parts == 1 ? m.states
                                        : m.gates;
  const StepProduct across(turned(weight), steps.count);
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t t = steps.made(i);
    const int64_t n = steps.count[t];
    const Tensor before = steps.before(m.states, h, t), states = steps.of(m.states, t);
    const Tensor input = projection.of(i, projected);
    const Tensor gates = !gru ? input : keep ? steps.of(m.gates, t) : rows_of(m.gates, 0, n);
    across.run(alias(gates, Dims{n, parts * width}, gates.strides(), gates.offset()), before,
               gru ? bias : gates);
    Cell k{cell_of(kind)};
    const Tensor h_now = project ? rows_of(hidden, 0, n) : states;
    k.args.gates = k.out(gates);
    k.args.h = k.out(h_now);
    k.args.y = project ? k.args.h : k.out(steps.of(m.y, t));
    if (gru) k.args.projected = k.in(input), k.args.h_before = k.in(before);
    if (cell) {
      k.args.c_before = k.in(steps.before(m.cells, cell, t));
      k.args.c = k.out(steps.of(m.cells, t));
    }
    k.run(gates, n, width);
    if (project) run_gemm(kSequenceOp, states, h_now, turned(project));
  }
  if (project && keep) run_cast(m.y, m.states);
  return m;
}

// ---- the gradient
// ----------------------------------------------------------------------------------------

Tensor plus(const Tensor& a, const Tensor& b) { return !a ? b : !b ? a : add(a, b); }

// Of one step.
struct Slopes {
  Tensor gates, state;  // of the projection and of the state's product
  Tensor h, c;          // of the states before, h without what comes through the product
};

// a (1 - a) and 1 - a^2 times the slope of a.
Tensor through_sigmoid(const Tensor& da, const Tensor& a) { return mul(da, mul(a, one_minus(a))); }
Tensor through_tanh(const Tensor& da, const Tensor& a) { return mul(da, one_minus(mul(a, a))); }

struct StepValues {
  Tensor gates, h_before, c_before, h, c;
};

// dg: the slope of what the gates became, or none.
Slopes slopes(Recurrence kind, const Tensor& dh, const Tensor& dc, const Tensor& dg,
              const StepValues& v) {
  if (kind == Recurrence::tanh || kind == Recurrence::relu) {
    const Tensor g =
        kind == Recurrence::tanh ? through_tanh(dh, v.h) : keep_where(gt(v.h, num(int64_t{0})), dh);
    return {g, g, {}, {}};
  }
  const std::vector<Tensor> g = chunk(v.gates, 4, 1);
  std::vector<Tensor> d(4);
  if (dg) d = chunk(dg, 4, 1);
  if (kind == Recurrence::gru) {
    const Tensor fresh = through_tanh(plus(mul(dh, one_minus(g[1])), d[3]), g[3]);
    const Tensor reset = through_sigmoid(plus(mul(fresh, g[2]), d[0]), g[0]);
    const Tensor update = through_sigmoid(plus(mul(dh, sub(v.h_before, g[3])), d[1]), g[1]);
    const Tensor of_gates[] = {reset, update, fresh};
    const Tensor of_state[] = {reset, update, plus(mul(fresh, g[0]), d[2])};
    return {cat(of_gates, 1), cat(of_state, 1), mul(dh, g[1]), {}};
  }
  const Tensor t = tanh(v.c), of_cell = plus(through_tanh(mul(dh, g[3]), t), dc);
  const Tensor all[] = {through_sigmoid(plus(mul(of_cell, g[2]), d[0]), g[0]),
                        through_sigmoid(plus(mul(of_cell, v.c_before), d[1]), g[1]),
                        through_tanh(plus(mul(of_cell, g[0]), d[2]), g[2]),
                        through_sigmoid(plus(mul(dh, t), d[3]), g[3])};
  const Tensor of_gates = cat(all, 1);
  return {of_gates, of_gates, {}, mul(of_cell, g[1])};
}

struct Walked {
  Tensor gates, state, total;  // [rows of all steps, ...]; total: of states that were projected
  Tensor h, c;                 // of the first states
};

struct SequenceBackward {
  Recurrence kind;
  Steps steps;
  Saved x, w_ih, h, c, weight, project, states, gates, cells;
  static constexpr auto name = "RecurrentSequenceBackward0";

  struct Values {
    Tensor h, c, weight, project, states, gates, cells;
  };
  Values values() const {
    auto get = [](const Saved& s) { return s.defined() ? s.get() : Tensor(); };
    auto dense = [&](const Saved& s) { return s.defined() ? contiguous(s.get()) : Tensor(); };
    return {dense(h), dense(c), get(weight), get(project), get(states), get(gates), get(cells)};
  }

  // dy: of y, states, and of gates and cells where there are some.
  Tensors operator()(TensorsView dy) const {
    const Values v = values();
    const Tensor d_gates = dy.size() > 2 ? dy[2] : Tensor(),
                 d_cells = dy.size() > 3 ? dy[3] : Tensor();
    const bool again = modes.grad || d_gates;
    const Tensor d_states = plus(dy[0], dy[1]);
    const Walked w =
        again ? walk_in_operations(v, d_states, d_gates, d_cells) : walk(v, d_states, d_cells);
    Tensors d{Tensor(), w.h, w.c, Tensor(), Tensor(), Tensor(), Tensor(), Tensor()};
    const int64_t rows = 0;
    if (wanted(0)) d[0] = matmul(w.gates, w_ih.get());
    if (wanted(3)) d[3] = matmul(t(w.state), steps.before_all(v.states, v.h));
    if (wanted(4)) d[4] = sum(w.state, {&rows, 1});
    if (wanted(6)) d[6] = matmul(t(w.gates), x.get());
    if (wanted(7)) d[7] = sum(w.gates, {&rows, 1});
    if (v.project && wanted(5)) {
      d[5] = matmul(t(w.total), mul(chunk(v.gates, 4, 1)[3], tanh(v.cells)));
    }
    return d;
  }

 private:
  Walked walk_in_operations(const Values& v, const Tensor& d_states, const Tensor& d_gates,
                            const Tensor& d_cells) const {
    std::vector<Tensor> of_gates(steps.size()), of_state(steps.size()), totals(steps.size());
    Walked w{{}, {}, {}, zeros_as(v.h), v.c ? zeros_as(v.c) : v.c};
    auto part = [&](const Tensor& whole, size_t t) {
      return whole ? steps.tracked(whole, t) : whole;
    };
    auto replaced = [](const Tensor& carried, const Tensor& by) {
      const int64_t n = by.size(0), all = carried.size(0);
      const Tensor both[] = {by, narrow(carried, 0, n, all - n)};
      return n == all ? by : cat(both, 0);
    };
    for (size_t i = steps.size(); i-- > 0;) {
      const size_t t = steps.made(i);
      const int64_t n = steps.count[t];
      totals[t] = plus(narrow(w.h, 0, 0, n), part(d_states, t));
      const Tensor dh = v.project ? matmul(totals[t], v.project) : totals[t];
      const Tensor dc = v.c ? plus(narrow(w.c, 0, 0, n), part(d_cells, t)) : v.c;
      const StepValues now{part(v.gates, t), steps.before(v.states, v.h, t),
                           v.c ? steps.before(v.cells, v.c, t) : v.c, part(v.states, t),
                           part(v.cells, t)};
      const Slopes s = slopes(kind, dh, dc, part(d_gates, t), now);
      of_gates[t] = s.gates, of_state[t] = s.state;
      w.h = replaced(w.h, plus(s.h, matmul(s.state, v.weight)));
      if (v.c) w.c = replaced(w.c, s.c);
    }
    w.gates = cat(of_gates, 0);
    w.state = kind == Recurrence::gru ? cat(of_state, 0) : w.gates;
    if (v.project) w.total = cat(totals, 0);
    return w;
  }

  // The same by a kernel and a product for each step.
  Walked walk(const Values& v, const Tensor& d_states, const Tensor& d_cells) const {
    const int64_t rows = v.states.size(0), parts = v.weight.size(0);
    const int64_t width = kind == Recurrence::lstm  ? parts / 4
                          : kind == Recurrence::gru ? parts / 3
                                                    : parts;
    const Dtype dtype = v.states.dtype();
    const Device device = v.states.device();
    const Tensor none = zeros(Dims{std::max(width, v.h.size(1))}, dtype, device);
    const Tensor dy = d_states ? contiguous(d_states) : none;
    const Tensor d_c = d_cells ? contiguous(d_cells) : d_cells;
    const StepProduct back(v.weight, steps.count);
    Walked w{{}, {}, {}, zeros_as(v.h), v.c ? zeros_as(v.c) : v.c};
    w.gates = flambeau::empty(Dims{rows, parts}, dtype, device);
    w.state = kind == Recurrence::gru ? flambeau::empty_like(w.gates) : w.gates;
    if (v.project) w.total = d_states ? clone(dy) : zeros_as(v.states);
    const Tensor hidden =
        v.project ? flambeau::empty(Dims{steps.count[0], width}, dtype, device) : Tensor();
    for (size_t i = steps.size(); i-- > 0;) {
      const size_t t = steps.made(i);
      const int64_t n = steps.count[t];
      const Tensor dh = rows_of(w.h, 0, n), dc = v.c ? rows_of(w.c, 0, n) : v.c;
      const Tensor now = d_states ? steps.of(dy, t) : none;
      if (v.project) run_gemm(kSequenceOp, rows_of(hidden, 0, n), steps.of(w.total, t), v.project);
      Cell k{slope_of(kind)};
      k.args.dh = k.out(v.project ? rows_of(hidden, 0, n) : dh);
      k.args.dy = k.in(v.project ? none : now);
      k.args.slope = k.out(steps.of(w.gates, t));
      if (v.gates) k.args.gates = k.in(steps.of(v.gates, t));
      if (kind == Recurrence::gru) {
        k.args.h_before = k.in(steps.before(v.states, v.h, t));
        k.args.state_slope = k.out(steps.of(w.state, t));
      } else if (v.c) {
        k.args.c_before = k.in(steps.before(v.cells, v.c, t));
        k.args.c = k.in(steps.of(v.cells, t));
        k.args.dc = k.out(dc);
        k.args.dc_now = k.in(d_c ? steps.of(d_c, t) : none);
      } else {
        k.args.h = k.in(steps.of(v.states, t));
      }
      k.run(v.states, n, width);
      if (v.project) {
        to_projected(w, back, i);
      } else {
        back.run(dh, steps.of(w.state, t), kind == Recurrence::gru ? dh : Tensor());
      }
    }
    return w;
  }

  // What the i-th step gives its states before: added to the slopes of the step that made them, and
  // the first ones' alone.
  void to_projected(const Walked& w, const StepProduct& back, size_t i) const {
    const Tensor slope = steps.of(w.state, steps.made(i));
    const int64_t n = slope.size(0);
    const Tensor made = i > 0 ? steps.of(w.total, steps.made(i - 1)) : Tensor();
    const int64_t within = made ? std::min(n, made.size(0)) : 0;
    if (within > 0) {
      const Tensor sum = rows_of(made, 0, within);
      back.run(sum, rows_of(slope, 0, within), sum);
    }
    if (within < n)
      back.run(rows_of(w.h, within, n - within), rows_of(slope, within, n - within), {});
  }
};

// ---- the operation
// ---------------------------------------------------------------------------------------

SequenceResult run_steps(Recurrence kind, const Tensor& x, const RecurrentState& first,
                         const RecurrentWeights& w, const Batches& batches, bool backwards) {
  Call c{kSequenceOp, {x, first.h, first.c, w.hh, w.b_hh, w.hr, w.ih, w.b_ih}, Devices::exact};
  check_weights(c, kind);
  const Steps steps(batches, backwards);
  Made m;
  {
    const GradMode off(false);
    m = make(c, kind, steps, c.needs_grad());
  }
  if (!c.needs_grad()) {
    return {m.y, {steps.last(m.states), m.cells ? steps.last(m.cells) : m.cells}};
  }
  SmallVector<Tensor, 4> ys{m.y, m.states};
  if (m.gates) ys.push_back(m.gates);
  if (m.cells) ys.push_back(m.cells);
  c.track_all({ys.begin(), ys.size()},
              SequenceBackward{kind, steps, c.save(c[0], c.wants(6)), c.save(c[6], c.wants(0)),
                               c.save(c[1]), c.save(c[2]), c.save(c[3]), c.save(c[5]),
                               Saved::output(ys[1], 1), m.gates ? Saved::output(ys[2], 2) : Saved(),
                               m.cells ? Saved::output(ys[3], 3) : Saved()});
  return {ys[0], {steps.last(ys[1]), m.cells ? steps.last(ys[3]) : Tensor()}};
}

}  // namespace

SequenceResult run_sequence(Recurrence kind, const Tensor& x, const RecurrentState& first,
                            const RecurrentWeights& w, const Batches& batches, bool backwards) {
  if (!modes.autocast) return run_steps(kind, x, first, w, batches, backwards);
  // A product's operands are those of linear. What is made of it elementwise has the type of the
  // given state, where that is part of it.
  const Call lower{op::linear, {x, w.ih, w.b_ih, first.h, w.hh, w.b_hh}, Devices::exact};
  const bool simple = kind == Recurrence::tanh || kind == Recurrence::relu;
  const Tensor& state = simple ? lower[3] : first.c ? first.c : first.h;
  const Dtype dtype = promote(lower[0].dtype(), state.dtype());
  auto cast = [&](const Tensor& t) { return t ? to_dtype(t, dtype) : t; };
  const Tensor& h = kind == Recurrence::gru ? first.h : lower[3];
  return run_steps(kind, cast(lower[0]), {cast(h), cast(first.c)},
                   {cast(lower[1]), cast(lower[4]), cast(lower[2]), cast(lower[5]), cast(w.hr)},
                   batches, backwards);
}

}  // namespace flambeau::ops
