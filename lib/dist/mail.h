// Numbers and texts from one rank to another, for the engine's own needs: on a tag that programs do
// not use, in tensors of a device that the group's backend reaches, and counted nowhere.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "dist/group.h"

namespace flambeau::dist {

inline constexpr int64_t kMailTag = 0x666c616d6d61696c;  // "flammail"; Python has it, too

Device carrier(const Group& g);  // the cpu, or this thread's GPU where the group takes that alone

void send_numbers(Group& g, int to, const std::vector<int64_t>& numbers);
std::vector<int64_t> recv_numbers(Group& g, int from, int64_t count);

void send_text(Group& g, int to, std::string_view text);
// Hands the text over piece by piece; all of it is received whatever `take` throws, which is thrown
// at the end.
void recv_text(Group& g, int from, const std::function<void(std::string_view)>& take);

}  // namespace flambeau::dist
