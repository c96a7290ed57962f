// A stand-in for cuBLAS with its ABI, as far as device/cuda/solver_library.h binds it: solutions
// by triangles and LU of lists of matrices, in the order of their stream. It holds callers to what
// that for cuSOLVER does (checks.h), and to a workspace of their own, named after the stream: that
// of the library would be memory which a captured graph does not know.
#include <algorithm>

#include "checks.h"
#include "device/cuda/solver_library.h"
#include "lapack.h"

using namespace flambeau::cuda::solver;

namespace {

using namespace cusolver;

Handles& handles() {
  static Handles& made = *new Handles("cuBLAS");
  return made;
}

__attribute__((destructor)) void at_the_end() { handles().expect_one_of_each_stream(); }

enum class Kind { trsm, getrf, getrs };

// A call, of which its stream gets a copy: of one matrix, or of a list where `batches` is not 0.
struct Work {
  Kind kind{};
  int type = kReal32, n = 0, k = 0;
  double alpha = 1;
  void* a = nullptr;
  int lda = 0;
  void* b = nullptr;
  int ldb = 0;
  int* pivots = nullptr;
  int* info = nullptr;
  int batches = 0;
  bool upper = false, transposed = false, unit = false;
};

template <class T> void compute(const Work& w) {
  const Columns<T> a{static_cast<T*>(w.a), w.n, w.n, w.lda};
  const Columns<T> b{static_cast<T*>(w.b), w.n, w.k, w.ldb};
  if (w.kind == Kind::trsm) {
    for (int64_t j = 0; j < w.k; ++j)
      for (int64_t i = 0; i < w.n; ++i) b(i, j) *= T(w.alpha);
    trsm(a, b, w.upper, w.transposed, w.unit);
  } else if (w.kind == Kind::getrf) {
    std::vector<int64_t> rows(size_t(w.n));
    *w.info = getrf(a, rows.data());
    std::copy(rows.begin(), rows.end(), w.pivots);
  } else {
    for (int i = 0; i < w.n; ++i) swap_rows(b, i, w.pivots[i] - 1);
    trsm(a, b, false, false, true);
    trsm(a, b, true, false, false);
  }
}

void run(void*, const void* call) {
  const Work& w = *static_cast<const Work*>(call);
  for (int i = 0; i < std::max(w.batches, 1); ++i) {
    Work one = w;
    if (w.batches) {
      one.a = static_cast<void**>(w.a)[i];
      one.b = w.b ? static_cast<void**>(w.b)[i] : nullptr;
      one.pivots = w.pivots ? w.pivots + i * w.n : nullptr;
      one.info = w.info ? w.info + i : nullptr;
    }
    w.type == kReal64 ? compute<double>(one) : compute<float>(one);
  }
}

size_t element(int type) { return type == kReal64 ? 8 : 4; }

void expect_operands(Checked& c, const Work& w) {
  const size_t list = size_t(w.batches) * sizeof(void*);
  if (!w.batches) {
    c.expect_matrix("a", w.a, w.n, w.n, w.lda, element(w.type));
    c.expect_matrix("b", w.b, w.n, w.k, w.ldb, element(w.type));
    return;
  }
  c.expect(w.n > 0 && w.lda >= w.n && w.batches > 0, "no matrices");
  c.expect_memory("the list of a", w.a, list, sizeof(void*));
  if (w.kind != Kind::getrf) {
    c.expect(w.k > 0 && w.ldb >= w.n, "no right sides");
    c.expect_memory("the list of b", w.b, list, sizeof(void*));
  }
  const size_t rows = size_t(w.batches) * size_t(w.n) * sizeof(int);
  if (w.kind != Kind::trsm) c.expect_memory("pivots", w.pivots, rows, sizeof(int));
  if (w.kind == Kind::getrf)
    c.expect_memory("info", w.info, size_t(w.batches) * sizeof(int), sizeof(int));
}

int finish(const char* function, BlasHandle handle, const Work& w) {
  Checked c(function, handles(), handle);
  expect_operands(c, w);
  c.expect_stream();
  if (c.broken()) return kBlasInvalidValue;
  void* const space = c.living().workspace;
  const size_t bytes = c.living().workspace_bytes;
  c.expect(space, "a workspace of the library's own");
  c.expect_memory("the workspace", space, bytes, 256);
  if (c.broken()) return kBlasInvalidValue;
  if (c.error()) return meaning(c.error(), kBlasAllocFailed, kBlasExecutionFailed);
  const size_t one = element(w.type), count = size_t(std::max(w.batches, 1));
  const size_t list = w.batches ? count * sizeof(void*) : 0;
  const standin_access touched[] = {
      {w.a, list ? list : bytes_of(w.n, w.n, w.lda, one), 0},
      {w.b,
       !w.b   ? 0
       : list ? list
              : bytes_of(w.n, w.k, w.ldb, one),
       !list},
      {w.pivots, w.pivots ? count * size_t(w.n) * sizeof(int) : 0, w.kind == Kind::getrf},
      {w.info, w.info ? count * sizeof(int) : 0, 1},
      {space, bytes, 1}};
  standin_enqueues(c.stream(), function, run, &w, sizeof w, touched, std::size(touched));
  return standin_failed() ? kBlasExecutionFailed : int(kSuccess);
}

int trsm_of(const char* function, BlasHandle handle, int side, int uplo, int trans, int diag,
            Work w) {
  const bool known = side == kLeft && (uplo == kLower || uplo == kUpper) &&
                     (trans == kPlain || trans == kTransposed) &&
                     (diag == kUnit || diag == kNonUnit);
  if (!known) {
    standin_breach(cat_text(function, ": another side, triangle, operation or diagonal").c_str());
    return kBlasInvalidValue;
  }
  w.upper = uplo == kUpper;
  w.transposed = trans == kTransposed;
  w.unit = diag == kUnit;
  return finish(function, handle, w);
}

double number(const void* alpha, int type) {
  return type == kReal64 ? *static_cast<const double*>(alpha)
                         : double(*static_cast<const float*>(alpha));
}

}  // namespace

#define SHOWN extern "C" [[gnu::visibility("default")]]

SHOWN int cublasCreate_v2(BlasHandle* out) {
  const standin_call call = standin_enters(__func__);
  if (call.unsafe) return standin_breach("cublasCreate_v2: in a capture"), kBlasInvalidValue;
  if (call.error) return meaning(call.error, kBlasAllocFailed, kBlasExecutionFailed);
  *out = static_cast<BlasHandle>(handles().make(call.device));
  return kSuccess;
}
SHOWN int cublasDestroy_v2(BlasHandle handle) {
  return handles().remove(handle) ? int(kSuccess) : kBlasInvalidValue;
}
SHOWN int cublasSetStream_v2(BlasHandle handle, NativeStream stream) {
  Checked c(__func__, handles(), handle);
  if (c.broken()) return kBlasInvalidValue;
  c.living().stream = stream;
  c.living().workspace = nullptr;  // as NVIDIA's, which then has its own again
  return kSuccess;
}
SHOWN int cublasSetWorkspace_v2(BlasHandle handle, void* workspace, size_t bytes) {
  Checked c(__func__, handles(), handle);
  c.expect_memory("the workspace", workspace, bytes, 256);
  if (c.broken()) return kBlasInvalidValue;
  c.living().workspace = workspace;
  c.living().workspace_bytes = bytes;
  return kSuccess;
}

// Of f32 as S, of f64 as D.
#define OF_TYPE(LETTER, TYPE)                                                                      \
  SHOWN int cublas##LETTER##trsm_v2(BlasHandle handle, int side, int uplo, int trans, int diag,    \
                                    int m, int n, const void* alpha, const void* a, int lda,       \
                                    void* b, int ldb) {                                            \
    return trsm_of(__func__, handle, side, uplo, trans, diag,                                      \
                   {.kind = Kind::trsm,                                                            \
                    .type = TYPE,                                                                  \
                    .n = m,                                                                        \
                    .k = n,                                                                        \
                    .alpha = number(alpha, TYPE),                                                  \
                    .a = const_cast<void*>(a),                                                     \
                    .lda = lda,                                                                    \
                    .b = b,                                                                        \
                    .ldb = ldb});                                                                  \
  }                                                                                                \
  SHOWN int cublas##LETTER##trsmBatched(                                                           \
      BlasHandle handle, int side, int uplo, int trans, int diag, int m, int n, const void* alpha, \
      const void* const* a, int lda, void* const* b, int ldb, int batches) {                       \
    return trsm_of(__func__, handle, side, uplo, trans, diag,                                      \
                   {.kind = Kind::trsm,                                                            \
                    .type = TYPE,                                                                  \
                    .n = m,                                                                        \
                    .k = n,                                                                        \
                    .alpha = number(alpha, TYPE),                                                  \
                    .a = const_cast<const void**>(a),                                              \
                    .lda = lda,                                                                    \
                    .b = const_cast<void**>(b),                                                    \
                    .ldb = ldb,                                                                    \
                    .batches = batches});                                                          \
  }                                                                                                \
  SHOWN int cublas##LETTER##getrfBatched(BlasHandle handle, int n, void* const* a, int lda,        \
                                         int* pivots, int* info, int batches) {                    \
    return finish(__func__, handle,                                                                \
                  {.kind = Kind::getrf,                                                            \
                   .type = TYPE,                                                                   \
                   .n = n,                                                                         \
                   .a = const_cast<void**>(a),                                                     \
                   .lda = lda,                                                                     \
                   .pivots = pivots,                                                               \
                   .info = info,                                                                   \
                   .batches = batches});                                                           \
  }                                                                                                \
  SHOWN int cublas##LETTER##getrsBatched(BlasHandle handle, int trans, int n, int k,               \
                                         const void* const* a, int lda, const int* pivots,         \
                                         void* const* b, int ldb, int* info, int batches) {        \
    *info = trans == kPlain ? 0 : -2;                                                              \
    return finish(__func__, handle,                                                                \
                  {.kind = Kind::getrs,                                                            \
                   .type = TYPE,                                                                   \
                   .n = n,                                                                         \
                   .k = k,                                                                         \
                   .a = const_cast<const void**>(a),                                               \
                   .lda = lda,                                                                     \
                   .b = const_cast<void**>(b),                                                     \
                   .ldb = ldb,                                                                     \
                   .pivots = const_cast<int*>(pivots),                                             \
                   .batches = batches});                                                           \
  }

OF_TYPE(S, kReal32)
OF_TYPE(D, kReal64)
