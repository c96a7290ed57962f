// What this machine can do at all, in one thread: lines "name: value" in operations, bytes or
// seconds. The rates of multiply-adds keep to registers; copies count bytes both ways; a size is
// that of everything a pass touches. ops_bench.py says each row's share of the bound that applies.
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// The least time of a call: a neighbour disturbs the fastest one least.
template <class F> double least(F&& call, double seconds = 0.15) {
  double best = 1e9;
  for (double spent = 0; spent < seconds;) {
    const double start = now();
    call();
    const double t = now() - start;
    best = std::min(best, t);
    spent += t;
  }
  return best;
}

constexpr int kPasses = 100000;
constexpr int kChains = 12;  // more than latency times ports, fewer than there are registers

// A function of a target that runs kPasses of kChains independent multiply-adds.
#define FLAM_CHAINS(name, target, vector, multiply_add) \
  target __attribute__((noinline)) void name() {        \
    vector sum[kChains] = {}, x{}, y{};                 \
    for (int i = 0; i < kPasses; ++i) {                 \
      _Pragma("GCC unroll 12") for (auto& s : sum) {    \
        s = multiply_add(x, y, s);                      \
        asm volatile("" : FLAM_REGISTER(s));            \
      }                                                 \
    }                                                   \
  }

using F32 __attribute__((vector_size(16))) = float;
using F64 __attribute__((vector_size(16))) = double;
#define FLAM_PLAIN(x, y, s) ((s) + (x) * (y))
#if defined(__x86_64__)
#define FLAM_REGISTER "+v"
#else
#define FLAM_REGISTER "+w"
#endif
FLAM_CHAINS(f32_plain, , F32, FLAM_PLAIN)
FLAM_CHAINS(f64_plain, , F64, FLAM_PLAIN)

void rate(const char* name, double operations, void (*run)()) {
  std::printf("%s: %.4g\n", name, operations / least([&] { run(); }));
}

constexpr double kOperations = 2.0 * kPasses * kChains;  // of one lane

#if defined(__x86_64__)

#define FLAM_FOR(isa) __attribute__((target(isa)))
#define FLAM_DOT(x, y, s) _mm512_dpbf16_ps(s, __m512bh(x), __m512bh(y))
FLAM_CHAINS(f32_avx2, FLAM_FOR("avx2,fma"), __m256, _mm256_fmadd_ps)
FLAM_CHAINS(f64_avx2, FLAM_FOR("avx2,fma"), __m256d, _mm256_fmadd_pd)
FLAM_CHAINS(f32_avx512, FLAM_FOR("avx512f"), __m512, _mm512_fmadd_ps)
FLAM_CHAINS(f64_avx512, FLAM_FOR("avx512f"), __m512d, _mm512_fmadd_pd)
FLAM_CHAINS(bf16_dot, FLAM_FOR("avx512f,avx512bf16"), __m512, FLAM_DOT)

constexpr int kTilePasses = 10000;

// Four sums of tiles, each of 16 rows of 16 numbers and of 32 products apiece.
__attribute__((target("amx-tile,amx-bf16"), noinline)) void bf16_tiles() {
  struct {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  _tile_loadconfig(&config);
  for (int i = 0; i < kTilePasses; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

// Linux gives a process the tiles' state when it asks (Documentation/arch/x86/xstate.rst).
bool tiles_permitted() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  unsigned a = 7, b = 0, c = 0, d = 0;
  asm volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  const bool there = (d >> 22 & 1) && (d >> 24 & 1);  // AMX-BF16 and AMX-TILE
  return there && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

void rates() {
  if (__builtin_cpu_supports("avx512f")) {
    rate("f32", 16 * kOperations, f32_avx512);
    rate("f64", 8 * kOperations, f64_avx512);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    rate("f32", 8 * kOperations, f32_avx2);
    rate("f64", 4 * kOperations, f64_avx2);
  } else {
    rate("f32", 4 * kOperations, f32_plain);
    rate("f64", 2 * kOperations, f64_plain);
  }
  if (tiles_permitted()) {
    rate("bf16", 2.0 * 4 * 16 * 16 * 32 * kTilePasses, bf16_tiles);
  } else if (__builtin_cpu_supports("avx512bf16")) {
    rate("bf16", 32 * kOperations, bf16_dot);
  }
}

#else

void rates() {
  rate("f32", 4 * kOperations, f32_plain);
  rate("f64", 2 * kOperations, f64_plain);
}

#endif

// Reads of a target's whole registers. Four sums hide what an addition takes, and stay in
// registers: others would measure their own way to the stack and back.
#define FLAM_READS(name, target, bytes)                                        \
  target __attribute__((noinline)) uint64_t name(const char* p, size_t size) { \
    typedef uint64_t Words __attribute__((vector_size(bytes), may_alias));     \
    Words sum[4] = {};                                                         \
    for (size_t i = 0; i < size; i += sizeof sum) {                            \
      const Words* from = reinterpret_cast<const Words*>(p + i);               \
      _Pragma("GCC unroll 4") for (int j = 0; j < 4; ++j) sum[j] ^= from[j];   \
    }                                                                          \
    return ((sum[0] ^ sum[1]) ^ (sum[2] ^ sum[3]))[0];                         \
  }

FLAM_READS(read_plain, , 16)

#if defined(__x86_64__)

FLAM_READS(read_avx2, FLAM_FOR("avx2"), 32)
FLAM_READS(read_avx512, FLAM_FOR("avx512f"), 64)

uint64_t read_all(const char* p, size_t size) {
  if (__builtin_cpu_supports("avx512f")) return read_avx512(p, size);
  return __builtin_cpu_supports("avx2") ? read_avx2(p, size) : read_plain(p, size);
}

#else

uint64_t read_all(const char* p, size_t size) { return read_plain(p, size); }

#endif

void bandwidth(const char* name, size_t size) {
  char* memory = static_cast<char*>(std::aligned_alloc(4096, size));
  std::memset(memory, 1, size);
  const int passes = int(std::max<size_t>(1, (size_t(16) << 20) / size));
  volatile uint64_t seen;
  const double read = least([&] {
    for (int i = 0; i < passes; ++i) seen = read_all(memory, size);
  });
  const double copy = least([&] {
    for (int i = 0; i < passes; ++i) {
      std::memcpy(memory + size / 2, memory, size / 2);
      asm volatile("" ::: "memory");
    }
  });
  std::printf("read %s: %.4g\ncopy %s: %.4g\n", name, double(size) * passes / read, name,
              double(size) * passes / copy);
  std::free(memory);
}

void page_fault() {
  const size_t page = size_t(sysconf(_SC_PAGESIZE)), pages = 4096;
  const double t = least([&] {
    void* p =
        mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    madvise(p, pages * page, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < pages; ++i) static_cast<volatile char*>(p)[i * page] = 1;
    munmap(p, pages * page);
  });
  std::printf("page fault: %.4g\n", t / double(pages));
}

}  // namespace

int main() {
  rates();
  bandwidth("256 KiB", size_t(256) << 10);
  bandwidth("8 MiB", size_t(8) << 20);
  bandwidth("256 MiB", size_t(256) << 20);
  page_fault();
}
