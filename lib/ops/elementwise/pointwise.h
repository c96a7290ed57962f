// Kernels of the elementwise functions of one operand.
#pragma once
#include "kernels/kernel.h"

namespace flambeau {

inline constinit Kernel kAbs{"abs"}, kNeg{"neg"}, kSign{"sign"}, kExp{"exp"}, kExp2{"exp2"};
inline constinit Kernel kExpm1{"expm1"}, kLog{"log"}, kLog2{"log2"}, kLog10{"log10"};
inline constinit Kernel kLog1p{"log1p"}, kSqrt{"sqrt"}, kRsqrt{"rsqrt"}, kReciprocal{"reciprocal"};
inline constinit Kernel kSin{"sin"}, kCos{"cos"}, kTan{"tan"}, kAsin{"asin"}, kAcos{"acos"};
inline constinit Kernel kAtan{"atan"}, kSinh{"sinh"}, kCosh{"cosh"}, kTanh{"tanh"};
inline constinit Kernel kSigmoid{"sigmoid"}, kErf{"erf"}, kSquare{"square"}, kFloor{"floor"};
inline constinit Kernel kCeil{"ceil"}, kTrunc{"trunc"}, kRound{"round"}, kRoundDecimals{"round"};
inline constinit Kernel kFrac{"frac"}, kIsnan{"isnan", Dtype::boolean};
inline constinit Kernel kIsinf{"isinf", Dtype::boolean}, kIsfinite{"isfinite", Dtype::boolean};
inline constinit Kernel kLogicalNot{"logical_not", Dtype::boolean}, kBitwiseNot{"bitwise_not"};
inline constinit Kernel kAsinh{"asinh"}, kAcosh{"acosh"}, kAtanh{"atanh"}, kErfc{"erfc"};
inline constinit Kernel kCube{"pow"};

inline constinit Kernel kSigmoidSlope{"sigmoid_backward"}, kTanhSlope{"tanh_backward"};  // (dy, y)

}  // namespace flambeau
