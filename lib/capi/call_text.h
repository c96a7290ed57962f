// A call in words, for errors: "softmax(input: f32[2, 3] on cpu, dim: 5)". Made only where a call
// failed and its error names no operands of its own.
#pragma once
#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/device.h"
#include "base/dtype.h"
#include "tensor/tensor.h"

namespace flambeau::capi {

// An argument's value; nothing where it was left out.
std::string said(const Tensor& t);
std::string said(TensorsView list);
std::string said(Dtype d);
std::string said(Device d);
std::string said(std::string_view text);
std::string said(bool b);
std::string said(double v);
std::string said(int64_t v);
inline std::string said(size_t v) { return said(int64_t(v)); }
std::string said(std::span<const int64_t> list);
std::string said(std::span<const double> list);
template <class T> std::string said(const std::optional<T>& v) {
  return v ? said(*v) : std::string();
}

// A list that may be absent.
template <class List> std::optional<List> unless_absent(const List& list) {
  return list.data() ? std::optional(list) : std::nullopt;
}

// "(a: 1, b: 2)" of "a, b" and their values, without what was left out.
class ArgumentText {
 public:
  explicit ArgumentText(std::string_view names) : names_(names) {}
  void add(const std::string& value);
  std::string text() && { return std::move(text_) + ")"; }

 private:
  std::string_view names_;
  std::string text_ = "(";
};

// What a call's C name is in the other languages, and its arguments.
struct CallText {
  const char *python, *rust;
  std::string arguments;
};

// Cold, so that a thousand shims stay small.
template <class... Args>
[[gnu::cold, gnu::noinline]] CallText call_text(const char* python, const char* rust,
                                                std::string_view names, const Args&... args) {
  ArgumentText text(names);
  (text.add(said(args)), ...);
  return {python, rust, std::move(text).text()};
}

// How to write down the call that a shim makes, should it fail.
struct Arguments {
  const void* shim = nullptr;
  CallText (*text)(const void* shim) = nullptr;  // null: not to be said
};

// The same as a shim has it, before anything failed.
template <class F> struct Said {
  F text;
};
template <class F> Said(F) -> Said<F>;

inline const Arguments& arguments_of(const Arguments& given) { return given; }
template <class F> Arguments arguments_of(const Said<F>& given) {
  return {&given.text, [](const void* f) { return (*static_cast<const F*>(f))(); }};
}

}  // namespace flambeau::capi
