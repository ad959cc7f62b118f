#include "arguments.h"
#include <string.h>

enum { WIDTH = 8 };

void run(const struct argument *arguments) {
  uint8_t *restrict buffer = arguments[0].array;
  const uint8_t *restrict text = arguments[1].array;
  size_t strings = arguments[1].bytes / WIDTH;
  size_t capacity = arguments[2].number;
  size_t segments = 0;
  for (size_t i = 0; i < strings; i++) {
    if ((i + 1) * WIDTH > capacity) {
      segments++;
      buffer[i * WIDTH + segments - 1] = segments;
      capacity *= 2;
    }
    memcpy(buffer + i * WIDTH + segments, text + i * WIDTH, WIDTH);
  }
}
