// Tensors as text, as PyTorch prints them: one width and one notation for all shown numbers, rows
// broken at the line width, large tensors summarised at the edges of every dimension. Only what is
// shown leaves a device.
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>

#include "base/error.h"
#include "capi/callback.h"
#include "capi/gen/targets.h"
#include "capi/quiet.h"
#include "graph/autograd_data.h"
#include "graph/mode.h"
#include "ops/ops.h"
#include "tensor/defaults.h"
#include "tensor/parts.h"

namespace flambeau::capi {

namespace {

using FormatOptions = flam_format_options;

// With a point for decimals, whatever the locale of the program.
std::string printed(std::chars_format form, int64_t precision, double v) {
  if (std::isnan(v)) return "nan";
  constexpr int64_t most_digits = 1100;  // all that a double has
  std::string s(size_t(2 * most_digits), '\0');
  const auto [end, problem] =
      std::to_chars(s.data(), s.data() + s.size(), v, form, int(std::min(precision, most_digits)));
  check(problem == std::errc(), Code::internal, "format: no room for ", v);
  s.resize(size_t(end - s.data()));
  return s;
}

// The shown numbers and how all of them are written.
class Numbers {
 public:
  Numbers(const Tensor& shown, const FormatOptions& o)
      : shown_(shown), floating_(is_floating(shown.dtype())), o_(o) {
    if (floating_) {
      choose_notation();
    } else {
      for (int64_t i = 0; i < shown.numel(); ++i) width_ = std::max(width_, exact(i).size());
    }
  }

  size_t width() const { return width_; }
  std::string operator()(int64_t i) const {
    std::string s = floating_ ? floating(value(i)) : exact(i);
    return s.size() < width_ ? std::string(width_ - s.size(), ' ') + s : s;
  }

 private:
  double value(int64_t i) const {
    return with_dtype(shown_.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<T>) {
        return double(shown_.data_as<T>()[i]);
      } else {
        return double(
            static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(shown_.data_as<T>()[i]));
      }
    });
  }

  std::string exact(int64_t i) const {
    if (shown_.dtype() == Dtype::boolean) return shown_.data_as<bool>()[i] ? "True" : "False";
    return with_dtype(shown_.dtype(), [&](auto tag) {
      return std::to_string(
          static_cast<int64_t>(shown_.data_as<typename decltype(tag)::type>()[i]));
    });
  }

  std::string floating(double v) const {
    if (scientific_) return printed(std::chars_format::scientific, o_.precision, v);
    if (!whole_) return printed(std::chars_format::fixed, o_.precision, v);
    return printed(std::chars_format::fixed, 0, v) + (std::isfinite(v) ? "." : "");
  }

  void choose_notation() {
    double least = INFINITY, most = 0;
    for (int64_t i = 0; i < shown_.numel(); ++i) {
      const double v = value(i);
      if (!std::isfinite(v) || v == 0) continue;
      least = std::min(least, std::fabs(v));
      most = std::max(most, std::fabs(v));
      whole_ &= v == std::ceil(v);
    }
    if (most == 0) return;
    scientific_ = o_.sci_mode >= 0 ? o_.sci_mode != 0
                                   : most / least > 1000.0 || most > 1.0e8 || least < 1.0e-4;
    for (int64_t i = 0; i < shown_.numel(); ++i) {
      const double v = value(i);
      if (std::isfinite(v) && v != 0) width_ = std::max(width_, floating(v).size());
    }
  }

  const Tensor shown_;
  bool floating_, whole_ = true, scientific_ = false;
  const FormatOptions& o_;
  size_t width_ = 1;
};

// The shown elements: numbers, or pairs of them whose parts have a width and a notation each.
class Elements {
 public:
  Elements(const Tensor& shown, const FormatOptions& o)
      : real_(ops::contiguous(real_of(shown)), o) {
    if (is_complex(shown.dtype())) imag_.emplace(ops::contiguous(part_of(shown, 1)), o);
  }

  size_t width() const { return real_.width() + (imag_ ? imag_->width() + 1 : 0); }
  std::string operator()(int64_t i) const {
    if (!imag_) return real_(i);
    std::string imag = (*imag_)(i);
    imag.erase(0, imag.find_first_not_of(' '));
    return real_(i) + (imag[0] == '-' ? "" : "+") + imag + "j";
  }

 private:
  Numbers real_;
  std::optional<Numbers> imag_;
};

// The shown part of x: the edges of every dimension, in host memory.
Tensor shown_part(const Tensor& x, bool summarize, int64_t edge) {
  Dims sizes(x.sizes());
  if (summarize) {
    for (int64_t& s : sizes) s = s / 2 < edge ? s : 2 * edge;
  }
  Tensor part = empty(sizes, x.dtype(), x.device());
  Dims cut;  // dimensions of which the middle is left out
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (x.sizes()[size_t(d)] != sizes[size_t(d)]) cut.push_back(d);
  }
  // Every corner is copied: bit i of `corner` says which end of the i-th cut dimension.
  for (uint64_t corner = 0; part.numel() && corner < uint64_t(1) << cut.size(); ++corner) {
    Tensor from = x, to = part;
    for (size_t i = 0; i < cut.size(); ++i) {
      const bool last = corner >> i & 1;
      from = ops::narrow(from, cut[i], last ? x.size(cut[i]) - edge : 0, edge);
      to = ops::narrow(to, cut[i], last ? edge : 0, edge);
    }
    ops::copy_(to, from);
  }
  Tensor host = ops::to_device(part, kCpu, false);
  wait_for_host_access(host.storage()->block());
  return host;
}

class Layout {
 public:
  Layout(DimsView sizes, bool summarize, const Elements& elements, const FormatOptions& o)
      : sizes_(sizes), summarize_(summarize), elements_(elements), o_(o) {}

  // Dimension d from the next unread number on.
  std::string block(size_t d, size_t indent) {
    if (sizes_.empty()) return elements_(next_++);
    return d + 1 == sizes_.size() ? row(indent) : stack(d, indent);
  }

 private:
  bool cut(size_t d) const { return summarize_ && sizes_[d] > 2 * o_.edgeitems; }

  std::string row(size_t indent) {
    const size_t d = sizes_.size() - 1;
    const int64_t shown = cut(d) ? 2 * o_.edgeitems : sizes_[d];
    std::vector<std::string> items;
    for (int64_t i = 0; i < shown; ++i) {
      if (cut(d) && i == o_.edgeitems) items.push_back(" ...");
      items.push_back(elements_(next_++));
    }
    if (cut(d) && !o_.edgeitems) items.push_back("...");
    const int64_t room = (o_.linewidth - int64_t(indent)) / int64_t(elements_.width() + 2);
    const size_t per_line = size_t(std::max<int64_t>(1, room));
    std::string text = "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) text += i % per_line ? ", " : ",\n" + std::string(indent + 1, ' ');
      text += items[i];
    }
    return text + "]";
  }

  std::string stack(size_t d, size_t indent) {
    const int64_t shown = cut(d) ? 2 * o_.edgeitems : sizes_[d];
    const std::string separator =
        "," + std::string(sizes_.size() - d - 1, '\n') + std::string(indent + 1, ' ');
    std::string text = "[";
    for (int64_t i = 0; i < shown; ++i) {
      if (i) text += separator;
      if (cut(d) && i == o_.edgeitems) text += "..." + separator;
      text += block(d + 1, indent + 1);
    }
    if (cut(d) && !o_.edgeitems) text += "...";
    return text + "]";
  }

  DimsView sizes_;
  bool summarize_;
  const Elements& elements_;
  const FormatOptions& o_;
  int64_t next_ = 0;
};

std::string tuple_text(DimsView sizes) {
  std::string s = to_string(sizes);
  s.front() = '(';
  s.back() = ')';
  if (sizes.size() == 1) s.insert(s.size() - 1, ",");
  return s;
}

std::vector<std::string> suffixes(const Tensor& t, const FormatOptions& o) {
  std::vector<std::string> out;
  if (!t.device().is_cpu()) out.push_back("device='" + to_string(t.device()) + "'");
  const bool unseen = t.device().is_meta();    // which says what a reader cannot tell from elements
  const bool told = !unseen && t.numel() > 0;  // whether elements show that they are complex
  const bool is_default = (told ? to_real(t.dtype()) : t.dtype()) == defaults().dtype;
  if (unseen || (t.numel() == 0 ? t.dim() != 1 : o.edgeitems == 0))
    out.push_back("size=" + tuple_text(t.sizes()));
  const bool obvious = told && (t.dtype() == Dtype::i64 || t.dtype() == Dtype::boolean);
  if (!is_default && !obvious) out.push_back(std::string("dtype=torch.") + name_of(t.dtype()));
  const char* name = nullptr;
  try {
    name = tensor_grad_fn_name(t);
  } catch (const Error&) {  // a view whose base changed where that was not recorded
    name = "Invalid";
  }
  if (name) {
    out.push_back(std::string("grad_fn=<") + name + ">");
  } else if (requires_grad(t)) {
    out.push_back("requires_grad=True");
  }
  return out;
}

std::string formatted(const Tensor& t, const FormatOptions& o) {
  const std::string prefix = "tensor(";
  const size_t indent = prefix.size() + size_t(o.indent);
  std::string text = prefix;
  if (t.device().is_meta()) {
    text += "...";
  } else if (t.numel() == 0) {
    text += "[]";
  } else {
    const GradMode off(false);
    const bool summarize = t.numel() > o.threshold;
    const Tensor shown = shown_part(t, summarize, o.edgeitems);
    const Elements elements(shown, o);
    text += Layout(t.sizes(), summarize, elements, o).block(0, indent);
  }
  const size_t line = text.rfind('\n');  // torch counts two more where there is one line
  int64_t column = line == text.npos ? int64_t(text.size()) + 2 : int64_t(text.size() - line) + 1;
  for (const std::string& s : suffixes(t, o)) {
    if (column + int64_t(s.size()) + 2 > o.linewidth) {
      text += ",\n" + std::string(indent, ' ') + s;
      column = int64_t(indent + s.size());
    } else {
      text += ", " + s;
      column += int64_t(s.size()) + 2;
    }
  }
  return text + ")";
}

}  // namespace

const char* tensor_format(const Tensor& t, int64_t precision, int64_t threshold, int64_t edgeitems,
                          int64_t linewidth, int32_t sci_mode, int32_t indent) {
  const flam_format_options o{sizeof o,  precision, threshold, edgeitems,
                              linewidth, sci_mode,  indent};
  check(
      o.precision >= 0 && o.threshold >= 0 && o.edgeitems >= 0 && o.linewidth > 0 && o.indent >= 0,
      Code::invalid_argument,
      "format: precision, threshold, edgeitems, linewidth and indent must not ", "be negative");
  return text_of_thread([&] { return formatted(t, o); });
}

}  // namespace flambeau::capi
