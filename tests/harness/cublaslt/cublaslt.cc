// A stand-in for cuBLASLt with its ABI, as far as device/cuda/blas_lt.h binds it: products by plain
// loops, in the order of their stream. An algorithm holds the caller to what the heuristic was
// told: operands and bias aligned as promised (256 bytes where nothing was), and the workspace, all
// of them whole in memory of the current device. It
// can be told to be too old, to have no algorithm, or to fail at the product:
// FLAMBEAU_STANDIN_CUBLASLT=old, =none, =fails.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/half.h"
#include "device/cuda/blas_lt.h"
#include "driver.h"

using namespace flambeau;
using namespace flambeau::cuda::lt;

namespace flambeau::cuda::lt {

struct HandleTag {};
struct DescTag {
  int compute, scale;
  int32_t trans_a = 0, trans_b = 0;
  uint32_t epilogue = kPlain;
  const void* bias = nullptr;
};
struct LayoutTag {
  int type;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batches = 1;
  int64_t step = 0;  // from one matrix of the batch to the next
};
struct PreferenceTag {
  size_t workspace = 0;
  uint32_t aligned[4] = {256, 256, 256, 256};  // a, b, c, d
};

}  // namespace flambeau::cuda::lt

namespace {

constexpr int kInvalid = 7;                // CUBLAS_STATUS_INVALID_VALUE
constexpr int kExecutionFailed = 13;       // CUBLAS_STATUS_EXECUTION_FAILED
constexpr size_t kWorkspaceAligned = 256;  // bytes

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_CUBLASLT");
  return given && std::string_view(given) == what;
}

int breach(const char* what, const void* at, uint64_t wanted) {
  char text[160];
  std::snprintf(text, sizeof text, "cublasLtMatmul: %s at %p, of %llu bytes", what, at,
                static_cast<unsigned long long>(wanted));
  standin_breach(text);
  return kInvalid;
}

template <class T, class H> int make(H* out, T value) {
  *out = new T(value);
  return kSuccess;
}
template <class H> int destroy(H value) {
  delete value;
  return kSuccess;
}
template <class T> int set(T& member, const void* value, size_t bytes) {
  if (bytes != sizeof member) return kInvalid;
  std::memcpy(&member, value, bytes);
  return kSuccess;
}

uint64_t alignment(const void* p) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  return address ? address & -address : 256;
}

size_t bytes_of(int type) { return type == kReal64 ? 8 : type == kReal32 ? 4 : 2; }

// From the first to the last element that is read or written.
size_t bytes_of(const LayoutTag& l) {
  const int64_t last = (l.batches - 1) * l.step + int64_t(l.cols - 1) * l.ld + int64_t(l.rows);
  return size_t(last) * bytes_of(l.type);
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
        if (p.desc.epilogue & kRelu) v = std::max(v, 0.0);
        write(p.d_data, p.d.type, at(p.d, n, i, j), v);
      }
}

}  // namespace

#define SHOWN extern "C" [[gnu::visibility("default")]]

SHOWN size_t cublasLtGetVersion() { return told("old") ? 110000 : 130100; }
SHOWN int cublasLtCreate(Handle* out) { return make(out, HandleTag{}); }

SHOWN int cublasLtMatmulDescCreate(Desc* out, int compute, int scale) {
  return make(out, DescTag{compute, scale});
}
SHOWN int cublasLtMatmulDescSetAttribute(Desc d, int attribute, const void* value, size_t bytes) {
  switch (attribute) {
    case kTransA:
      return set(d->trans_a, value, bytes);
    case kTransB:
      return set(d->trans_b, value, bytes);
    case kEpilogue:
      return set(d->epilogue, value, bytes);
    case kBiasPointer:
      return set(d->bias, value, bytes);
    default:
      return kInvalid;
  }
}
SHOWN int cublasLtMatmulDescDestroy(Desc d) { return destroy(d); }

SHOWN int cublasLtMatrixLayoutCreate(Layout* out, int type, uint64_t rows, uint64_t cols,
                                     int64_t ld) {
  return ld < int64_t(rows) ? kInvalid : make(out, LayoutTag{type, rows, cols, ld});
}
SHOWN int cublasLtMatrixLayoutSetAttribute(Layout l, int attribute, const void* value,
                                           size_t bytes) {
  if (attribute == kBatchCount) return set(l->batches, value, bytes);
  return attribute == kBatchOffset ? set(l->step, value, bytes) : kInvalid;
}
SHOWN int cublasLtMatrixLayoutDestroy(Layout l) { return destroy(l); }

SHOWN int cublasLtMatmulPreferenceCreate(Preference* out) { return make(out, PreferenceTag{}); }
SHOWN int cublasLtMatmulPreferenceSetAttribute(Preference p, int attribute, const void* value,
                                               size_t bytes) {
  if (attribute == kMaxWorkspace) return set(p->workspace, value, bytes);
  if (attribute < kMinAlignmentA || attribute > kMinAlignmentD) return kInvalid;
  return set(p->aligned[attribute - kMinAlignmentA], value, bytes);
}
SHOWN int cublasLtMatmulPreferenceDestroy(Preference p) { return destroy(p); }

// The algorithm is what the caller promised: the alignments of a, b, c, d and of the bias.
SHOWN int cublasLtMatmulAlgoGetHeuristic(Handle, Desc desc, Layout, Layout, Layout, Layout,
                                         Preference preference, int asked, Heuristic* out,
                                         int* found) {
  *found = 0;
  if (told("none")) return kNotSupported;
  if (asked < 1) return kInvalid;
  *out = {};
  std::copy_n(preference->aligned, 4, out->algo.data);
  out->algo.data[4] = std::min<uint64_t>(alignment(desc->bias), 256);
  out->workspace = std::min<size_t>(preference->workspace, 4096);
  *found = 1;
  return kSuccess;
}

SHOWN int cublasLtMatmul(Handle, Desc desc, const void* alpha, const void* a, Layout a_layout,
                         const void* b, Layout b_layout, const void* beta, const void* c,
                         Layout c_layout, void* d, Layout d_layout, const Algo* algo,
                         void* workspace, size_t bytes, NativeStream stream) {
  if (told("fails")) return kExecutionFailed;
  if (desc->compute == kComputeTf32 && a_layout->type != kReal32)
    return breach("TF32 for other operands than f32", a, 4);
  const void* const operands[] = {a, b, c, d, desc->bias};
  constexpr const char* names[] = {"a", "b", "c", "d", "the bias"};
  for (int i = 0; i < 5; ++i)
    if (operands[i] && alignment(operands[i]) < algo->data[i])
      return breach(names[i], operands[i], algo->data[i]);
  const size_t sizes[] = {bytes_of(*a_layout), bytes_of(*b_layout), bytes_of(*c_layout),
                          bytes_of(*d_layout), d_layout->rows * bytes_of(d_layout->type)};
  for (int i = 0; i < 5; ++i)
    if (operands[i] && !standin_holds(operands[i], sizes[i]))
      return breach("no memory of the current device", operands[i], sizes[i]);
  if (bytes && !standin_holds(workspace, bytes))
    return breach("no memory of the current device for the workspace", workspace, bytes);
  if (bytes && alignment(workspace) < kWorkspaceAligned)
    return breach("the workspace", workspace, kWorkspaceAligned);
  const bool wide = desc->scale == kReal64;
  const auto scalar = [wide](const void* p) {
    return wide ? *static_cast<const double*>(p) : double(*static_cast<const float*>(p));
  };
  const Product call{*desc, *a_layout, *b_layout, *c_layout,     *d_layout,   a,
                     b,     c,         d,         scalar(alpha), scalar(beta)};
  const standin_access touched[] = {{a, sizes[0], 0},
                                    {b, sizes[1], 0},
                                    {c, call.beta != 0 ? sizes[2] : 0, 0},
                                    {d, sizes[3], 1},
                                    {desc->bias, desc->epilogue & kBias ? sizes[4] : 0, 0},
                                    {workspace, bytes, 1}};
  standin_enqueues(stream, "cublasLtMatmul", run, &call, sizeof call, touched, std::size(touched));
  return kSuccess;
}
