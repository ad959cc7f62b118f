/*
 * Times the loops of one file: program INPUT OUTPUT REPETITIONS SECONDS
 *
 * INPUT holds a count of arguments and then each of them. An array is its length in bytes and its
 * elements, padded to eight bytes; a number comes after a zero. All have eight bytes, in the
 * machine's order. Every repetition begins with the input as it was read. The seconds go to
 * standard output, a line for each repetition. The arguments after the last one go to OUTPUT in the
 * form of the input. Once the repetitions have taken SECONDS and are three, no further one begins.
 */
#include "arguments.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) fail("memory");
  return memory;
}

static void read_all(FILE *file, void *to, size_t bytes) {
  if (fread(to, 1, bytes, file) != bytes) fail("input");
}

static void write_all(FILE *file, const void *from, size_t bytes) {
  if (fwrite(from, 1, bytes, file) != bytes) fail("output");
}

static size_t padding(size_t bytes) { return (8 - bytes % 8) % 8; }

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count_of_words, char **words) {
  if (count_of_words != 5) {
    fprintf(stderr, "usage: %s INPUT OUTPUT REPETITIONS SECONDS\n", words[0]);
    return 2;
  }
  FILE *input = fopen(words[1], "rb");
  if (!input) fail(words[1]);
  uint64_t count;
  read_all(input, &count, sizeof count);
  struct argument *arguments = calloc(count, sizeof *arguments);
  void **originals = calloc(count, sizeof *originals);
  if (!arguments || !originals) fail("memory");
  uint64_t ignored;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bytes;
    read_all(input, &bytes, sizeof bytes);
    if (bytes == 0) {
      read_all(input, &arguments[i].number, sizeof arguments[i].number);
      continue;
    }
    arguments[i].bytes = bytes;
    arguments[i].array = allocate(bytes);
    originals[i] = allocate(bytes);
    read_all(input, originals[i], bytes);
    read_all(input, &ignored, padding(bytes));
  }
  fclose(input);

  int most = atoi(words[3]);
  double end = now() + atof(words[4]);
  for (int repetition = 0; repetition < most && (repetition < 3 || now() < end); repetition++) {
    for (uint64_t i = 0; i < count; i++) {
      if (originals[i]) memcpy(arguments[i].array, originals[i], arguments[i].bytes);
    }
    double start = now();
    run(arguments);
    printf("%.9f\n", now() - start);
  }

  FILE *output = fopen(words[2], "wb");
  if (!output) fail(words[2]);
  write_all(output, &count, sizeof count);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bytes = arguments[i].bytes, zero = 0;
    write_all(output, &bytes, sizeof bytes);
    write_all(output, bytes ? arguments[i].array : &arguments[i].number, bytes ? bytes : 8);
    write_all(output, &zero, padding(bytes));
  }
  if (fclose(output)) fail(words[2]);
  return 0;
}
