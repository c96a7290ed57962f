// A recorded failure, and the targets of include/flambeau/error.h.
#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ref.h"
#include "capi/objects.h"
#include "flambeau/common.h"

struct flam_error : flambeau::RefCounted {
  flambeau::Code code;
  std::string message;
  void* payload = nullptr;
  void (*drop)(void*) = nullptr;
  ~flam_error() override;
};

namespace flambeau::capi {

uint32_t version();
void version_require(int32_t major, int32_t minor);
int32_t error_code();
const char* error_message();
void error_clear();
Ref<flam_error> error_take();
void error_restore(flam_error* error);
void error_set(std::string_view message, void* payload, void (*drop)(void*));
void* error_payload();
int32_t error_code_of(const flam_error* error);
const char* error_message_of(const flam_error* error);

uint64_t frame_push();
flam_tensor* frame_keep(const Tensor& tensor);
void frame_pop(uint64_t scope);
void leak_tracking(bool enabled);
const char* leak_report();

}  // namespace flambeau::capi
