// The loop over rows around a functor that is written once, in terms of what a row can do:
//
//   template <class T> struct Softmax {                  members: doubles, from RowArgs::params
//     template <class R> FLAM_KERNEL_FN void operator()(R& r) const {
//       const auto x = r.template row_of<const T>(1);    operand 1's elements: x + i, x[i]
//       r.shared_of<T>(k), r.each_of<V>(k)               elements of all rows; a row's value
//       r.each([&](auto i) { ... });                     all i of the row, in any order, at once
//       r.sum([&](auto i) { return term; })              in a wider type: a value, asked with any i
//       r.sums(f, g)                                     two at once
//       r.greatest([&](auto i) { return value; })
//       r.sum_of(x), r.squares(x, centre)                sums of x and of (x - centre)^2
//       r.each_standard(x, mean, rstd, [&](auto i, V hat) { ... })   hat: (x - mean) * rstd
//       r.value([&](auto i) { ... })                     one for the row, of other such values
//       r.put<V>(k, [&](auto i) { ... })                 the same into operand k, if it is there
//       r.keep(y)                                        what can hold the row's values in their
//                                                        compute type meanwhile: y itself, or, if
//                                                        R::keeps<T>, for halves that the functor
//                                                        has `keeps_halves` for, memory
//       r.add<T>(k, i, v)                                to operand k, a total over all rows
//       r.for_rows([&](auto i) { ... })                  once, by one of the threads
//
// A functor that has totals says so, `adds_rows`, and what it gives to add() once more, as
// `added(r)`, asked with i: the host adds several rows at a time (row_totals.h).
//
// The host gives a row to one thread and vectorises inside it, or works on many rows side by side,
// of which i then names one, too; CUDA gives a row to a block.
#pragma once
#include <cstring>

#include "kernels/report/report_device.h"
#include "kernels/row/row_value.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/fold/fold_cuda.h"
#else
#include "kernels/row/row_aside.h"
#include "kernels/row/row_host.h"
#include "kernels/row/row_totals.h"
#endif

namespace flambeau::FLAM_TARGET {

#if defined(FLAM_DEVICE_SOURCE)

template <class V> struct JoinSum {
  using Acc = V;
  FLAM_FN V zero() const { return V(0); }
  FLAM_FN V join(V a, V b) const { return a + b; }
};
template <class V> struct JoinGreatest {
  using Acc = V;
  FLAM_FN V zero() const { return -V(__builtin_huge_val()); }
  FLAM_FN V join(V a, V b) const { return b > a ? b : a; }
};

template <class V> struct BlockRow : RowPlace {
  template <class T> static constexpr bool keeps = std::is_same_v<T, V>;
  template <class T> __device__ RowElements<T> keep(RowElements<T> y) const { return y; }
  using Wide =
      V;  // elementwise arithmetic; sums of f32 are trees, which are accurate by themselves

  template <class F> __device__ auto value(const F& f) const { return same_value(f(int64_t(0))); }
  template <class F> __device__ void for_rows(const F& f) const {
    if (threadIdx.x == 0) f(int64_t(0));
  }
  template <class T, class F> __device__ void put(int k, const F& f) const {
    if (threadIdx.x == 0 && a.data[k]) *place<T>(k) = T(f(int64_t(0)));
  }
  template <class T, class U> __device__ void add(int k, int64_t i, U v) const {
    if (a.data[k]) place<T>(k)[i] = narrow<T>(v);
  }
  template <class F> __device__ void each(const F& f) const {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
    __syncthreads();
  }
  template <class F> __device__ SameValue<V> sum(const F& f) const {
    V total = V(0);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) total += V(f(i));
    return {everywhere(block_join(JoinSum<V>{}, total))};
  }
  template <class F, class G> __device__ TwoSums<SameValue<V>> sums(const F& f, const G& g) const {
    const SameValue<V> first = sum(f);
    return {first, sum(g)};
  }
  template <class T> __device__ SameValue<V> sum_of(RowElements<T> x) const {
    return sum([&](int64_t i) { return load(x + i); });
  }
  template <class T>
  __device__ SameValue<V> squares(RowElements<T> x, SameValue<V> centre) const {
    return sum([&](int64_t i) {
      const V d = V(load(x + i)) - centre.v;
      return d * d;
    });
  }
  template <class X, class F>
  __device__ void each_standard(const X& x, SameValue<V> mean, SameValue<V> rstd,
                                const F& f) const {
    each([&](int64_t i) { f(i, (V(load(x + i)) - mean.v) * rstd.v); });
  }
  template <class F> __device__ SameValue<V> greatest(const F& f) const {
    const JoinGreatest<V> m;
    V top = m.zero();
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) top = m.join(top, f(i));
    return {everywhere(block_join(m, top))};
  }

 private:
  __device__ V everywhere(V v) const {  // the first warp's value, to all
    __shared__ V value;
    __syncthreads();
    if (threadIdx.x == 0) value = v;
    __syncthreads();
    return value;
  }
};

template <template <class> class F, class T> __global__ void row_kernel(RowArgs a) {
  F<T> f{};
  if constexpr (!std::is_empty_v<F<T>>) memcpy(&f, a.params, sizeof f);
  for (int64_t i = blockIdx.x; i < a.rows; i += gridDim.x) {
    BlockRow<Compute<T>> r{{a, i, a.n}};
    f(r);
    __syncthreads();
  }
}

template <template <class> class F, class T> void row_entry(void* stream, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  const unsigned threads = a.n <= 64 ? 32 : a.n <= 512 ? 128 : a.n <= 4096 ? 256 : 512;
  const unsigned blocks = unsigned(a.rows < 65535 ? a.rows : 65535);
  FLAM_LAUNCH((row_kernel<F, T>), dim3(blocks), dim3(threads), 0, stream, a);
}

#else

// The rows one by one, read by Rows.
template <class F, class Rows> void single_rows(const F& f, const RowArgs& a) {
  using E = typename Rows::Element;
  // Flattened: a loop that calls what it does for an element would not become vectors.
  const auto work = [&](int64_t begin, int64_t end) __attribute__((flatten)) {
    const Scratch memory(keeps_halves<F> ? size_t(a.n) * sizeof(float) : 0);
    Rows rows(a, 1);
    for (int64_t i = begin; i < end; ++i) {
      rows.read(i, 1);
      HostRow<Compute<E>> r{{rows.args, i, a.n}, memory.as<Compute<E>>()};
      f(r);
      rows.write(i, 1);
    }
  };
  parallel_for(a.rows, 16384 / (a.n + 16) + 1, work);
}

template <template <class> class F, class T> void row_entry(void*, const void* p) {
  const RowArgs& a = *static_cast<const RowArgs*>(p);
  if (a.inner) return rows_aside<F, T>(a);
  with_host_rows<T>(a, [&](auto tag) {
    using Rows = typename decltype(tag)::type;
    using Own = F<typename Rows::Element>;
    if constexpr (adds_rows<Own>) {
      rows_with_totals<Own, Rows, T>(row_functor<Own>(a), a);
    } else {
      single_rows<Own, Rows>(row_functor<Own>(a), a);
    }
  });
}

#endif

template <template <class> class F, class... T> bool register_row(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &row_entry<F, T>), ...);
  return true;
}

}  // namespace flambeau::FLAM_TARGET

#define FLAM_ROW(kernel, F, Types) \
  [[maybe_unused]] static const bool registered_##kernel = register_row<F>(kernel, Types{})
