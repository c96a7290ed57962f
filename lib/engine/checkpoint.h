// Recomputation instead of memory: what is saved while a checkpoint's hooks are set is forgotten,
// and computed again by the program's own function when backward first asks for one of the values.
// The function then runs as it did: same inputs, autocast and, where wanted, random numbers.
#pragma once
#include "graph/saved_hooks.h"

namespace flambeau {

// The function of a checkpoint.
class Recompute : public RefCounted {
 public:
  virtual void run(TensorsView inputs) = 0;
};

struct CheckpointOptions {
  bool preserve_random = true;    // restore the random generators for the second run
  bool early_stop = true;         // end it once the last value was computed
  bool check_determinism = true;  // values must have the shape, dtype and device that they had
};

class Checkpoint : public SavedHooks {
 public:
  // The forward is over: from here on a second run saves what the first one did.
  virtual void complete() = 0;
};

Ref<Checkpoint> make_checkpoint(Ref<Recompute> function, TensorsView inputs,
                                CheckpointOptions options);

}  // namespace flambeau
