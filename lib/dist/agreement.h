// What ranks must have in common before they train one model: the same parameters in the same
// order, the same values to begin with, and one order of reductions. Numbers travel in tensors on a
// device that the group's backend reaches.
#pragma once
#include <string>
#include <vector>

#include "dist/group.h"

namespace flambeau::dist {

// The root's numbers, on each rank.
std::vector<int64_t> broadcast_numbers(Group& g, Device via, std::vector<int64_t> numbers,
                                       int root);
// As many numbers of each rank, one rank after the other.
std::vector<int64_t> gather_numbers(Group& g, Device via, const std::vector<int64_t>& mine);

// The root's values in the tensors of all ranks: one message for each dtype and device.
void broadcast_all(Group& g, TensorsView tensors, int root);

// Throws on every rank where the ranks' parameters differ in number, shape or dtype: which is the
// first, and what it is on which ranks.
void check_same_parameters(Group& g, TensorsView parameters, const std::vector<std::string>& names);

}  // namespace flambeau::dist
