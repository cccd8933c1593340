// How much work a Point does in a second, as a table or a sentence states it first.
#pragma once

#include <deepgap/point.h>

namespace deepgap {

struct WorkRate {
  const char* metric;
  const char* unit;
};

// Tokens where the task is to generate them, because answers differ in length; else items.
inline WorkRate work_rate(const Point& point) {
  if (point.task == "generate") return {"output_tokens_per_s", "tokens/s"};
  return {"throughput", "items/s"};
}

}  // namespace deepgap
