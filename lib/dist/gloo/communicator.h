// One of Gloo's contexts: connections to all ranks of a group, made through the job's store.
#pragma once
#include <gloo/rendezvous/context.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "dist/provider.h"

namespace flambeau::gloo_adaptor {

class Communicator {
 public:
  static std::shared_ptr<Communicator> connect(const flam_dist_members& members);
  explicit Communicator(std::shared_ptr<::gloo::rendezvous::Context> context)
      : context_(std::move(context)) {}
  ~Communicator() { abort(); }

  const std::shared_ptr<::gloo::rendezvous::Context>& context() const { return context_; }
  int rank() const { return context_->rank; }
  int size() const { return context_->size; }
  std::unique_ptr<::gloo::transport::UnboundBuffer> buffer(void* data, size_t bytes) const {
    return context_->createUnboundBuffer(data, bytes);
  }
  // Memory for what comes, kept from call to call: calls follow each other, and pages that are new
  // each time cost more than what is copied there.
  uint8_t* scratch(size_t bytes) {
    if (scratch_bytes_ < bytes) {
      scratch_.reset(new uint8_t[bytes]);
      scratch_bytes_ = bytes;
    }
    return scratch_.get();
  }
  void abort() noexcept;

 private:
  std::unique_ptr<uint8_t[]> scratch_;
  size_t scratch_bytes_ = 0;
  std::shared_ptr<::gloo::rendezvous::Context> context_;
};

}  // namespace flambeau::gloo_adaptor
