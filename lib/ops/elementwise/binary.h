// Kernels of the elementwise operations of two operands.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kAdd{"add"};        // input + other
inline constinit Kernel kAddScaled{"add"};  // input + alpha * other
inline constinit Kernel kSub{"sub"};
inline constinit Kernel kMul{"mul"};
inline constinit Kernel kDiv{"div"};  // floating
inline constinit Kernel kDivTrunc{"div_trunc"}, kDivFloor{"div_floor"};
inline constinit Kernel kRemainder{"remainder"}, kFmod{"fmod"};
inline constinit Kernel kPow{"pow"};
// Of half types alone, an element x and a number of the program (beside_half.h).
inline constinit Kernel kPlusNumber{"add"};  // scale * x + number; {scale, number}
inline constinit Kernel kTimesNumber{"mul"}, kOverNumber{"div"}, kNumberOver{"div"};   // {number}
inline constinit Kernel kTruncOverNumber{"div_trunc"}, kFloorOverNumber{"div_floor"};  // {number}
inline constinit Kernel kMaximum{"maximum"}, kMinimum{"minimum"}, kFmax{"fmax"}, kFmin{"fmin"};
inline constinit Kernel kAtan2{"atan2"};  // floating
inline constinit Kernel kBitwiseAnd{"bitwise_and"}, kBitwiseOr{"bitwise_or"},
    kBitwiseXor{"bitwise_xor"};
inline constinit Kernel kLeftShift{"bitwise_left_shift"}, kRightShift{"bitwise_right_shift"};
inline constinit Kernel kLogicalAnd{"logical_and", Dtype::boolean},
    kLogicalOr{"logical_or", Dtype::boolean}, kLogicalXor{"logical_xor", Dtype::boolean};

inline constinit Kernel kEq{"eq", Dtype::boolean}, kNe{"ne", Dtype::boolean},
    kLt{"lt", Dtype::boolean}, kLe{"le", Dtype::boolean}, kGt{"gt", Dtype::boolean},
    kGe{"ge", Dtype::boolean};
inline constinit Kernel kIsclose{"isclose", Dtype::boolean};  // {rtol, atol, equal_nan}

}  // namespace flambeau
