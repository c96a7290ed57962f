// What a kernel source gets for the toolkit's header of this name.
#pragma once
#include "cuda_on_cpu.h"
