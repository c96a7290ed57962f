// A group's connections, and what is kept with them from call to call: calls follow each other.
#pragma once
#include <chrono>
#include <memory>

#include "dist/gloo/eager.h"
#include "dist/gloo/mesh.h"
#include "dist/gloo/watch.h"

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
  // A deadline for calls of eager().
  template <class F> void within(const flam_dist_call& call, F f) {
    watch_.within(Watch::Clock::now() + std::chrono::milliseconds(call.timeout_ms), f);
  }
  void abort() noexcept;

 private:
  void connect(const flam_dist_members& members);

  const Device device_;
  const std::shared_ptr<Mesh> mesh_, short_;
  std::unique_ptr<Eager> eager_;
  Watch watch_;
};

}  // namespace flambeau::gloo_adaptor
