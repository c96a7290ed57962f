// Thread-local variables on hot paths: constant-initialised and trivially destroyed, so that no
// wrapper runs where one is read. They stay out of the static TLS block, although that would save
// the 8 ns per op that their addresses cost: a library opened by dlopen gets a few hundred bytes of
// it at most, shared with every other library, and fails to open where they are gone.
#pragma once

#define FLAM_THREAD_LOCAL thread_local constinit
