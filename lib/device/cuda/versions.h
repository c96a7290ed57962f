// Versions of CUDA as numbers (13000 is 13.0), for files that see no header of it.
#pragma once

namespace flambeau::cuda {

int runtime_version();  // that is linked in
int driver_version();   // that the driver serves; 0 where there is none

}  // namespace flambeau::cuda
