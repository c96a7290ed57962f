// The L-BFGS step over the parameters as one flat vector. State is global; it goes by the name of
// the first parameter, as in PyTorch.
#include "optim/lbfgs.h"

#include <cmath>

#include "base/error.h"
#include "graph/mode.h"
#include "ops/ops.h"
#include "tensor/parts.h"

namespace flambeau::optim {

namespace {

void check_lbfgs(const RuleOptions& o) {
  check(o[kOptLr] >= 0, Code::invalid_argument, "Invalid learning rate: ", o[kOptLr]);
  check(o[kLbfgsMaxIter] >= 0 && o[kLbfgsMaxEval] >= 0 && o[kLbfgsHistory] >= 0,
        Code::invalid_argument, "max_iter, max_eval and history_size must not be negative, got ",
        o[kLbfgsMaxIter], ", ", o[kLbfgsMaxEval], " and ", o[kLbfgsHistory]);
}

const Rule kTable{"LBFGS",
                  nullptr,
                  {"lr", "max_iter", "maximize", "max_eval", "tolerance_grad", "tolerance_change",
                   "history_size", "strong_wolfe"},
                  {},
                  &check_lbfgs};

double largest(const Tensor& t) { return number_of(ops::max(ops::abs(t))); }
// A complex parameter is a pair of unknowns, as in PyTorch; a memory of numbers would lose parts.
Tensor in_reals(const Tensor& t) { return is_complex(t.dtype()) ? pairs_of(t) : t; }
double dot(const Tensor& a, const Tensor& b) { return number_of(ops::dot(a, b)); }

class Lbfgs final : public flam_optimizer {
 public:
  Lbfgs() : flam_optimizer(kTable) {}

  void add_group(TensorsView params, const RuleOptions& options) override {
    check(groups.empty(), Code::invalid_argument,
          "LBFGS doesn't support per-parameter options (parameter groups)");
    flam_optimizer::add_group(params, options);
  }
  void step(const FoundInf&) override {
    fail(Code::invalid_argument,
         "LBFGS needs a closure that computes the loss anew: call flam_optimizer_step_closure");
  }
  double step_closure(const Closure& closure) override;
  Ref<State> state_dict() const override;
  void load_state_dict(const State& state) override;

 private:
  struct Memory {
    double func_evals = 0, n_iter = 0, t = 0, h_diag = 1, prev_loss = 0;
    Tensor d, prev_grad;
    std::deque<Tensor> dirs, steps;
    std::deque<double> ro;
  };

  double option_of(int place) const { return groups[0].options[size_t(place)]; }
  double loss_of(const Closure& closure);
  Tensor flat_grad() const;
  void move(double by, const Tensor& direction);
  Tensors copies() const;
  void remember(const Tensor& grad);
  Tensor direction(const Tensor& grad) const;
  int advance(const Closure& closure, double* loss, Tensor* grad, double slope, int evals,
              bool last);

  Memory m_;
};

double Lbfgs::loss_of(const Closure& closure) {
  GradMode grad(true);
  return closure();
}

Tensor Lbfgs::flat_grad() const {
  Tensors parts;
  for (const Parameter& p : groups[0].list) {
    const auto& autograd = p.param.impl()->autograd;
    const Tensor reals = in_reals(p.param);
    parts.push_back(autograd && autograd->grad
                        ? ops::reshape(in_reals(autograd->grad), Dims{-1})
                        : ops::zeros(Dims{reals.numel()}, reals.dtype(), reals.device()));
  }
  const Tensor flat = ops::cat(parts);
  return option_of(kOptMaximize) != 0 ? ops::neg(flat) : flat;
}

void Lbfgs::move(double by, const Tensor& direction) {
  int64_t at = 0;
  for (const Parameter& p : groups[0].list) {
    const Tensor reals = in_reals(p.param);
    const int64_t n = reals.numel();
    ops::add_(reals, ops::view(ops::narrow(direction, 0, at, n), reals.sizes()), by);
    at += n;
  }
}

Tensors Lbfgs::copies() const {
  Tensors all;
  for (const Parameter& p : groups[0].list) all.push_back(ops::clone(p.param));
  return all;
}

// Keeps the last change of the gradient and the step that made it.
void Lbfgs::remember(const Tensor& grad) {
  const Tensor y = ops::sub(grad, m_.prev_grad), s = ops::mul(m_.d, wrapped_number(m_.t));
  const double ys = dot(y, s);
  if (!(ys > 1e-10)) return;
  if (double(m_.dirs.size()) == option_of(kLbfgsHistory) && !m_.dirs.empty()) {
    m_.dirs.pop_front(), m_.steps.pop_front(), m_.ro.pop_front();
  }
  m_.dirs.push_back(y), m_.steps.push_back(s), m_.ro.push_back(1.0 / ys);
  m_.h_diag = ys / dot(y, y);
}

// The inverse Hessian's estimate times the gradient, downwards: two loops over the memory.
Tensor Lbfgs::direction(const Tensor& grad) const {
  Tensor q = ops::neg(grad);
  const size_t n = m_.dirs.size();
  std::vector<double> al(n);
  for (size_t i = n; i-- > 0;) {
    al[i] = dot(m_.steps[i], q) * m_.ro[i];
    ops::add_(q, m_.dirs[i], -al[i]);
  }
  q = ops::mul(q, wrapped_number(m_.h_diag));
  for (size_t i = 0; i < n; ++i) ops::add_(q, m_.steps[i], al[i] - dot(m_.dirs[i], q) * m_.ro[i]);
  return q;
}

// Moves along m_.d, by m_.t or as far as the search says; the number of evaluations.
int Lbfgs::advance(const Closure& closure, double* loss, Tensor* grad, double slope, int evals,
                   bool last) {
  const double sign = option_of(kOptMaximize) != 0 ? -1 : 1;
  if (option_of(kLbfgsWolfe) != 0) {
    const Tensors before = copies();
    const auto evaluate = [&](double at) {
      move(at, m_.d);
      LinePoint p{at, sign * loss_of(closure), flat_grad(), 0};
      for (size_t i = 0; i < before.size(); ++i) ops::copy_(groups[0].list[i].param, before[i]);
      p.slope = dot(p.grad, m_.d);
      return p;
    };
    int used = 0;
    const LinePoint found =
        strong_wolfe(evaluate, {0, *loss, ops::clone(*grad), slope}, m_.t, largest(m_.d),
                     option_of(kLbfgsChange), int(option_of(kLbfgsMaxEval)) - evals, &used);
    *loss = found.loss, *grad = found.grad, m_.t = found.at;
    move(m_.t, m_.d);
    return used;
  }
  move(m_.t, m_.d);
  if (last) return 0;  // nothing would look at it
  *loss = sign * loss_of(closure);
  *grad = flat_grad();
  return 1;
}

double Lbfgs::step_closure(const Closure& closure) {
  GradMode no_grad(false);
  const int max_iter = int(option_of(kLbfgsMaxIter)), max_eval = int(option_of(kLbfgsMaxEval));
  const double lr = option_of(kOptLr), least_change = option_of(kLbfgsChange);
  const double first_loss = loss_of(closure);
  double loss = option_of(kOptMaximize) != 0 ? -first_loss : first_loss;
  int evals = 1;
  m_.func_evals += 1;
  Tensor grad = flat_grad();
  if (largest(grad) <= option_of(kLbfgsGrad)) return first_loss;
  for (int n = 1; n <= max_iter; ++n) {
    const bool first = ++m_.n_iter == 1;
    if (first) {
      m_.d = ops::neg(grad);
      m_.h_diag = 1;
    } else {
      remember(grad);
      m_.d = direction(grad);
    }
    m_.prev_grad = ops::clone(grad);
    m_.prev_loss = loss;
    m_.t = first ? std::min(1.0, 1.0 / number_of(ops::sum(ops::abs(grad)))) * lr : lr;
    const double slope = dot(grad, m_.d);
    if (slope > -least_change) break;
    const int used = advance(closure, &loss, &grad, slope, evals, n == max_iter);
    evals += used;
    m_.func_evals += used;
    if (n == max_iter || evals >= max_eval) break;
    if (largest(grad) <= option_of(kLbfgsGrad)) break;
    if (largest(ops::mul(m_.d, wrapped_number(m_.t))) <= least_change) break;
    if (std::abs(loss - m_.prev_loss) < least_change) break;
  }
  return first_loss;
}

Ref<State> Lbfgs::state_dict() const {
  Ref<State> state = flam_optimizer::state_dict();
  if (!m_.d) return state;
  const auto number = [&](const char* name, double value) {
    state->set(cat_text("0.", name), ops::full(Dims{}, wrapped_number(value), Dtype::f64, kCpu));
  };
  number("func_evals", m_.func_evals), number("n_iter", m_.n_iter), number("t", m_.t);
  number("H_diag", m_.h_diag), number("prev_loss", m_.prev_loss);
  state->set("0.d", m_.d);
  state->set("0.prev_flat_grad", m_.prev_grad);
  for (size_t i = 0; i < m_.dirs.size(); ++i) {
    state->set(cat_text("0.old_dirs.", i), m_.dirs[i]);
    state->set(cat_text("0.old_stps.", i), m_.steps[i]);
    number(cat_text("ro.", i).c_str(), m_.ro[i]);
  }
  return state;
}

void Lbfgs::load_state_dict(const State& state) {
  Memory m;
  State options;  // what is the base class's
  const Tensor first = in_reals(groups[0].list[0].param);
  int64_t numel = 0;
  for (const Parameter& each : groups[0].list) numel += in_reals(each.param).numel();
  const auto vector = [&](const Tensor& t, const std::string& name) {
    check(t.numel() == numel, Code::shape, "state \"", name, "\" has ", t.numel(),
          " elements, expected ", numel);
    return ops::to(ops::reshape(t, Dims{-1}), first.device(), first.dtype(), false, true);
  };
  for (const auto& [name, t] : state.entries) {
    if (name == "0.func_evals")
      m.func_evals = number_of(t);
    else if (name == "0.n_iter")
      m.n_iter = number_of(t);
    else if (name == "0.t")
      m.t = number_of(t);
    else if (name == "0.H_diag")
      m.h_diag = number_of(t);
    else if (name == "0.prev_loss")
      m.prev_loss = number_of(t);
    else if (name == "0.d")
      m.d = vector(t, name);
    else if (name == "0.prev_flat_grad")
      m.prev_grad = vector(t, name);
    else if (name == cat_text("0.old_dirs.", m.dirs.size()))
      m.dirs.push_back(vector(t, name));
    else if (name == cat_text("0.old_stps.", m.steps.size()))
      m.steps.push_back(vector(t, name));
    else if (name == cat_text("0.ro.", m.ro.size()))
      m.ro.push_back(number_of(t));
    else
      options.entries.emplace_back(name, t);
  }
  check(m.dirs.size() == m.steps.size() && m.dirs.size() == m.ro.size(), Code::invalid_argument,
        "the state has ", m.dirs.size(), " old_dirs, ", m.steps.size(), " old_stps and ",
        m.ro.size(), " ro");
  check(bool(m.d) == bool(m.prev_grad) && (m.d || m.dirs.empty()), Code::invalid_argument,
        "the state has only one of d and prev_flat_grad");
  flam_optimizer::load_state_dict(options);
  m_ = std::move(m);
}

}  // namespace

Ref<flam_optimizer> lbfgs(TensorsView params, const RuleOptions& options) {
  auto optimizer = make_ref<Lbfgs>();
  optimizer->add_group(params, options);
  return optimizer;
}

}  // namespace flambeau::optim
