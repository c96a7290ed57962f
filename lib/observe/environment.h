// What this process found on its machine, as facts for people: each is well, not well with the line
// that mends it, or neither. `flambeau doctor` and reports of faults show them.
#pragma once
#include <string>
#include <vector>

namespace flambeau::observe {

enum class State : int8_t { well, missing, neutral };

struct Fact {
  std::string group, name;
  State state = State::neutral;
  std::string value;  // what was found, or why not
  std::string fix;    // the line to paste where the state is `missing`
};
using Facts = std::vector<Fact>;

void add_host_facts(Facts& facts);    // processor, instruction set, threads, memory
void add_device_facts(Facts& facts);  // driver, CUDA's libraries, devices, simulated ones
void add_variable_facts(Facts& facts);

// All of them: {"facts": [{"group", "name", "state": "well" | "missing" | "neutral", "value",
// "fix"}]}.
std::string environment_json();

}  // namespace flambeau::observe
