#include "arguments.h"
#include <math.h>

static const float RATE = 0.25f, MOMENTUM = 0.5f;

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/* The forward loops keep their sums side by side, so that they read rows of weights in order. */
static void activate(const float *restrict from, size_t count, const float *restrict weights,
                     float *restrict to, size_t units) {
  for (size_t j = 0; j < units; j++) to[j] = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < units; j++) to[j] += from[i] * weights[i * units + j];
  }
  for (size_t j = 0; j < units; j++) to[j] = sigmoid(to[j]);
}

void run(const struct argument *arguments) {
  const float *restrict input = arguments[0].array;
  float *restrict to_hidden = arguments[1].array;
  float *restrict hidden_changes = arguments[2].array;
  float *restrict hidden = arguments[3].array;
  float *restrict hidden_errors = arguments[4].array;
  float *restrict to_output = arguments[5].array;
  float *restrict output_changes = arguments[6].array;
  float *restrict output = arguments[7].array;
  float *restrict output_errors = arguments[8].array;
  const float *restrict target = arguments[9].array;
  size_t inputs = arguments[0].bytes / sizeof *input;
  size_t hiddens = arguments[3].bytes / sizeof *hidden;
  size_t outputs = arguments[7].bytes / sizeof *output;

  activate(input, inputs, to_hidden, hidden, hiddens);
  activate(hidden, hiddens, to_output, output, outputs);
  for (size_t k = 0; k < outputs; k++) output_errors[k] = (target[k] - output[k]) * output[k] * (1 - output[k]);

  for (size_t j = 0; j < hiddens; j++) {
    float *weights = to_output + j * outputs, *changes = output_changes + j * outputs;
    float sum = 0;
    for (size_t k = 0; k < outputs; k++) {
      float change = RATE * output_errors[k] * hidden[j] + MOMENTUM * changes[k];
      sum += output_errors[k] * weights[k];
      changes[k] = change;
      weights[k] += change;
    }
    hidden_errors[j] = sum * hidden[j] * (1 - hidden[j]);
  }

  for (size_t i = 0; i < inputs; i++) {
    float *weights = to_hidden + i * hiddens, *changes = hidden_changes + i * hiddens;
    for (size_t j = 0; j < hiddens; j++) {
      float change = RATE * hidden_errors[j] * input[i] + MOMENTUM * changes[j];
      changes[j] = change;
      weights[j] += change;
    }
  }
}
