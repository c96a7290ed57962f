// A recorded failure: what flam_error points to.
#pragma once
#include <string>

#include "base/error.h"
#include "base/ref.h"

struct flam_error : flambeau::RefCounted {
  flambeau::Code code;
  std::string message;
  void* payload = nullptr;
  void (*drop)(void*) = nullptr;
  ~flam_error() override;
};
