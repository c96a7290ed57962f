// Helpers for functions that must not fail: a value in place of an exception, and text that lives
// until the thread's next call of the same function.
#pragma once
#include <memory>
#include <string>

namespace flambeau::capi {

template <class T, class F>
T or_else(T fallback, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return fallback;
  }
}

// Every lambda is a type of its own, so each caller has a text of its own.
template <class F>
const char* borrowed_text(F f) noexcept {
  static thread_local std::unique_ptr<std::string> text;
  return or_else("", [&]() -> const char* {
    text = std::make_unique<std::string>(f());
    return text->c_str();
  });
}

}  // namespace flambeau::capi
