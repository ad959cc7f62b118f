#include "arguments.h"

void run(const struct argument *arguments) {
  uint32_t *restrict parents = arguments[0].array;
  uint8_t *restrict taken = arguments[1].array;
  const uint32_t *restrict from = arguments[2].array;
  const uint32_t *restrict to = arguments[3].array;
  uint32_t edges = arguments[2].bytes / sizeof *from;
  for (uint32_t edge = 0; edge < edges; edge++) {
    uint32_t one = from[edge], other = to[edge];
    while (parents[one] != one) one = parents[one];
    while (parents[other] != other) other = parents[other];
    if (one == other) continue;
    parents[one > other ? one : other] = one < other ? one : other;
    taken[edge] = 1;
  }
}
