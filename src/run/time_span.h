// TimeSpan: how long something may still take, no surer than what is known of it.
#pragma once

#include <string>

namespace deepgap {

struct TimeSpan {  // seconds
  double likely = 0;
  double low = likely, high = likely;  // in some four of five cases between these; all alike: nothing is known of the error

  bool is_known() const { return likely > 0; }
  bool has_ends() const { return low != high; }
  // Narrow enough for one figure: neither end is further than 1.5 times from the middle.
  bool is_one_figure() const { return low > 0 && high <= 1.5 * 1.5 * low; }
  TimeSpan after(double seconds) const;  // what remains when so much is over
  TimeSpan at_most(double seconds) const;
};

// "2 to 6 min", "up to 50 s": both ends, rounded to the outside, so that it says no more than is known.
std::string range_text(const TimeSpan& span);
// ", about 3 min 5 s left", ", about 3 min 5 s (2 to 6 min) left"; nothing where it is not known.
std::string left_text(const TimeSpan& left);

}  // namespace deepgap
