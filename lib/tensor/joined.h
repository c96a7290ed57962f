// Tensors that lie in memory as a join would lay them out: what is made of them together needs no
// copy. Gradients of a split's parts lie so where the node that made them saw the parts lie so.
#pragma once
#include "tensor/tensor.h"

namespace flambeau {

// The tensor whose parts along dimension `d` these are, of one storage, dense and in their order;
// undefined where they do not lie so, or one of them is undefined. It aliases them.
Tensor joined_in_place(TensorsView parts, size_t d);

}  // namespace flambeau
