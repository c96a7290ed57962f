// A recorded failure: what flam_error points to.
#pragma once
#include <string>

#include "base/wording.h"

#include "base/error.h"
#include "base/ref.h"

struct flam_error : flambeau::RefCounted {
  flambeau::Code code;
  std::string message;  // as it was written: in PyTorch's words, or in the program's
  std::string c, rust;  // in other languages' words
  bool verbatim = false;
  void* payload = nullptr;
  void (*drop)(void*) = nullptr;
  ~flam_error() override;
  const std::string& text(flambeau::Language language) const {
    using flambeau::Language;
    return language == Language::c ? c : language == Language::rust ? rust : message;
  }
};
