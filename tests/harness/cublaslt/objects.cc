// What is left of cuBLASLt's objects when the process ends; see objects.h.
#include "objects.h"

#include "driver.h"

using namespace flambeau::cuda::lt;

namespace cublaslt {
namespace {

template <class T> void expect_none() {
  const size_t left = Living<T>::all().at_the_end().size();
  if (left)
    breach("cuBLASLt",
           "at the end: " + std::to_string(left) + ' ' + T::kKind + "s that nobody destroyed");
}

__attribute__((destructor)) void at_the_end() {
  expect_none<DescTag>();
  expect_none<LayoutTag>();
  expect_none<PreferenceTag>();
  std::map<int, int> handles;
  for (const auto& [number, handle] : Living<HandleTag>::all().at_the_end())
    ++handles[handle.device];
  for (const auto& [device, count] : handles)
    if (count > 1)
      breach("cuBLASLt", "at the end: " + std::to_string(count) + " handles of device " +
                             std::to_string(device));
}

}  // namespace

int breach(const char* function, const std::string& text) {
  standin_breach((std::string(function) + ": " + text).c_str());
  return kInvalid;
}

}  // namespace cublaslt
