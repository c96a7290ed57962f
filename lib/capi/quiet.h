// Helpers for functions that must not fail: a value in place of an exception, and text that lives
// until the thread's next call of the same function.
#pragma once
#include <string>

#include "base/of_thread.h"
#include "base/thread_local.h"

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
const char* text_of_thread(F f) {
  static FLAM_THREAD_LOCAL OfThread<std::string> text;
  return (text.get() = f()).c_str();
}

template <class F>
const char* borrowed_text(F f) noexcept {
  return or_else("", [&] { return text_of_thread(f); });
}

}  // namespace flambeau::capi
