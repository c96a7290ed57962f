// The loops of running sums, products and logarithms of sums. They accumulate in a wider type and
// round each result once.
#include "kernels/scan/scan.h"
#include "kernels/math.h"
#include "kernels/scan/scan_type.h"
#if defined(FLAM_DEVICE_SOURCE)
#include "kernels/scan/scan_device.h"
#else
#include "kernels/scan/scan_host.h"
#endif

namespace flambeau::FLAM_TARGET {

struct JoinSums {
  // Where no part of a sum is infinite while the whole is not: integers wrap, and others have a
  // wider type.
  template <class T>
  static constexpr bool in_any_order =
      std::is_integral_v<ScanType<T>> || std::is_same_v<T, float> || std::is_same_v<T, Half>;
  // Where parts in another order may leave the range of their type.
  template <class T> static constexpr bool loses = !in_any_order<T>;
  template <class A> static FLAM_FN A zero() { return A(0); }
  template <class A> static FLAM_FN bool lost(A a, A) { return a - a != A(0); }  // inf or NaN
  template <class A> static FLAM_FN A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return A(uint64_t(a) + uint64_t(b));
    } else {
      return a + b;
    }
  }
};
struct JoinProducts {
  // Four floats, as a register has them, never leave the range of double: no part of a product is
  // infinite or 0 where the whole is not.
  template <class T> static constexpr bool in_any_order = std::is_same_v<T, float>;
  template <class T>
  static constexpr bool loses = std::is_floating_point_v<ScanType<T>>;
  template <class A> static FLAM_FN A zero() { return A(1); }
  template <class A> static FLAM_FN bool lost(A a, A before) {
    return std::is_floating_point_v<A> && ((a == A(0) && before != A(0)) || a - a != A(0));
  }
  template <class A> static FLAM_FN A join(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return A(uint64_t(a) * uint64_t(b));
    } else {
      return a * b;
    }
  }
};

// log(exp(a) + exp(b)).
struct JoinLogSums {
  template <class T> static constexpr bool in_any_order = false;
  template <class T> static constexpr bool loses = false;
  template <class A> static FLAM_FN A zero() { return A(-INFINITY); }
  template <class A> static FLAM_FN bool lost(A, A) { return false; }
  template <class A> static FLAM_FN A join(A a, A b) {
    const A low = a < b ? a : b, high = a < b ? b : a;
    if (a != a || b != b) return a + b;
    return low == high && (high == A(INFINITY) || high == A(-INFINITY))
               ? high
               : high + A(::log1p(::exp(low - high)));  // sooner one by one than math.h's
  }
};

template <class J, class... T> bool register_scan(Kernel& k, TypeList<T...>) {
  (k.add(kColumn, FLAM_ISA_RANK, dtype_of<T>, &scan_entry<J, T>), ...);
  return true;
}

[[maybe_unused]] static const bool registered_cumsum =
    register_scan<JoinSums>(kCumsum, NumberTypes{});
[[maybe_unused]] static const bool registered_cumprod =
    register_scan<JoinProducts>(kCumprod, NumberTypes{});
[[maybe_unused]] static const bool registered_logcumsumexp =
    register_scan<JoinLogSums>(kLogcumsumexp, FloatTypes{});

}  // namespace flambeau::FLAM_TARGET
