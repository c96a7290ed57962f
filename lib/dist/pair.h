// Sends and receives: begun at once, in whatever order, beside the group's collectives.
#pragma once
#include "dist/group.h"

namespace flambeau::dist {

Ref<Work> begin_pair(Ref<Group> group, Call call);

}  // namespace flambeau::dist
