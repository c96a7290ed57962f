// Elementwise launches on the host, in blocks. A functor has one machine loop for each type it
// computes in; operands that are strided, broadcast or of a half type are gathered into blocks that
// stay in the first-level cache, and such an output is scattered from one.
#include "kernels/map/map_loop.h"
#if !defined(FLAM_DEVICE_SOURCE)
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "base/thread_pool.h"
#include "kernels/map/map_transpose.h"

namespace flambeau::FLAM_TARGET {

namespace {

constexpr int64_t kBlockBytes = 4096;
// Inner runs from this length are worked on one by one, so that dense ones need no block.
constexpr int64_t kLongRun = 128;

// How a dtype lies in memory and in a block; those of one size that need no conversion share.
struct Element {
  int64_t bytes, width;
  void (*gather)(char* block, const char* from, int64_t stride, int64_t n);
  void (*scatter)(char* to, const char* block, int64_t stride, int64_t n);
};

template <class T> void gather(char* block, const char* from, int64_t stride, int64_t n) {
  Compute<T>* __restrict to = reinterpret_cast<Compute<T>*>(block);
  const T* dense = reinterpret_cast<const T*>(from);
  if (stride == int64_t(sizeof(T))) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(dense + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
      }
    }
#endif
    for (; i < n; ++i) to[i] = load(dense + i);
  } else if (stride == 0) {
    const Compute<T> value = load(dense);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = load(reinterpret_cast<const T*>(from + i * stride));
  }
}

template <class T> void scatter(char* to, const char* block, int64_t stride, int64_t n) {
  const Compute<T>* __restrict from = reinterpret_cast<const Compute<T>*>(block);
  T* __restrict dense = reinterpret_cast<T*>(to);
  if (stride == int64_t(sizeof(T))) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<T, Half>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves =
            _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dense + i), halves);
      }
    }
#endif
    for (; i < n; ++i) dense[i] = narrow<T>(from[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = narrow<T>(from[i]);
  }
}

template <class T>
constexpr Element kElement{sizeof(T), sizeof(Compute<T>), &gather<T>, &scatter<T>};

const Element& element_of(Dtype type) {
  if (type == Dtype::f16) return kElement<Half>;
  if (type == Dtype::bf16) return kElement<BFloat16>;
  switch (size_of(type)) {
    case 1:
      return kElement<uint8_t>;
    case 2:
      return kElement<uint16_t>;
    case 4:
      return kElement<uint32_t>;
    default:
      return kElement<uint64_t>;
  }
}

struct Side {  // one operand
  const Element* element;
  char* base;
  const int64_t* stride;  // by dimension
  int64_t step;           // within an inner run
  bool dense;             // along an inner run, and in the computed type
  bool flat;              // along the whole index space, and in the computed type
  bool constant;          // one element for the whole index space
};

struct Launch {
  const MapArgs& a;
  int operands;
  MapLoop loop;
  int64_t inner, block;  // lengths of an inner run, and of a block where any is needed
  bool flat = true;
  Side side[kMapOperands];
};

constexpr int64_t kNowhere[kMapDims] = {};

Side side_of(const MapArgs& a, int o, Dtype type) {
  Side s;
  s.element = &element_of(type);
  s.base = a.data[o] ? a.data[o] : const_cast<char*>(a.value[o]);
  s.stride = a.data[o] ? a.stride[o] : kNowhere;
  const int64_t bytes = s.element->bytes;
  s.step = a.ndim ? s.stride[a.ndim - 1] : bytes;
  s.dense = s.step == bytes && s.element->width == bytes;
  s.flat = s.dense;
  s.constant = true;
  int64_t expected = bytes;
  for (int d = a.ndim - 1; d >= 0; --d) {
    s.flat &= s.stride[d] == expected;
    s.constant &= s.stride[d] == 0;
    expected *= a.size[d];
  }
  return s;
}

// Calls run(address, done, m) for the inner runs that elements [begin, begin + n) of a side
// consist of.
template <class Run>
void for_runs(const Launch& l, const Side& s, int64_t begin, int64_t n, Run&& run) {
  const int last = l.a.ndim - 1;
  int64_t index[kMapDims] = {}, rest = begin / l.inner, at = begin % l.inner;
  char* row = s.base;
  for (int d = last - 1; d >= 0 && rest; --d) {
    index[d] = rest % l.a.size[d];
    rest /= l.a.size[d];
    row += index[d] * s.stride[d];
  }
  for (int64_t done = 0; done < n; at = 0) {
    const int64_t m = std::min(l.inner - at, n - done);
    run(row + at * s.step, done, m);
    done += m;
    for (int d = last - 1; d >= 0; --d) {
      row += s.stride[d];
      if (++index[d] < l.a.size[d]) break;
      row -= s.stride[d] * l.a.size[d];
      index[d] = 0;
    }
  }
}

// The first element of [begin, begin + n) where a side has them dense, else null.
char* in_place(const Launch& l, const Side& s, int64_t begin, int64_t n) {
  if (s.flat) return s.base + begin * s.element->bytes;
  if (!s.dense || n > l.inner - begin % l.inner) return nullptr;
  char* first = nullptr;
  for_runs(l, s, begin, n, [&](char* address, int64_t, int64_t) { first = address; });
  return first;
}

void run_blocks(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) char block[kMapOperands][kBlockBytes];
  int64_t filled[kMapOperands] = {};
  while (begin < end) {
    int64_t n = std::min(l.block, end - begin);
    if (l.inner >= kLongRun) n = std::min(n, l.inner - begin % l.inner);
    char* data[kMapOperands];
    for (int o = 0; o < l.operands; ++o) {
      const Side& s = l.side[o];
      data[o] = in_place(l, s, begin, n);
      if (data[o]) continue;
      data[o] = block[o];
      if (o == 0 || filled[o] >= n) continue;
      for_runs(l, s, begin, n, [&](const char* from, int64_t done, int64_t m) {
        s.element->gather(block[o] + done * s.element->width, from, s.step, m);
      });
      if (s.constant) filled[o] = n;
    }
    l.loop(l.a.params, data, n);
    const Side& out = l.side[0];
    if (data[0] == block[0]) {
      for_runs(l, out, begin, n, [&](char* to, int64_t done, int64_t m) {
        out.element->scatter(to, block[0] + done * out.element->width, out.step, m);
      });
    }
    begin += n;
  }
}

void copy_blocks(const Launch& l, int64_t begin, int64_t end) {
  alignas(64) char block[kBlockBytes];
  const Side &out = l.side[0], &in = l.side[1];
  while (begin < end) {
    int64_t n = std::min(l.block, end - begin);
    if (l.inner >= kLongRun) n = std::min(n, l.inner - begin % l.inner);
    char* to = in_place(l, out, begin, n);
    const char* from = to ? nullptr : in_place(l, in, begin, n);
    if (!from) {
      for_runs(l, in, begin, n, [&](const char* run, int64_t done, int64_t m) {
        in.element->gather((to ? to : block) + done * in.element->width, run, in.step, m);
      });
      from = block;
    }
    if (!to) {
      for_runs(l, out, begin, n, [&](char* run, int64_t done, int64_t m) {
        out.element->scatter(run, from + done * out.element->width, out.step, m);
      });
    }
    begin += n;
  }
}

void run_flat(const Launch& l, int64_t begin, int64_t end) {
  char* data[kMapOperands];
  for (int o = 0; o < l.operands; ++o) {
    data[o] = l.side[o].base + begin * l.side[o].element->bytes;
  }
  l.loop(l.a.params, data, end - begin);
}

}  // namespace

void map_blocks(const MapArgs& a, const Dtype* types, int operands, MapLoop loop) {
  Launch l{a, operands, loop, a.ndim ? a.size[a.ndim - 1] : 1, a.numel, true, {}};
  bool blocks = l.inner < kLongRun;
  int64_t width = 1;
  for (int o = 0; o < operands; ++o) {
    const Side& s = l.side[o] = side_of(a, o, types[o]);
    l.flat &= s.flat;
    blocks |= !s.dense;
    width = std::max(width, s.element->width);
  }
  if (blocks) l.block = kBlockBytes / width;
  if (!loop && l.side[0].element == l.side[1].element && takes_transpose(a, width) &&
      l.side[0].element->bytes == width) {
    return turn(a, width);
  }
  constexpr int64_t grain = 16384;
  parallel_for(a.numel, grain, [&](int64_t begin, int64_t end) {
    const auto run = !l.loop ? copy_blocks : l.flat ? run_flat : run_blocks;
    run(l, begin, end);
  });
}

}  // namespace flambeau::FLAM_TARGET
#endif
