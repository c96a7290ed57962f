// See call_text.h.
#include "capi/call_text.h"

#include <charconv>
#include <type_traits>

#include "base/error.h"

namespace flambeau::capi {

namespace {

constexpr size_t kMost = 8;  // entries of a list that are written

template <class T> std::string listed(std::span<const T> list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size() && i < kMost; ++i) text += (i ? ", " : "") + said(list[i]);
  return text + (list.size() > kMost ? cat_text(", ... of ", list.size(), "]") : "]");
}

}  // namespace

std::string said(const Tensor& t) {
  if (!t.defined()) return {};
  if (!t.is_wrapped_number()) return describe(t);
  return with_dtype(t.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Shown = std::conditional_t<std::is_same_v<T, bool>, bool,
                                     std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
    return said(Shown(*t.data_as<T>()));
  });
}

std::string said(TensorsView list) { return listed(list); }
std::string said(Dtype d) { return d == Dtype::none ? std::string() : name_of(d); }
std::string said(Device d) { return d ? to_string(d) : std::string(); }
std::string said(std::string_view text) {
  return text.empty() ? std::string() : cat_text('"', text, '"');
}
std::string said(bool b) { return b ? "true" : "false"; }
std::string said(double v) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}
std::string said(int64_t v) { return cat_text(v); }
std::string said(std::span<const int64_t> list) { return listed(list); }
std::string said(std::span<const double> list) { return listed(list); }

void ArgumentText::add(const std::string& value) {
  const size_t end = names_.find(", ");
  const char* const between = text_.size() > 1 ? ", " : "";
  if (!value.empty()) text_ += cat_text(between, names_.substr(0, end), ": ", value);
  names_.remove_prefix(end == names_.npos ? names_.size() : end + 2);
}

}  // namespace flambeau::capi
