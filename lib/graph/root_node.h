// A node at which passes often begin, as a loss is: they begin there at 1, of which no tensor is
// made where nobody but the node would see it.
#pragma once
#include "graph/node.h"

namespace flambeau {

// Has one output. A gradient of it that is undefined is 1.
class RootNode : public Node {};

}  // namespace flambeau
