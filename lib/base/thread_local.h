// Thread-local variables on hot paths: constant-initialised, trivially destroyed and in the static
// TLS block, so that reading one is a single load. Keep them few and small: a library opened by
// dlopen shares a small surplus of static TLS with all others.
#pragma once

#define FLAM_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local constinit
