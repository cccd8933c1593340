// SeriesSource: a Session that reads something beside its queries over time, such as a server's metrics. A Session that does derives from
// it besides, and is found by dynamic_cast: plug-ins that read nothing know nothing of it.
#pragma once

#include <deepgap/record.h>

#include <vector>

namespace deepgap {

class SeriesSource {
 public:
  virtual ~SeriesSource() = default;
  // Returns the readings since the last call, by the Clock that the Session was loaded with: a Series for each thing that was read, whose
  // probe names its source: "server". Called as Session::take_counts() is.
  virtual std::vector<Series> take_series() = 0;
};

}  // namespace deepgap
