// The words of failures between processes, and the lines by which ranks tell each other where they
// are: one line per group, its key, its name, what it does and which transfer that is, between
// tabs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "dist/group.h"

namespace flambeau::dist {

inline constexpr const char* kRestart =
    "start all ranks again, from the last checkpoint; --max-restarts of the launcher does it by "
    "itself";

std::string joined(const std::vector<std::string>& lines);
std::string folded(const std::string& text);  // to one line, and back
std::string unfolded(const std::string& line);

std::string where_is(const Group::Now& now);  // "waits in all_reduce(...) #3 for 2.0 s, at PLACE"
std::string line_of(const Group& group);
// What a rank says of a group in two messages, the later of which says whether it still beats.
std::string described(const Group& group, const std::string& before, const std::string& after);

// Of two texts "TAG WHAT on rank ...".
bool same_call(const std::string& a, const std::string& b);

// Of a transfer that this long had no answer other ranks are asked.
inline constexpr double kWaitsInVain = 1.5;
// Where that rank, by its message, waits for this one in vain, as this one does: both of them.
std::optional<std::string> crossed(const Group& group, const Transfer& own, int peer,
                                   const std::string& message);

// Of ranks whose last message is `last`.
Error lost_error(const Group& group, int rank, const std::string& who, const std::string& last);
Error left_error(const Group& group, const Group::Leaver& leaver, const Group::Now& own);
Error store_error(const Group& group, const std::string& why);
Error timeout_error(const Group& group, const std::string& what, Millis after,
                    const std::string& where);
Error different_calls(const Group& group, const std::string& first, const std::string& own);
Error different_transfers(const Group& group, const std::string& both);

}  // namespace flambeau::dist
