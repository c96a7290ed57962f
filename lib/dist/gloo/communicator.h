// A group's connections, and what is kept with them from call to call: calls follow each other.
#pragma once
#include <gloo/common/error.h>

#include <chrono>
#include <memory>

#include "dist/gloo/alarms.h"
#include "dist/gloo/eager.h"
#include "dist/gloo/mesh.h"

namespace flambeau::gloo_adaptor {

class Communicator {
 public:
  explicit Communicator(const flam_dist_members& members);
  ~Communicator() { abort(); }

  const std::shared_ptr<Mesh>& mesh() const { return mesh_; }
  int rank() const { return mesh_->rank; }
  int size() const { return mesh_->size; }
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer(void* data, size_t bytes) const {
    return mesh_->createUnboundBuffer(data, bytes);
  }
  // Null where there are so many ranks that memory for each of them would be too much, or one.
  Eager* eager() const { return eager_.get(); }
  // Runs `f`, all of whose waits fail at the deadline; that is a timeout then.
  template <class F> void within(std::chrono::steady_clock::time_point deadline, F f);
  // The same with the deadline of a call.
  template <class F> void within(const flam_dist_call& call, F f) {
    within(std::chrono::steady_clock::now() + std::chrono::milliseconds(call.timeout_ms), f);
  }
  Alarms& alarms() { return alarms_; }
  void abort() noexcept;

 private:
  void connect(const flam_dist_members& members);

  const Device device_;
  const std::shared_ptr<Mesh> mesh_, short_;
  std::unique_ptr<Eager> eager_;
  Alarms alarms_;
};

template <class F>
void Communicator::within(std::chrono::steady_clock::time_point deadline, F f) {
  bool missed = false;  // is not written any more when the alarm is gone
  try {
    const Alarms::Alarm alarm(alarms_, deadline, [&] {
      missed = true;
      abort();
    });
    f();
  } catch (...) {
    if (!missed) throw;
  }
  if (missed) throw ::gloo::IoException("timed out");
}

}  // namespace flambeau::gloo_adaptor
