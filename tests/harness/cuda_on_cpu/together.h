// A step that the 32 lanes of a warp make as one, as a matrix instruction is: the first lane to go
// on does the work of all, on what each of them brought.
#pragma once
#include <cstdint>

#include "grid.h"

namespace cuda_on_cpu {

// run(Lane* const (&lanes)[32]) happens once, after every lane has come and before any goes on.
template <class Lane, class Run> void together(const char* name, Lane& mine, Run run) {
  struct Frame {
    Lane* lane;
    bool done;
  } frame{&mine, false};
  exchange(name, 0xffffffffu, reinterpret_cast<uintptr_t>(&frame));
  if (frame.done) return;
  Frame* frames[32];
  Lane* lanes[32];
  for (int i = 0; i < 32; ++i) {
    frames[i] = reinterpret_cast<Frame*>(current->gathered[i]);
    lanes[i] = frames[i]->lane;
  }
  run(lanes);
  for (Frame* f : frames) f->done = true;
}

}  // namespace cuda_on_cpu
