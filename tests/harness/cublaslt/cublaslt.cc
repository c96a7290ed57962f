// A stand-in for cuBLASLt with its ABI, as far as device/cuda/blas_lt.h binds it: products by plain
// loops, in the order of their stream. It holds callers to live objects (objects.h), to the device
// that a handle was made on, to layouts that fit together (problem.h), to no call that may allocate
// while a capture forbids it, sums beside a product to memory of their own, and an algorithm to
// what the heuristic was told: the problem, the workspace, operands and bias aligned as promised
// (256 bytes where nothing was), all of them whole in memory of the current device.
// FLAMBEAU_STANDIN_CUBLASLT tells it to be too old (old), to have no algorithm (none), to make no
// handle before half of the device's memory is free (memory) or none at all (uninitialised), to
// know no kernel for the GPU (arch) or to fail at the product (fails); FLAMBEAU_STANDIN_EMPTY to do
// nothing. FLAMBEAU_STANDIN_CUBLASLT_COSTS="4,2,1" gives it three algorithms, which take as many
// launches each.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "device/cuda/blas_lt.h"
#include "driver.h"
#include "problem.h"

using namespace flambeau;
using namespace flambeau::cuda::lt;

namespace {

using namespace cublaslt;

constexpr int kExecutionFailed = 13;       // CUBLAS_STATUS_EXECUTION_FAILED
constexpr size_t kWorkspaceAligned = 256;  // bytes

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_CUBLASLT");
  return given && std::string_view(given) == what;
}

// What a test asked CUDA to answer, as cuBLASLt tells it.
int meaning(const standin_call& call) {
  constexpr int kMemoryAllocation = 2;  // of cudaError_t
  return call.error == 0                   ? int(kSuccess)
         : call.error == kMemoryAllocation ? kAllocFailed
                                           : kExecutionFailed;
}

template <class T> int set(const char* function, T& member, const void* value, size_t bytes) {
  if (bytes != sizeof member)
    return breach(function, cat_text("an attribute of ", bytes, " bytes"));
  std::memcpy(&member, value, bytes);
  return kSuccess;
}

uint64_t alignment(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return address ? address & -address : 256;
}

// Launches of each algorithm.
const std::vector<uint64_t>& costs() {
  static const std::vector<uint64_t> given = [] {
    const char* text = std::getenv("FLAMBEAU_STANDIN_CUBLASLT_COSTS");
    std::vector<uint64_t> all;
    for (char* end; text && *text; text = *end ? end + 1 : end)
      all.push_back(std::max<uint64_t>(std::strtoull(text, &end, 10), 1));
    return all.empty() ? std::vector<uint64_t>{1} : all;
  }();
  return given;
}

struct Product {
  DescTag desc;
  LayoutTag a, b, c, d;
  const void *a_data, *b_data, *c_data;
  void* d_data;
  double alpha, beta;
};

// Rounded to the 10 bits of mantissa that the units for TF32 multiply, ties away from 0.
float tf32(float v) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(v) + 0x1000) & ~0x1fffu);
}

double read(const void* p, int type, int64_t i) {
  switch (type) {
    case kReal64:
      return static_cast<const double*>(p)[i];
    case kReal16:
      return float(static_cast<const Half*>(p)[i]);
    case kRealBf16:
      return float(static_cast<const BFloat16*>(p)[i]);
    default:
      return static_cast<const float*>(p)[i];
  }
}

void write(void* p, int type, int64_t i, double v) {
  switch (type) {
    case kReal64:
      static_cast<double*>(p)[i] = v;
      break;
    case kReal16:
      static_cast<Half*>(p)[i] = Half(float(v));
      break;
    case kRealBf16:
      static_cast<BFloat16*>(p)[i] = BFloat16(float(v));
      break;
    default:
      static_cast<float*>(p)[i] = float(v);
  }
}

// Column-major element [row, col] of a matrix of the batch.
int64_t at(const LayoutTag& l, int64_t batch, int64_t row, int64_t col) {
  return batch * l.step + col * l.ld + row;
}

// The sums of a's rows, or of b's columns, where the bias would be.
void add_up(const Product& p, int64_t k) {
  const bool rows = p.desc.epilogue & kRowSums;
  const LayoutTag& l = rows ? p.a : p.b;
  const bool down = rows ? p.desc.trans_a : !p.desc.trans_b;  // k, the columns as they are stored
  void* const out = const_cast<void*>(p.desc.bias);
  for (int64_t i = 0; i < int64_t(rows ? p.d.rows : p.d.cols); ++i) {
    double sum = 0;
    for (int64_t q = 0; q < k; ++q)
      sum += read(rows ? p.a_data : p.b_data, l.type, down ? at(l, 0, q, i) : at(l, 0, i, q));
    write(out, p.d.type, i, sum);
  }
}

// Of cuBLASLt's GELU, x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
double gelu_slope(double x) {
  const double a = std::sqrt(2 / M_PI), b = 0.044715, t = std::tanh(a * (x + b * x * x * x));
  return 0.5 * (1 + t + x * (1 - t * t) * a * (1 + 3 * b * x * x));
}

void run(void*, const void* call) {
  const Product& p = *static_cast<const Product*>(call);
  const int64_t k = int64_t(p.desc.trans_a ? p.a.rows : p.a.cols);
  const auto factor = [&](const void* data, const LayoutTag& l, int64_t place) {
    const double v = read(data, l.type, place);
    return p.desc.compute == kComputeTf32 ? tf32(float(v)) : v;
  };
  for (int64_t n = 0; n < p.d.batches; ++n)
    for (int64_t j = 0; j < int64_t(p.d.cols); ++j)
      for (int64_t i = 0; i < int64_t(p.d.rows); ++i) {
        double sum = 0;
        for (int64_t q = 0; q < k; ++q)
          sum += factor(p.a_data, p.a, p.desc.trans_a ? at(p.a, n, q, i) : at(p.a, n, i, q)) *
                 factor(p.b_data, p.b, p.desc.trans_b ? at(p.b, n, j, q) : at(p.b, n, q, j));
        double v = p.alpha * sum;
        if (p.beta != 0) v += p.beta * read(p.c_data, p.c.type, at(p.c, n, i, j));
        if (p.desc.epilogue & kBias) v += read(p.desc.bias, p.d.type, i);
        if (p.desc.epilogue == kGeluSlope)
          v *= gelu_slope(read(p.desc.aux, p.d.type, j * p.desc.aux_ld + i));
        else if (p.desc.epilogue & kRelu)
          v = std::max(v, 0.0);
        write(p.d_data, p.d.type, at(p.d, n, i, j), v);
      }
  if (p.desc.epilogue & (kRowSums | kColumnSums)) add_up(p, k);
}

// Whether every object lives, and they fit together.
bool collect(const char* function, Handle handle, Desc desc, const Layout (&layouts)[4],
             const standin_call& call, Problem& out) {
  const HandleTag* const h = live(function, handle);
  const DescTag* const d = h ? live(function, desc) : nullptr;
  if (!d) return false;
  out.device = h->device;
  out.desc = *d;
  LayoutTag* const places[] = {&out.a, &out.b, &out.c, &out.d};
  for (int i = 0; i < 4; ++i) {
    const LayoutTag* const l = live(function, layouts[i]);
    if (!l) return false;
    *places[i] = *l;
  }
  std::string wrong = misfit(out);
  if (h->device != call.device)
    wrong = cat_text("a handle of device ", h->device, " on device ", call.device);
  if (!wrong.empty()) breach(function, wrong);
  return wrong.empty();
}

// What an algorithm was chosen for: the alignments of a, b, c, d, of the bias and of the aux, the
// problem, the workspace; and its cost.
struct Chosen {
  uint32_t aligned[6], unused[4];
  uint64_t problem, workspace, launches;
};
static_assert(sizeof(Chosen) == sizeof(Algo));

bool overlap(const void* p, size_t bytes, const void* other, size_t others) {
  const auto at = reinterpret_cast<uintptr_t>(p), from = reinterpret_cast<uintptr_t>(other);
  return at < from + others && from < at + bytes;
}

std::string misuse(const Problem& p, const Chosen& by, const void* const (&operands)[6],
                   const void* workspace, size_t bytes) {
  if (fingerprint(p) != by.problem) return "an algorithm for another problem";
  const auto& [a, b, c, d, bias, aux] = operands;
  if (d == a || d == b) return "d over an operand";
  if (d == c && p.c != p.d) return "d in place of c, laid out otherwise";
  constexpr const char* names[] = {"a", "b", "c", "d", "the bias", "the aux"};
  const size_t sizes[] = {bytes_of(p.a), bytes_of(p.b),      bytes_of(p.c),
                          bytes_of(p.d), bytes_of_vector(p), bytes_of_aux(p)};
  for (int i = 0; i < 6; ++i) {
    if (i > 3 && !operands[i]) continue;
    if (alignment(operands[i]) < by.aligned[i])
      return cat_text(names[i], " at ", operands[i], " is not aligned to ", by.aligned[i]);
    if (!standin_holds(operands[i], sizes[i]))
      return cat_text(names[i], " at ", operands[i], " is no memory of the current device");
  }
  for (int i = 0; sums(p) && i < 4; ++i)
    if (overlap(bias, sizes[4], operands[i], sizes[i])) return cat_text("sums over ", names[i]);
  if (aux && overlap(aux, sizes[5], d, sizes[3])) return "d over the aux";
  if (alignment(aux) < 16) return "an aux that is not aligned to 16 bytes";
  if (bytes < by.workspace) return cat_text("a workspace of ", bytes, " bytes");
  if (bytes && alignment(workspace) < kWorkspaceAligned) return "a workspace that is not aligned";
  if (bytes && !standin_holds(workspace, bytes)) return "a workspace that is not the device's";
  return {};
}

}  // namespace

#define SHOWN extern "C" [[gnu::visibility("default")]]

SHOWN size_t cublasLtGetVersion() { return told("old") ? 110000 : 130100; }
SHOWN const char* cublasLtGetStatusName(int status) {
  switch (status) {
    case kNotInitialized:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case kArchMismatch:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kExecutionFailed:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kNotSupported:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INVALID_VALUE";
  }
}

SHOWN int cublasLtCreate(Handle* out) {
  const standin_call call = standin_enters(__func__);
  if (call.unsafe) return breach(__func__, "while a capture forbids to allocate");
  if (told("uninitialised")) return kNotInitialized;
  size_t free_bytes = 0, total = 0;
  standin_memory(call.device, &free_bytes, &total);
  if (told("memory") && free_bytes < total / 2) return kAllocFailed;
  return call.error ? meaning(call) : make(out, HandleTag{call.device});
}
SHOWN int cublasLtDestroy(Handle handle) { return destroy(__func__, handle); }

SHOWN int cublasLtMatmulDescCreate(Desc* out, int compute, int scale) {
  return make(out, DescTag{compute, scale});
}
SHOWN int cublasLtMatmulDescSetAttribute(Desc desc, int attribute, const void* value,
                                         size_t bytes) {
  DescTag* const d = live(__func__, desc);
  if (!d) return kInvalid;
  switch (attribute) {
    case kTransA:
      return set(__func__, d->trans_a, value, bytes);
    case kTransB:
      return set(__func__, d->trans_b, value, bytes);
    case kEpilogue:
      return set(__func__, d->epilogue, value, bytes);
    case kBiasPointer:
      return set(__func__, d->bias, value, bytes);
    case kAuxPointer:
      return set(__func__, d->aux, value, bytes);
    case kAuxLd:
      return set(__func__, d->aux_ld, value, bytes);
    default:
      return breach(__func__, cat_text("no attribute ", attribute));
  }
}
SHOWN int cublasLtMatmulDescDestroy(Desc desc) { return destroy(__func__, desc); }

SHOWN int cublasLtMatrixLayoutCreate(Layout* out, int type, uint64_t rows, uint64_t cols,
                                     int64_t ld) {
  if (!rows || !cols || ld < int64_t(rows))
    return breach(__func__, cat_text('[', rows, ", ", cols, "] in columns of ", ld));
  return make(out, LayoutTag{type, rows, cols, ld});
}
SHOWN int cublasLtMatrixLayoutSetAttribute(Layout layout, int attribute, const void* value,
                                           size_t bytes) {
  LayoutTag* const l = live(__func__, layout);
  if (!l) return kInvalid;
  if (attribute == kBatchCount) return set(__func__, l->batches, value, bytes);
  if (attribute == kBatchOffset) return set(__func__, l->step, value, bytes);
  return breach(__func__, cat_text("no attribute ", attribute));
}
SHOWN int cublasLtMatrixLayoutDestroy(Layout layout) { return destroy(__func__, layout); }

SHOWN int cublasLtMatmulPreferenceCreate(Preference* out) { return make(out, PreferenceTag{}); }
SHOWN int cublasLtMatmulPreferenceSetAttribute(Preference preference, int attribute,
                                               const void* value, size_t bytes) {
  PreferenceTag* const p = live(__func__, preference);
  if (!p) return kInvalid;
  if (attribute == kMaxWorkspace) return set(__func__, p->workspace, value, bytes);
  if (attribute < kMinAlignmentA || attribute > kMinAlignmentD)
    return breach(__func__, cat_text("no attribute ", attribute));
  return set(__func__, p->aligned[attribute - kMinAlignmentA], value, bytes);
}
SHOWN int cublasLtMatmulPreferenceDestroy(Preference p) { return destroy(__func__, p); }

SHOWN int cublasLtMatmulAlgoGetHeuristic(Handle handle, Desc desc, Layout a, Layout b, Layout c,
                                         Layout d, Preference preference, int asked, Heuristic* out,
                                         int* found) {
  const standin_call call = standin_enters(__func__);
  *found = 0;
  if (call.unsafe) return breach(__func__, "while a capture forbids to allocate");
  Problem p;
  if (!collect(__func__, handle, desc, {a, b, c, d}, call, p)) return kInvalid;
  const PreferenceTag* const wanted = live(__func__, preference);
  if (!wanted || asked < 1) return kInvalid;
  const bool beside = sums(p) || p.desc.epilogue == kGeluSlope;
  if (told("none") || (beside && p.d.type == kReal64)) return kNotSupported;
  if (sums(p) && p.d.batches > 1) return kNotSupported;
  if (call.error) return meaning(call);
  Chosen chosen{};
  std::copy_n(wanted->aligned, 4, chosen.aligned);
  chosen.aligned[4] = uint32_t(std::min<uint64_t>(alignment(p.desc.bias), 256));
  chosen.aligned[5] = uint32_t(std::min<uint64_t>(alignment(p.desc.aux), 256));
  chosen.problem = fingerprint(p);
  chosen.workspace = std::min<size_t>(wanted->workspace, 4096);
  for (const uint64_t launches : costs()) {
    if (*found == asked) break;
    chosen.launches = launches;
    out[(*found)++] = {std::bit_cast<Algo>(chosen), chosen.workspace, kSuccess, 1, {}};
  }
  return kSuccess;
}

SHOWN int cublasLtMatmul(Handle handle, Desc desc, const void* alpha, const void* a,
                         Layout a_layout, const void* b, Layout b_layout, const void* beta,
                         const void* c, Layout c_layout, void* d, Layout d_layout, const Algo* algo,
                         void* workspace, size_t bytes, NativeStream stream) {
  static const bool empty = std::getenv("FLAMBEAU_STANDIN_EMPTY");
  if (empty) return kSuccess;
  const standin_call entered = standin_enters(__func__);
  Problem p;
  if (!collect(__func__, handle, desc, {a_layout, b_layout, c_layout, d_layout}, entered, p))
    return kInvalid;
  const std::string wrong = misuse(p, std::bit_cast<Chosen>(*algo),
                                   {a, b, c, d, p.desc.bias, p.desc.aux}, workspace, bytes);
  if (!wrong.empty()) return breach(__func__, wrong);
  if (told("fails")) return kExecutionFailed;
  if (told("arch")) return kArchMismatch;
  if (entered.error) return meaning(entered);
  const bool wide = p.desc.scale == kReal64;
  const auto scalar = [wide](const void* p) {
    return wide ? *static_cast<const double*>(p) : double(*static_cast<const float*>(p));
  };
  const Product call{p.desc, p.a, p.b, p.c, p.d, a, b, c, d, scalar(alpha), scalar(beta)};
  const void* const bias = p.desc.bias;
  const standin_access touched[] = {{a, bytes_of(p.a), 0},
                                    {b, bytes_of(p.b), 0},
                                    {c, call.beta != 0 ? bytes_of(p.c) : 0, 0},
                                    {d, bytes_of(p.d), 1},
                                    {bias, bytes_of_vector(p), sums(p)},
                                    {p.desc.aux, bytes_of_aux(p), 0},
                                    {workspace, bytes, 1}};
  for (uint64_t i = 1; i < std::bit_cast<Chosen>(*algo).launches; ++i)
    standin_enqueues(stream, "cublasLtMatmul", [](void*, const void*) {}, nullptr, 0, nullptr, 0);
  standin_enqueues(stream, "cublasLtMatmul", run, &call, sizeof call, touched, std::size(touched));
  return standin_failed() ? kExecutionFailed : int(kSuccess);
}
