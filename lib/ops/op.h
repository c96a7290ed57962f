// What an operation is known by: its name, the names of its operands, and what autocast does to
// them. One constant per operation of the headers is generated (ops/gen/op.h); what has no C name
// declares its own beside its definition. A misspelt operation therefore does not compile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace flambeau {

class Destination;

enum class CastRule : uint8_t {
  keep,
  lower,   // to autocast's dtype
  f32,     // to f32
  widest,  // to f32 where one operand is f32, else to autocast's dtype
  rest,    // as they come, in the ops that it is made of, too
  banned,  // an error
};

// Where an in-place or out form wants its result; nowhere for the plain form. An op that ignores
// it is right, too: its result is then copied. It is no bare pointer, so that it never passes for
// a bool or a number among an op's options.
struct Into {
  Destination* destination = nullptr;
  Into() = default;
  Into(Destination& d) : destination(&d) {}  // NOLINT: implicit by design
};

struct Form;

struct Op {
  const char* name;
  const char* operands = "";  // separated by spaces
  CastRule cpu = CastRule::keep, device = CastRule::keep;

  // In error texts and for kernels an op stands for its name.
  constexpr operator const char*() const { return name; }  // NOLINT: implicit by design
  std::string operand(size_t i) const;                     // "weight"
  Form to(Into into) const;
};

// An op with the destination of this call of it.
struct Form {
  const Op& op;
  Destination* destination;

  Form(const Op& o, Into into = {})  // NOLINT: implicit by design
      : op(o), destination(into.destination) {}
  Form(const Op&&, Into = {}) = delete;
  operator const Op&() const { return op; }         // NOLINT: implicit by design
  operator const char*() const { return op.name; }  // NOLINT: implicit by design
};

inline Form Op::to(Into into) const { return {*this, into}; }

}  // namespace flambeau
