// Lengths in tokens, of prompts and of answers: one number, or drawn from a distribution. Plain data.
#pragma once

#include "stats/random_stream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace deepgap {

// "512", "uniform:128:1024", "lognormal:512:0.7" (median, sigma of the logarithm), "file:lengths.txt" (a number a line, in turn).
class Lengths {
 public:
  static constexpr int64_t most = 4'194'304;

  explicit Lengths(int64_t fixed) : low_(fixed), high_(fixed) {}
  // `option` names it in errors. Reads the file. Throws Error{usage}, {input} naming the file and the line.
  Lengths(const std::string& option, const std::string& text);

  // Returns the length for sample `index`: draws from `random`, or takes the next line of the file.
  int64_t of_sample(uint64_t index, RandomStream& random) const;

 private:
  enum class Kind { uniform, lognormal, listed };
  Kind kind_ = Kind::uniform;
  int64_t low_ = 0, high_ = 0;     // for uniform
  double median_ = 0, sigma_ = 0;  // for lognormal
  std::vector<int64_t> listed_;
};

}  // namespace deepgap
