// Whether this processor with AVX-512 converts eight floats to double as fast as it does two times
// four: AMD's Zen 4 takes twice as long, others do not.
#pragma once

namespace flambeau {

extern const bool converts_eight;

}  // namespace flambeau
