// One of Gloo's contexts: connections to all ranks of a group. Gloo's own way to make them has no
// exact deadline and leaves no time in which memory for what comes could be registered; this one is
// in two steps, and what waits in it is ended by end().
#pragma once
#include <gloo/context.h>

#include <chrono>
#include <memory>
#include <string>

#include "dist/provider.h"

namespace flambeau::gloo_adaptor {

using Device = std::shared_ptr<::gloo::transport::Device>;

// A thread that reads what comes by the address.
Device device_at(const char* address);

class Mesh final : public ::gloo::Context {
 public:
  // Connections that lead nowhere yet. Meshes of a group have different names.
  Mesh(const flam_dist_members& members, Device device, std::string name);
  // Leads them to the ranks, which find each other through the job's store.
  void connect(const flam_dist_members& members, std::chrono::steady_clock::time_point deadline);
  int awaited() const { return awaited_; }  // by connect() at last
  // Makes all that waits in it fail, here and on the other ranks.
  void end() noexcept;

 private:
  const std::string name_;
  int awaited_ = 0;
};

}  // namespace flambeau::gloo_adaptor
