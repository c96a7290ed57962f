// A stand-in for cuSOLVER with its ABI, as far as device/cuda/solver_library.h binds it: LAPACK's
// factorizations by plain loops, in the order of their stream. It holds callers to live
// handles of the current device that were told their stream (checks.h), to parameters that were
// made, to matrices whole in memory of that device, to a workspace on the device and on the host as
// large as was asked for the same problem, to no call in a capture, to matrices that are no wider
// than tall where singular values are asked for, and to numbers that are finite where an iteration
// might not end otherwise.
// FLAMBEAU_STANDIN_CUSOLVER tells it to make no handle before half of the device's memory is free
// (memory), to fail at each factorization (fails) or to end no iteration (endless).
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "checks.h"
#include "device/cuda/solver_library.h"
#include "jacobi.h"
#include "lapack.h"

using namespace flambeau::cuda::solver;

namespace {

using namespace cusolver;

constexpr size_t kAligned = 256;  // bytes, of a workspace

Handles& handles() {
  static Handles& made = *new Handles("cuSOLVER");
  return made;
}
int params_made;  // none is ever destroyed

__attribute__((destructor)) void at_the_end() { handles().expect_one_of_each_stream(); }

bool told(const char* what) {
  const char* given = std::getenv("FLAMBEAU_STANDIN_CUSOLVER");
  return given && std::string_view(given) == what;
}

enum class Kind { potrf, getrf, getrs, geqrf, syevd, gesvd, orgqr, laswp };

// A call, of which its stream gets a copy.
struct Work {
  Kind kind{};
  int type = kReal32;
  int64_t m = 0, n = 0, k = 0;  // k: columns of b, reflections, or the last row to swap
  void* a = nullptr;
  int64_t lda = 0;
  void* b = nullptr;
  int64_t ldb = 0;
  void *u = nullptr, *vt = nullptr;
  int64_t ldu = 0, ldvt = 0;
  void* pivots = nullptr;
  int* info = nullptr;
  void* space = nullptr;
  size_t bytes = 0;
  int job = 0;      // vectors, or the letter of gesvd
  int batches = 0;  // not 0: a is a list of as many
};

size_t element(int type) { return type == kReal64 ? 8 : 4; }

// Of a matrix of T, dense and in f64.
template <class T> std::vector<double> dense(const Columns<T>& a) {
  std::vector<double> all;
  for (int64_t j = 0; j < a.cols; ++j)
    for (int64_t i = 0; i < a.rows; ++i) all.push_back(double(a(i, j)));
  return all;
}
template <class T> void give(const Columns<T>& to, const std::vector<double>& from) {
  for (int64_t j = 0; j < to.cols; ++j)
    for (int64_t i = 0; i < to.rows; ++i) to(i, j) = T(from[size_t(j * to.rows + i)]);
}

void expect_finite(const char* function, const std::vector<double>& a) {
  for (const double v : a)
    if (!std::isfinite(v))
      return standin_breach(cat_text(function, ": a matrix that is not finite").c_str());
}

template <class T> int eigenvalues(const Work& w, Columns<T> a) {
  for (int64_t j = 0; j < w.n; ++j)
    for (int64_t i = 0; i < j; ++i) a(i, j) = a(j, i);  // the lower triangle alone is read
  std::vector<double> in = dense(a), values, vectors;
  expect_finite("cusolverDnXsyevd", in);
  syevd(in, w.n, values, vectors);
  give(Columns<T>{static_cast<T*>(w.b), w.n, 1, w.n}, values);
  if (w.job == kVectors) give(a, vectors);
  return told("endless");
}

template <class T> int singular_values(const Work& w, Columns<T> a) {
  std::vector<double> in = dense(a), values, u, vt;
  expect_finite("cusolverDnXgesvd", in);
  gesvd(in, w.m, w.n, values, u, vt);
  give(Columns<T>{static_cast<T*>(w.b), w.n, 1, w.n}, values);
  if (w.job != 'N') {
    give(Columns<T>{static_cast<T*>(w.u), w.m, w.job == 'A' ? w.m : w.n, w.ldu}, u);
    give(Columns<T>{static_cast<T*>(w.vt), w.n, w.n, w.ldvt}, vt);
  }
  std::memset(w.a, 0xff, bytes_of(w.m, w.n, w.lda, sizeof(T)));  // lost
  return told("endless") ? 3 : 0;
}

template <class T> int compute(const Work& w) {
  const Columns<T> a{static_cast<T*>(w.a), w.m, w.n, w.lda};
  switch (w.kind) {
    case Kind::potrf:
      return potrf(a);
    case Kind::getrf:
      return getrf(a, static_cast<int64_t*>(w.pivots));
    case Kind::getrs: {
      const Columns<T> b{static_cast<T*>(w.b), w.n, w.k, w.ldb};
      for (int64_t i = 0; i < w.n; ++i)
        swap_rows(b, i, static_cast<const int64_t*>(w.pivots)[i] - 1);
      trsm(a, b, false, false, true);
      trsm(a, b, true, false, false);
      return 0;
    }
    case Kind::geqrf:
      geqrf(a, static_cast<T*>(w.b));
      return 0;
    case Kind::orgqr:
      orgqr(a, w.k, static_cast<const T*>(w.b));
      return 0;
    case Kind::laswp:
      for (int64_t i = 0; i < w.k; ++i) {
        const int row = static_cast<const int*>(w.pivots)[i];
        if (row < 1 || row > w.m)
          return standin_breach(cat_text("cusolverDnXlaswp: no row ", row).c_str()), 0;
        swap_rows(a, i, row - 1);
      }
      return 0;
    case Kind::syevd:
      return eigenvalues(w, a);
    case Kind::gesvd:
      return singular_values(w, a);
  }
  return 0;
}

void run(void*, const void* call) {
  const Work& w = *static_cast<const Work*>(call);
  if (w.bytes) std::memset(w.space, 0xff, w.bytes);  // whatever shares it is lost
  if (w.batches) {
    Work one = w;
    one.batches = 0;
    for (int i = 0; i < w.batches; ++i) {
      one.a = static_cast<void**>(w.a)[i];
      one.info = w.info + i;
      run(nullptr, &one);
    }
    return;
  }
  const int info = w.type == kReal64 ? compute<double>(w) : compute<float>(w);
  if (w.info) *w.info = info;
}

int finish(Checked& c, const char* name, const Work& w) {
  c.expect_stream();
  c.expect_no_capture();
  if (c.broken()) return kInvalidValue;
  if (told("fails")) return kInternalError;
  if (c.error()) return meaning(c.error(), kAllocFailed, kExecutionFailed);
  const size_t one = element(w.type), columns = w.job == 'A' ? size_t(w.m) : size_t(w.n);
  const bool solves = w.kind == Kind::getrs, swaps = w.kind == Kind::laswp;
  const size_t of_pivots = swaps ? size_t(w.k) * 4 : w.pivots ? size_t(std::min(w.m, w.n)) * 8 : 0;
  const size_t of_b = !w.b     ? 0
                      : solves ? bytes_of(w.n, w.k, w.ldb, one)
                               : size_t(w.kind == Kind::orgqr ? w.k : std::min(w.m, w.n)) * one;
  const standin_access touched[] = {
      {w.a, w.batches ? size_t(w.batches) * sizeof(void*) : bytes_of(w.m, w.n, w.lda, one),
       !solves && !w.batches},
      {w.b, of_b, w.kind != Kind::orgqr},
      {w.u, w.u ? bytes_of(w.m, int64_t(columns), w.ldu, one) : 0, 1},
      {w.vt, w.vt ? bytes_of(w.n, w.n, w.ldvt, one) : 0, 1},
      {w.pivots, of_pivots, w.kind == Kind::getrf},
      {w.info, w.info ? size_t(std::max(w.batches, 1)) * sizeof(int) : 0, 1},
      {w.space, w.bytes, 1}};
  standin_enqueues(c.stream(), name, run, &w, sizeof w, touched, std::size(touched));
  return standin_failed() ? kExecutionFailed : int(kSuccess);
}

void expect_params(Checked& c, Params params) {
  const auto number = reinterpret_cast<uintptr_t>(params);
  c.expect(number > 0 && number <= uintptr_t(params_made), "parameters that nobody made");
}
void expect_types(Checked& c, std::initializer_list<int> types) {
  const int first = *types.begin();
  for (const int type : types)
    c.expect(type == first && (type == kReal32 || type == kReal64), "several or other types");
}

// Answers a question for a workspace, and keeps what it was about.
int answer(Checked& c, const std::string& about, size_t* device, size_t* host) {
  c.expect_stream();
  if (c.broken()) return kInvalidValue;
  if (c.error()) return meaning(c.error(), kAllocFailed, kExecutionFailed);
  const size_t seed = std::hash<std::string>()(about) % 64;
  *device = 512 + 8 * seed;
  if (host) *host = seed;
  std::vector<Asked>& all = c.living().asked;
  std::erase_if(all, [&](const Asked& a) { return a.about == about; });
  all.push_back({about, *device, host ? *host : 0});
  if (all.size() > 64) all.erase(all.begin());
  return kSuccess;
}

void expect_space(Checked& c, const std::string& about, void* device, size_t device_bytes,
                  void* host, size_t host_bytes) {
  if (c.broken()) return;
  const Asked* found = nullptr;
  for (const Asked& a : c.living().asked)
    if (a.about == about) found = &a;
  c.expect(found, "a workspace that nobody asked for: " + about);
  if (!found) return;
  c.expect(device_bytes >= found->device, cat_text("a workspace of ", device_bytes, " bytes"));
  c.expect(host_bytes >= found->host, cat_text("a host's workspace of ", host_bytes, " bytes"));
  c.expect_memory("the workspace", device, device_bytes, kAligned);
  c.expect(!host_bytes || (host && !standin_holds(host, host_bytes)),
           "a host's workspace that is not the host's");
  if (!c.broken() && host_bytes) std::memset(host, 0xff, host_bytes);
}

}  // namespace

#define SHOWN extern "C" [[gnu::visibility("default")]]

SHOWN int cusolverDnCreate(Handle* out) {
  const standin_call call = standin_enters(__func__);
  if (call.unsafe) return standin_breach("cusolverDnCreate: in a capture"), kInvalidValue;
  size_t free_bytes = 0, total = 0;
  standin_memory(call.device, &free_bytes, &total);
  if (told("memory") && free_bytes < total / 2) return kAllocFailed;
  if (call.error) return meaning(call.error, kAllocFailed, kExecutionFailed);
  *out = static_cast<Handle>(handles().make(call.device));
  return kSuccess;
}
SHOWN int cusolverDnDestroy(Handle handle) {
  return handles().remove(handle) ? int(kSuccess) : kInvalidValue;
}
SHOWN int cusolverDnSetStream(Handle handle, NativeStream stream) {
  Checked c(__func__, handles(), handle);
  if (c.broken()) return kInvalidValue;
  c.living().stream = stream;
  return kSuccess;
}
SHOWN int cusolverDnCreateParams(Params* out) {
  *out = reinterpret_cast<Params>(uintptr_t(++params_made));
  return kSuccess;
}

SHOWN int cusolverDnXpotrf_bufferSize(Handle handle, Params params, int uplo, int64_t n, int type,
                                      const void*, int64_t lda, int compute, size_t* device,
                                      size_t* host) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, compute});
  return answer(c, cat_text("potrf ", uplo, ' ', n, ' ', lda, ' ', type), device, host);
}
SHOWN int cusolverDnXpotrf(Handle handle, Params params, int uplo, int64_t n, int type, void* a,
                           int64_t lda, int compute, void* device, size_t device_bytes, void* host,
                           size_t host_bytes, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, compute});
  c.expect(uplo == kLower, "another triangle than the lower one");
  c.expect_matrix("a", a, n, n, lda, element(type));
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  expect_space(c, cat_text("potrf ", uplo, ' ', n, ' ', lda, ' ', type), device, device_bytes, host,
               host_bytes);
  return finish(c, "cusolverDnXpotrf",
                {.kind = Kind::potrf,
                 .type = type,
                 .m = n,
                 .n = n,
                 .a = a,
                 .lda = lda,
                 .info = info,
                 .space = device,
                 .bytes = device_bytes});
}

SHOWN int cusolverDnXgetrf_bufferSize(Handle handle, Params params, int64_t m, int64_t n, int type,
                                      const void*, int64_t lda, int compute, size_t* device,
                                      size_t* host) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, compute});
  return answer(c, cat_text("getrf ", m, ' ', n, ' ', lda, ' ', type), device, host);
}
SHOWN int cusolverDnXgetrf(Handle handle, Params params, int64_t m, int64_t n, int type, void* a,
                           int64_t lda, int64_t* pivots, int compute, void* device,
                           size_t device_bytes, void* host, size_t host_bytes, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, compute});
  c.expect_matrix("a", a, m, n, lda, element(type));
  c.expect_memory("pivots", pivots, size_t(std::min(m, n)) * 8, 8);
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  expect_space(c, cat_text("getrf ", m, ' ', n, ' ', lda, ' ', type), device, device_bytes, host,
               host_bytes);
  return finish(c, "cusolverDnXgetrf",
                {.kind = Kind::getrf,
                 .type = type,
                 .m = m,
                 .n = n,
                 .a = a,
                 .lda = lda,
                 .pivots = pivots,
                 .info = info,
                 .space = device,
                 .bytes = device_bytes});
}
SHOWN int cusolverDnXgetrs(Handle handle, Params params, int trans, int64_t n, int64_t k, int type,
                           const void* a, int64_t lda, const int64_t* pivots, int type_b, void* b,
                           int64_t ldb, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_b});
  c.expect(trans == kPlain, "a transposed matrix");
  c.expect_matrix("a", a, n, n, lda, element(type));
  c.expect_matrix("b", b, n, k, ldb, element(type));
  c.expect_memory("pivots", pivots, size_t(n) * 8, 8);
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  return finish(c, "cusolverDnXgetrs",
                {.kind = Kind::getrs,
                 .type = type,
                 .m = n,
                 .n = n,
                 .k = k,
                 .a = const_cast<void*>(a),
                 .lda = lda,
                 .b = b,
                 .ldb = ldb,
                 .pivots = const_cast<int64_t*>(pivots),
                 .info = info});
}

SHOWN int cusolverDnXgeqrf_bufferSize(Handle handle, Params params, int64_t m, int64_t n, int type,
                                      const void*, int64_t lda, int type_tau, const void*,
                                      int compute, size_t* device, size_t* host) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_tau, compute});
  return answer(c, cat_text("geqrf ", m, ' ', n, ' ', lda, ' ', type), device, host);
}
SHOWN int cusolverDnXgeqrf(Handle handle, Params params, int64_t m, int64_t n, int type, void* a,
                           int64_t lda, int type_tau, void* tau, int compute, void* device,
                           size_t device_bytes, void* host, size_t host_bytes, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_tau, compute});
  c.expect_matrix("a", a, m, n, lda, element(type));
  c.expect_memory("tau", tau, size_t(std::min(m, n)) * element(type), element(type));
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  expect_space(c, cat_text("geqrf ", m, ' ', n, ' ', lda, ' ', type), device, device_bytes, host,
               host_bytes);
  return finish(c, "cusolverDnXgeqrf",
                {.kind = Kind::geqrf,
                 .type = type,
                 .m = m,
                 .n = n,
                 .a = a,
                 .lda = lda,
                 .b = tau,
                 .info = info,
                 .space = device,
                 .bytes = device_bytes});
}

SHOWN int cusolverDnXsyevd_bufferSize(Handle handle, Params params, int vectors, int uplo,
                                      int64_t n, int type, const void*, int64_t lda, int type_w,
                                      const void*, int compute, size_t* device, size_t* host) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_w, compute});
  return answer(c, cat_text("syevd ", vectors, ' ', uplo, ' ', n, ' ', lda, ' ', type), device,
                host);
}
SHOWN int cusolverDnXsyevd(Handle handle, Params params, int vectors, int uplo, int64_t n, int type,
                           void* a, int64_t lda, int type_w, void* w, int compute, void* device,
                           size_t device_bytes, void* host, size_t host_bytes, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_w, compute});
  c.expect(uplo == kLower, "another triangle than the lower one");
  c.expect_matrix("a", a, n, n, lda, element(type));
  c.expect_memory("w", w, size_t(n) * element(type), element(type));
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  expect_space(c, cat_text("syevd ", vectors, ' ', uplo, ' ', n, ' ', lda, ' ', type), device,
               device_bytes, host, host_bytes);
  return finish(c, "cusolverDnXsyevd",
                {.kind = Kind::syevd,
                 .type = type,
                 .m = n,
                 .n = n,
                 .a = a,
                 .lda = lda,
                 .b = w,
                 .info = info,
                 .space = device,
                 .bytes = device_bytes,
                 .job = vectors});
}

SHOWN int cusolverDnXgesvd_bufferSize(Handle handle, Params params, signed char u_job,
                                      signed char vt_job, int64_t m, int64_t n, int type,
                                      const void*, int64_t lda, int type_s, const void*, int type_u,
                                      const void*, int64_t ldu, int type_vt, const void*,
                                      int64_t ldvt, int compute, size_t* device, size_t* host) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_s, type_u, type_vt, compute});
  c.expect(m >= n, "more columns than rows");
  return answer(c,
                cat_text("gesvd ", int(u_job), ' ', int(vt_job), ' ', m, ' ', n, ' ', lda, ' ', ldu,
                         ' ', ldvt, ' ', type),
                device, host);
}
SHOWN int cusolverDnXgesvd(Handle handle, Params params, signed char u_job, signed char vt_job,
                           int64_t m, int64_t n, int type, void* a, int64_t lda, int type_s,
                           void* s, int type_u, void* u, int64_t ldu, int type_vt, void* vt,
                           int64_t ldvt, int compute, void* device, size_t device_bytes, void* host,
                           size_t host_bytes, int* info) {
  Checked c(__func__, handles(), handle);
  expect_params(c, params);
  expect_types(c, {type, type_s, type_u, type_vt, compute});
  c.expect(m >= n, "more columns than rows");
  c.expect(u_job == vt_job && (u_job == 'A' || u_job == 'S' || u_job == 'N'), "no such job");
  c.expect_matrix("a", a, m, n, lda, element(type));
  c.expect_memory("s", s, size_t(n) * element(type), element(type));
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  if (u_job != 'N') {
    c.expect_matrix("u", u, m, u_job == 'A' ? m : n, ldu, element(type));
    c.expect_matrix("vt", vt, n, n, ldvt, element(type));
  }
  expect_space(c,
               cat_text("gesvd ", int(u_job), ' ', int(vt_job), ' ', m, ' ', n, ' ', lda, ' ', ldu,
                        ' ', ldvt, ' ', type),
               device, device_bytes, host, host_bytes);
  return finish(c, "cusolverDnXgesvd",
                {.kind = Kind::gesvd,
                 .type = type,
                 .m = m,
                 .n = n,
                 .a = a,
                 .lda = lda,
                 .b = s,
                 .u = u,
                 .vt = vt,
                 .ldu = ldu,
                 .ldvt = ldvt,
                 .info = info,
                 .space = device,
                 .bytes = device_bytes,
                 .job = u_job});
}

namespace {

int orgqr_size(const char* function, Handle handle, int m, int n, int k, int lda, int type,
               int* elements) {
  Checked c(function, handles(), handle);
  size_t bytes = 0;
  const int status =
      answer(c, cat_text("orgqr ", m, ' ', n, ' ', k, ' ', lda, ' ', type), &bytes, nullptr);
  *elements = int(bytes / element(type));
  return status;
}

int orgqr_of(const char* function, Handle handle, int m, int n, int k, void* a, int lda,
             const void* tau, void* work, int elements, int* info, int type) {
  Checked c(function, handles(), handle);
  c.expect(m >= n && n >= k && k >= 0, "more columns than rows, or reflections than columns");
  c.expect_matrix("a", a, m, n, lda, element(type));
  c.expect_memory("tau", tau, size_t(k) * element(type), element(type));
  c.expect_memory("info", info, sizeof(int), sizeof(int));
  const size_t bytes = size_t(elements) * element(type);
  expect_space(c, cat_text("orgqr ", m, ' ', n, ' ', k, ' ', lda, ' ', type), work, bytes, nullptr,
               0);
  return finish(c, function,
                {.kind = Kind::orgqr,
                 .type = type,
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = a,
                 .lda = lda,
                 .b = const_cast<void*>(tau),
                 .info = info,
                 .space = work,
                 .bytes = bytes});
}

int potrf_batched(const char* function, Handle handle, int uplo, int n, void* const* a, int lda,
                  int* info, int batches, int type) {
  Checked c(function, handles(), handle);
  c.expect(uplo == kLower && n > 0 && lda >= n && batches > 0, "another triangle, or no matrix");
  c.expect_memory("the list of a", a, size_t(batches) * sizeof(void*), sizeof(void*));
  c.expect_memory("info", info, size_t(batches) * sizeof(int), sizeof(int));
  return finish(c, function,
                {.kind = Kind::potrf,
                 .type = type,
                 .m = n,
                 .n = n,
                 .a = const_cast<void**>(a),
                 .lda = lda,
                 .info = info,
                 .batches = batches});
}

int laswp_of(const char* function, Handle handle, int n, void* a, int lda, int first, int last,
             const int* pivots, int step, int type) {
  Checked c(function, handles(), handle);
  c.expect(first == 1 && step == 1 && last >= 1 && last <= lda, "rows in another order");
  c.expect_matrix("a", a, lda, n, lda, element(type));
  c.expect_memory("pivots", pivots, size_t(last) * 4, 4);
  return finish(c, function,
                {.kind = Kind::laswp,
                 .type = type,
                 .m = lda,
                 .n = n,
                 .k = last,
                 .a = a,
                 .lda = lda,
                 .pivots = const_cast<int*>(pivots)});
}

}  // namespace

SHOWN int cusolverDnSorgqr_bufferSize(Handle h, int m, int n, int k, const void*, int lda,
                                      const void*, int* elements) {
  return orgqr_size(__func__, h, m, n, k, lda, kReal32, elements);
}
SHOWN int cusolverDnDorgqr_bufferSize(Handle h, int m, int n, int k, const void*, int lda,
                                      const void*, int* elements) {
  return orgqr_size(__func__, h, m, n, k, lda, kReal64, elements);
}
SHOWN int cusolverDnSorgqr(Handle h, int m, int n, int k, void* a, int lda, const void* tau,
                           void* work, int elements, int* info) {
  return orgqr_of(__func__, h, m, n, k, a, lda, tau, work, elements, info, kReal32);
}
SHOWN int cusolverDnDorgqr(Handle h, int m, int n, int k, void* a, int lda, const void* tau,
                           void* work, int elements, int* info) {
  return orgqr_of(__func__, h, m, n, k, a, lda, tau, work, elements, info, kReal64);
}
SHOWN int cusolverDnSlaswp(Handle h, int n, void* a, int lda, int first, int last,
                           const int* pivots, int step) {
  return laswp_of(__func__, h, n, a, lda, first, last, pivots, step, kReal32);
}
SHOWN int cusolverDnDlaswp(Handle h, int n, void* a, int lda, int first, int last,
                           const int* pivots, int step) {
  return laswp_of(__func__, h, n, a, lda, first, last, pivots, step, kReal64);
}
SHOWN int cusolverDnSpotrfBatched(Handle h, int uplo, int n, void* const* a, int lda, int* info,
                                  int batches) {
  return potrf_batched(__func__, h, uplo, n, a, lda, info, batches, kReal32);
}
SHOWN int cusolverDnDpotrfBatched(Handle h, int uplo, int n, void* const* a, int lda, int* info,
                                  int batches) {
  return potrf_batched(__func__, h, uplo, n, a, lda, info, batches, kReal64);
}
