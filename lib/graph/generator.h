// The state behind random ops: a seed, and a count of draws that each launch takes the next of. Ops
// use the device's default generator unless given another; a thread can put one of its own in its
// place.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/ref.h"
#include "base/thread_local.h"

// The ABI's opaque type, hence outside the namespace.
struct flam_generator final : flambeau::RefCounted {
  explicit flam_generator(flambeau::Device d, uint64_t s = 0) : device(d), seed_(s) {}

  struct State {
    uint64_t seed, offset;
  };
  State advance(uint64_t launches) {  // past their draws, from the state that is returned
    std::lock_guard lock(mutex_);
    return {seed_, std::exchange(offset_, offset_ + launches)};
  }
  State state() const {
    std::lock_guard lock(mutex_);
    return {seed_, offset_};
  }
  void set_state(State s) {
    std::lock_guard lock(mutex_);
    seed_ = s.seed;
    offset_ = s.offset;
  }

  const flambeau::Device device;

 private:
  mutable std::mutex mutex_;
  uint64_t seed_, offset_ = 0;
};

namespace flambeau {

using Generator = ::flam_generator;

Generator& default_generator(Device d);  // d has an index
void seed_default_generators(uint64_t seed);

// Where the generators stand that ops of this thread may draw from; also those that do not exist
// yet.
class GeneratorStates {
 public:
  GeneratorStates();  // as they are now
  void restore() const;

 private:
  struct Entry {
    Ref<Generator> generator;
    Generator::State state;
  };
  std::vector<Entry> entries_;
  uint64_t seed_;  // of default generators
};

// While it lives, random ops of this thread draw from `g` instead of default generators.
class GeneratorScope {
 public:
  explicit GeneratorScope(Generator& g);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;

 private:
  Generator* before_;
};

}  // namespace flambeau
