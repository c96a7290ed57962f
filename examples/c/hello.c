/* The least program: opens the library, adds two tensors, prints the sum, and says what went wrong
 * otherwise.
 *
 *     cc -std=c99 -I include examples/c/hello.c -ldl -o build/hello
 *     FLAMBEAU_LIBRARY=build/libflambeau.so.0 build/hello
 */
#define FLAM_LOAD_IMPLEMENTATION
#include <flambeau/load.h>

#include <stdio.h>

int main(void) {
  const char *problem = flam_library_load(NULL), *text = NULL;
  const float data[] = {1, 2, 3, 4};
  const int64_t size[] = {2, 2};
  flam_tensor *x;
  if (problem) return fprintf(stderr, "%s\n", problem), 1;
  x = flam_tensor_from_data(data, size, 2, FLAM_F32, NULL);
  if (flam_tensor_format(flam_add_f64(x, 0.5), &text, NULL) != FLAM_OK) text = flam_error_message();
  return puts(text) < 0;
}
