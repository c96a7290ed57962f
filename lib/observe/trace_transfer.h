// Communication in traces, under the keys that PyTorch's traces have for it, by which its tools
// find what ranks did together.
#pragma once
#include <string>

#include "observe/profile.h"

namespace flambeau::observe {

// The members of an event's "args".
std::string transfer_arguments(const ProfileTransfer& t);
// The members of a trace that say on which machine it was made, whose clock it tells, and which
// rank of which job it is of, as the groups that communicated say, or where none did `job` if it is
// not null; with a comma before.
std::string job_members(const flam_profile& profile, const probe::Channel* job);

}  // namespace flambeau::observe
