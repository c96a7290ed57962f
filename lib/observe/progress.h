// How far a long piece of work is: counted, timed, and shown to whoever asked for it. Sinks draw on
// intervals of their own; advance() says when one is due, so that a value that costs a wait for the
// device is asked for only then. Every member may be called from any thread.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/ref.h"
#include "flambeau/progress.h"

namespace flambeau::observe {

// A moment of the work, with what was last told of it.
struct ProgressState {
  int64_t done = 0, total = 0;              // total 0: not known
  double elapsed = 0, rate = 0, left = -1;  // seconds, units per second, seconds; -1: not known
  int64_t memory = -1;                      // bytes in use on the watched device; -1: none is
  std::vector<std::pair<std::string, double>> values;
  std::string unit;
};

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual double interval() const = 0;  // seconds between drawings
  virtual void draw(const ProgressState& state) = 0;
  virtual void say(const ProgressState& state, std::string_view text) = 0;
  virtual void finish(const ProgressState& state) = 0;
};

}  // namespace flambeau::observe

struct flam_progress : flambeau::RefCounted {
  flam_progress(int64_t total, std::string_view unit);

  void add(std::unique_ptr<flambeau::observe::ProgressSink> sink);
  void watch(flambeau::Device device);
  bool advance(int64_t n);  // whether a drawing is due
  void set(std::string_view name, double value);
  void draw();
  void say(std::string_view text);
  void finish();
  flambeau::observe::ProgressState state() const;

 private:
  struct Sink {
    std::unique_ptr<flambeau::observe::ProgressSink> sink;
    double next = 0;  // when it is due
  };
  double elapsed() const;
  flambeau::observe::ProgressState now() const;
  template <class F> void each(F&& f);

  mutable std::mutex mutex_;
  flambeau::observe::ProgressState state_;
  std::vector<Sink> sinks_;
  flambeau::Device device_;
  int64_t begun_ns_;
  double next_ = 0, ended_ = -1;
};
