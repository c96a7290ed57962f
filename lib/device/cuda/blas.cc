// Running a plan: descriptors, the heuristic's algorithm (asked once per kind of problem and kept),
// a workspace from the caching allocator, the call. One lock per process keeps the cache; the
// enqueue itself is short. What the library has no way to compute is left to our own product, which
// is told of once; memory that it lacks for itself is made room for as the allocator does.
#include "device/cuda/blas.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "base/warning.h"
#include "device/allocator.h"
#include "device/cuda/blas_lt.h"
#include "device/cuda/blas_plan.h"
#include "device/cuda/status.h"
#include "device/label.h"
#include "device/streams.h"

namespace flambeau::cuda {
namespace {

constexpr size_t kWorkspace = size_t(32) << 20;  // what cuBLAS advises for Hopper

struct Types {
  int data, compute, scale;
};

Types types_of(const hal::Matmul& p) {
  switch (p.dtype) {
    case Dtype::f64:
      return {lt::kReal64, lt::kCompute64, lt::kReal64};
    case Dtype::f16:
      return {lt::kReal16, lt::kCompute32, lt::kReal32};
    case Dtype::bf16:
      return {lt::kRealBf16, lt::kCompute32, lt::kReal32};
    default:
      return {lt::kReal32, p.tf32 ? lt::kComputeTf32 : lt::kCompute32, lt::kReal32};
  }
}

struct Failure {
  int status;
  const char* what;
};

void ok(int status, const char* what) {
  if (status != lt::kSuccess) throw Failure{status, what};
}

// A handle that finds no memory is not initialised, either.
hal::Status meaning(int status) {
  switch (status) {
    case lt::kSuccess:
      return hal::Status::ok;
    case lt::kNotInitialized:
    case lt::kAllocFailed:
      return hal::Status::out_of_memory;
    case lt::kArchMismatch:
    case lt::kNotSupported:
      return hal::Status::unsupported;
    default:
      return hal::Status::internal;
  }
}

hal::Status left_to_us(const std::string& why) {
  static ToldOnce told;
  told.warn(
      "flambeau's own kernel, which is several times slower, computes what cuBLASLt does not: ",
      why);
  return hal::Status::unsupported;
}

// Owns a descriptor of cuBLASLt.
template <class T>
class Owned {
 public:
  explicit Owned(int (*destroy)(T)) : destroy_(destroy) {}
  ~Owned() {
    if (value_) destroy_(value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* out() { return &value_; }
  operator T() const { return value_; }

 private:
  T value_ = nullptr;
  int (*destroy_)(T);
};

struct Descriptors {
  const lt::Functions& f;
  Owned<lt::Desc> desc{f.desc_destroy};
  Owned<lt::Layout> first{f.layout_destroy}, second{f.layout_destroy}, c{f.layout_destroy},
      out{f.layout_destroy};

  Descriptors(const lt::Functions& functions, const BlasPlan& plan, const hal::Matmul& p,
              const Types& types)
      : f(functions) {
    ok(f.desc_create(desc.out(), types.compute, types.scale), "creating a product");
    set(lt::kTransA, int32_t(plan.first.transposed));
    set(lt::kTransB, int32_t(plan.second.transposed));
    const uint32_t epilogue = (p.relu ? lt::kRelu : 0) | (plan.bias ? lt::kBias : 0);
    set(lt::kEpilogue, epilogue ? epilogue : uint32_t(lt::kPlain));
    if (plan.bias) set(lt::kBiasPointer, plan.bias);
    layout(first, plan.first, types.data, p.batches);
    layout(second, plan.second, types.data, p.batches);
    layout(c, plan.c, types.data, p.batches);
    layout(out, plan.out, types.data, p.batches);
  }

 private:
  template <class V>
  void set(int attribute, V value) {
    ok(f.desc_set(desc, attribute, &value, sizeof value), "setting an attribute");
  }
  void layout(Owned<lt::Layout>& l, const ColumnMatrix& m, int type, int64_t batches) {
    ok(f.layout_create(l.out(), type, uint64_t(m.rows), uint64_t(m.cols), m.ld),
       "creating a layout");
    if (batches == 1) return;
    const int32_t count = int32_t(batches);
    ok(f.layout_set(l, lt::kBatchCount, &count, sizeof count), "setting a batch");
    ok(f.layout_set(l, lt::kBatchOffset, &m.batch, sizeof m.batch), "setting a batch stride");
  }
};

// An algorithm reads by words as wide as its operands' alignment allows: bytes, at most 256; of
// what is absent as much.
uint32_t alignment(const void* p) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  return uint32_t(std::min<uintptr_t>(address ? address & -address : 256, 256));
}

struct Alignments {
  uint32_t first, second, c, out, bias;
  explicit Alignments(const BlasPlan& p)
      : first(alignment(p.first_data)),
        second(alignment(p.second_data)),
        c(alignment(p.c_data)),
        out(alignment(p.out_data)),
        bias(alignment(p.bias)) {}
};

// What an algorithm depends on: sizes, strides, types, epilogue and the alignment of the operands.
using Key = std::array<int64_t, 23>;

Key key_of(const BlasPlan& plan, const hal::Matmul& p, const Types& types, const Alignments& by,
           int device) {
  Key key{};
  size_t i = 0;
  for (const ColumnMatrix* m : {&plan.first, &plan.second, &plan.out, &plan.c})
    for (int64_t v : {m->ld, m->batch}) key[i++] = v;
  for (int64_t v : {plan.out.rows, plan.out.cols, p.k, p.batches, int64_t(plan.first.transposed),
                    int64_t(plan.second.transposed), int64_t(p.relu) * 2 + (plan.bias != nullptr),
                    int64_t(types.data), int64_t(types.compute), int64_t(device), int64_t(by.first),
                    int64_t(by.second), int64_t(by.c), int64_t(by.out), int64_t(by.bias)})
    key[i++] = v;
  return key;
}

// One handle for each device, kept until the process ends, when CUDA may be gone; and algorithms.
// The library may allocate for both, be it in the middle of a capture.
class Blas {
 public:
  static Blas& instance() {
    static Blas& blas = *new Blas;
    return blas;
  }

  lt::Handle handle(const lt::Functions& f, int device) {
    std::lock_guard lock(mutex_);
    lt::Handle& h = handles_[device];
    if (h) return h;
    const RelaxedCapture relaxed;
    ok(f.create(&h), "creating a handle");
    return h;
  }

  // None where cuBLASLt has none.
  std::optional<lt::Heuristic> algorithm(const Key& key, lt::Handle handle, const Descriptors& d,
                                         const Alignments& by) {
    {
      std::lock_guard lock(mutex_);
      if (const auto known = algorithms_.find(key); known != algorithms_.end())
        return known->second;
    }
    return keep(key, ask(handle, d, by));
  }

  std::optional<lt::Heuristic> keep(const Key& key, const std::optional<lt::Heuristic>& best) {
    std::lock_guard lock(mutex_);
    if (algorithms_.size() >= kMostAlgorithms) algorithms_.clear();
    return algorithms_[key] = best;
  }

 private:
  static std::optional<lt::Heuristic> ask(lt::Handle handle, const Descriptors& d,
                                          const Alignments& by) {
    const lt::Functions& f = d.f;
    Owned<lt::Preference> preference(f.preference_destroy);
    ok(f.preference_create(preference.out()), "creating a preference");
    const auto set = [&](int attribute, const auto& value) {
      ok(f.preference_set(preference, attribute, &value, sizeof value), "setting a preference");
    };
    set(lt::kMaxWorkspace, kWorkspace);
    set(lt::kMinAlignmentA, by.first);
    set(lt::kMinAlignmentB, by.second);
    set(lt::kMinAlignmentC, by.c);
    set(lt::kMinAlignmentD, by.out);
    lt::Heuristic best{};
    int found = 0;
    const RelaxedCapture relaxed;
    const int status =
        f.heuristic(handle, d.desc, d.first, d.second, d.c, d.out, preference, 1, &best, &found);
    if (meaning(status) == hal::Status::unsupported) return std::nullopt;
    ok(status, "choosing an algorithm");
    if (found == 0 || best.state != lt::kSuccess) return std::nullopt;
    return best;
  }

  static constexpr size_t kMostAlgorithms = 4096;
  std::mutex mutex_;
  std::map<int, lt::Handle> handles_;
  std::map<Key, std::optional<lt::Heuristic>> algorithms_;
};

// Memory for the duration of one enqueue; the allocator reuses it in the stream's order.
struct Workspace {
  Memory memory;
  Workspace(Device d, size_t bytes) {
    OpLabel label("matmul workspace");
    memory = allocate(d, bytes);
  }
  ~Workspace() { deallocate(memory.block); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
};

// alpha and beta in the type that the product is scaled in.
union Scalar {
  float f32;
  double f64;
  Scalar(double v, bool wide) { wide ? void(f64 = v) : void(f32 = float(v)); }
};

hal::Status run(Stream s, const hal::Matmul& p) {
  const std::optional<BlasPlan> plan = plan_of(p);
  const lt::Functions* const f = plan ? lt::functions_if_any() : nullptr;
  if (!f) return hal::Status::unsupported;
  const DeviceGuard guard(s.device.index);
  if (guard.error() != cudaSuccess) return status_of(guard.error());
  const Types types = types_of(p);
  const Descriptors d(*f, *plan, p, types);
  const Alignments by(*plan);
  Blas& blas = Blas::instance();
  const lt::Handle handle = blas.handle(*f, s.device.index);
  const Key key = key_of(*plan, p, types, by, s.device.index);
  const std::optional<lt::Heuristic> chosen = blas.algorithm(key, handle, d, by);
  if (!chosen)
    return left_to_us(cat_text("it has no algorithm for a product of [", p.m, ", ", p.k, "] by [",
                               p.k, ", ", p.n, "] of dtype ", name_of(p.dtype)));
  const Workspace workspace(s.device, chosen->workspace);
  const bool wide = types.scale == lt::kReal64;
  const Scalar alpha(p.alpha, wide), beta(plan->has_c ? p.beta : 0, wide);
  const int status =
      f->matmul(handle, d.desc, &alpha, plan->first_data, d.first, plan->second_data, d.second,
                &beta, plan->c_data, d.c, plan->out_data, d.out, &chosen->algo,
                workspace.memory.data, chosen->workspace, native_stream(s));
  if (meaning(status) == hal::Status::unsupported) blas.keep(key, std::nullopt);
  ok(status, "the product");
  return hal::Status::ok;
}

hal::Status attempt(Stream s, const hal::Matmul& problem) try {
  return run(s, problem);
} catch (const Failure& failure) {
  const cudaError_t cause = cudaGetLastError();  // a device that is lost says so by every call
  if (cause != cudaSuccess) return status_of(cause);
  const std::string text = cat_text("cuBLASLt: ", failure.what, " failed with ",
                                    lt::functions().status_name(failure.status));
  const hal::Status status = meaning(failure.status);
  return status == hal::Status::unsupported ? left_to_us(text) : failed(status, text);
}

}  // namespace

hal::Status blas_matmul(int, Stream s, const hal::Matmul& problem) {
  const hal::Status status = attempt(s, problem);
  if (status != hal::Status::out_of_memory || allocator_of(s.device).capturing()) return status;
  allocator_of(s.device).empty_cache();
  return attempt(s, problem);
}

}  // namespace flambeau::cuda
