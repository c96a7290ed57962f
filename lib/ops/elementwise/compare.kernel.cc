// The maths of comparisons and of logic on truth values.
#include "kernels/map/map_loop.h"
#include "kernels/math.h"
#include "ops/elementwise/binary.h"

namespace flambeau::FLAM_TARGET {

struct Eq {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a == b; }
};
FLAM_MAP(kEq, Eq, AllTypes);

struct Ne {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a != b; }
};
FLAM_MAP(kNe, Ne, AllTypes);

struct Lt {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a < b; }
};
FLAM_MAP(kLt, Lt, AllTypes);

struct Le {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a <= b; }
};
FLAM_MAP(kLe, Le, AllTypes);

struct Gt {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a > b; }
};
FLAM_MAP(kGt, Gt, AllTypes);

struct Ge {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return a >= b; }
};
FLAM_MAP(kGe, Ge, AllTypes);

struct LogicalAnd {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return (a != V(0)) & (b != V(0)); }
};
FLAM_MAP(kLogicalAnd, LogicalAnd, AllTypes);

struct LogicalOr {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return (a != V(0)) | (b != V(0)); }
};
FLAM_MAP(kLogicalOr, LogicalOr, AllTypes);

struct LogicalXor {
  template <class V> FLAM_FN bool operator()(V a, V b) const { return (a != V(0)) != (b != V(0)); }
};
FLAM_MAP(kLogicalXor, LogicalXor, AllTypes);

struct Isclose {
  double rtol, atol, equal_nan;
  template <class V> FLAM_FN bool operator()(V a, V b) const {
    if (a == b || (equal_nan != 0 && a != a && b != b)) return true;
    if (rtol == 0 && atol == 0) return false;  // large integers that one double stands for
    const double distance = fabs(double(a) - double(b));
    const bool finite = distance <= 1.7976931348623157e308;  // also of NaN: false
    return finite && distance <= atol + rtol * fabs(double(b));
  }
};
FLAM_MAP(kIsclose, Isclose, AllTypes);

}  // namespace flambeau::FLAM_TARGET
