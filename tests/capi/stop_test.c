/* FLAMBEAU_CHECK=handles,stop: the first wrong handle stops the process where it was handed in,
 * with the fault on standard error, for a debugger or CI; a process without faults ends as ever. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pairs.h"

static void use_a_released_handle(void) {
  flam_tensor *x = vector(1, 2);
  flam_tensor_release(x);
  flam_neg(x);
}

static void release_twice(void) {
  flam_tensor *x = vector(1, 2);
  flam_tensor_release(x);
  flam_tensor_release(x);
}

static void make_another_error(void) {
  flam_tensor *x = vector(1, 2);
  CHECK(flam_neg(NULL) == NULL && flam_tensor_item_f64(x, NULL) != FLAM_OK && equals(x, 1, 2));
  flam_tensor_release(x);
}

/* Runs code in a child; returns how it ended, with what it wrote to standard error. */
static int ended(void (*code)(void), char *text, size_t room) {
  int ends[2], status = 0;
  size_t had = 0;
  ssize_t n;
  pid_t child;
  CHECK(pipe(ends) == 0 && (child = fork()) >= 0);
  if (child == 0) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(ends[1], STDERR_FILENO);
    if (setenv("FLAMBEAU_CHECK", "handles,stop", 1)) _exit(2);
    load();
    code();
    _exit(0);
  }
  close(ends[1]);
  while ((n = read(ends[0], text + had, room - 1 - had)) > 0) had += (size_t)n;
  text[had] = '\0';
  close(ends[0]);
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

int main(void) {
  char text[4096];
  int status = ended(use_a_released_handle, text, sizeof text);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTRAP ||
      !strstr(text, "flam_neg: input is a flam_tensor that was released") ||
      !strstr(text, "released by flam_tensor_release at ") || !strstr(text, "\n  handed in at ")) {
    return fprintf(stderr, "a released handle: status %d\n%s\n", status, text), 1;
  }
  status = ended(release_twice, text, sizeof text);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTRAP ||
      !strstr(text, "flam_tensor_release: tensor is a flam_tensor that was released")) {
    return fprintf(stderr, "released twice: status %d\n%s\n", status, text), 1;
  }
  status = ended(make_another_error, text, sizeof text);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || text[0]) {
    return fprintf(stderr, "an error of another kind: status %d\n%s\n", status, text), 1;
  }
  return 0;
}
